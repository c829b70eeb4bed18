package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

const (
	// patience is how long a reply may take.
	patience = 10 * time.Second

	// maxReply bounds what is read of one.
	maxReply = 16 << 20
)

// load is one run: workers that take tickets, and what came of them.
type load struct {
	o       options
	turns   []kind
	to      *instances
	signed  *http.Client
	bearer  *http.Client
	people  []*http.Client // one session for each worker; nil without any
	tallies [kinds]tally

	tickets atomic.Int64
	began   time.Time
	took    time.Duration
	before  uint64 // requests sent to log in
}

// newLoad makes the clients, and logs in.
func newLoad(ctx context.Context, o options) (*load, error) {
	to, err := newInstances(&o)
	if err != nil {
		return nil, err
	}
	l := &load{o: o, turns: o.mix.turns(), to: to, began: time.Now()}
	l.signed = client(&signing.Transport{BaseURL: o.urls[0], ClientKey: o.key, Secret: o.secret, Header: o.header, Base: to})
	l.bearer = client(&token.Transport{BaseURL: o.urls[0], Source: o.token, Base: to})
	if o.mix[session] > 0 {
		if err := l.logIn(ctx); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// close ends the sessions, and the connections.
func (l *load) close() {
	l.logOut()
	l.to.CloseIdleConnections()
}

func client(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:   patience,
		Transport: transport,
		// A redirect is an answer: following it would time two requests as one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// run sends requests until the duration or ctx has ended, and waits for the
// replies: those in flight are part of the load.
func (l *load) run(ctx context.Context) {
	l.before = l.to.sent.Load()
	l.began = time.Now()
	ctx, cancel := context.WithDeadline(ctx, l.began.Add(l.o.duration))
	defer cancel()
	var workers sync.WaitGroup
	for worker := range l.o.concurrency {
		workers.Go(func() { l.work(ctx, worker) })
	}
	workers.Wait()
	l.took = time.Since(l.began)
}

// work is one worker: it takes the next ticket, waits until it is due, and
// times the reply.
func (l *load) work(ctx context.Context, worker int) {
	for ctx.Err() == nil {
		ticket := l.tickets.Add(1) - 1
		due, ok := l.due(ctx, ticket)
		if !ok {
			return
		}
		k := l.turns[ticket%int64(len(l.turns))]
		err := l.fetch(l.client(k, worker), l.path(ticket))
		l.tallies[k].add(time.Since(due), err)
	}
}

// due waits for the time of a ticket, and returns it. A ticket that is late is
// timed from when it should have been sent, or a server that stalls would be
// asked less and look the better for it.
func (l *load) due(ctx context.Context, ticket int64) (time.Time, bool) {
	if l.o.rate == 0 {
		return time.Now(), true
	}
	due := l.began.Add(time.Duration(float64(ticket) / l.o.rate * float64(time.Second)))
	if due.Sub(l.began) >= l.o.duration {
		return due, false
	}
	wait := time.Until(due)
	if wait <= 0 {
		return due, true
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return due, false
	case <-timer.C:
		return due, true
	}
}

func (l *load) client(k kind, worker int) *http.Client {
	switch k {
	case signed:
		return l.signed
	case bearer:
		return l.bearer
	}
	return l.people[worker]
}

// path gives each kind all paths in turn, however long a round is.
func (l *load) path(ticket int64) string {
	return l.o.paths[ticket/int64(len(l.turns))%int64(len(l.o.paths))]
}

// fetch reads one reply. An interrupt does not cut it off: what it has cost the
// server belongs in the report.
func (l *load) fetch(c *http.Client, path string) error {
	reply, err := c.Get(l.o.urls[0] + path)
	if err != nil {
		return err
	}
	return read(reply)
}

// read reads a reply to its end, so that its connection can be used again. It
// must be JSON and no fault.
func read(reply *http.Response) error {
	defer reply.Body.Close()
	var body json.RawMessage
	if err := envelope.Decode(reply.Body, maxReply, &body); err != nil {
		_, _ = io.CopyN(io.Discard, reply.Body, maxReply)
		return &replyError{reply.StatusCode, err}
	}
	if reply.StatusCode != http.StatusOK {
		return &replyError{reply.StatusCode, fmt.Errorf("no fault, and not %d", http.StatusOK)}
	}
	return nil
}
