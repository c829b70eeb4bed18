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

	// maxReply is how much of a reply is read at most, in bytes.
	maxReply = 16 << 20
)

// load is one run: its workers and their results. A worker takes a ticket for each
// request. The number of the ticket decides when the request is due, its kind and
// its path.
type load struct {
	o        options
	turns    []kind
	to       *instances
	signed   *http.Client
	bearer   *http.Client
	sessions []*http.Client // one session for each worker; nil if the mix has no sessions
	tallies  [kinds]tally

	tickets atomic.Int64
	began   time.Time
	took    time.Duration
	before  uint64 // requests sent before the run, to log in
}

// newLoad makes the clients and logs in.
func newLoad(ctx context.Context, o options) (*load, error) {
	to, err := newInstances(&o)
	if err != nil {
		return nil, err
	}
	l := &load{o: o, turns: o.mix.turns(), to: to, began: time.Now()}
	l.signed = client(&signing.Transport{BaseURL: o.urls[0], ClientKey: o.key, Secret: o.secret, Version: o.version, Header: o.header, Base: to})
	l.bearer = client(&token.Transport{BaseURL: o.urls[0], Source: o.token, Base: to})
	if o.mix[session] > 0 {
		if err := l.logIn(ctx); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// close ends the sessions and the connections.
func (l *load) close() {
	l.logOut()
	l.to.CloseIdleConnections()
}

func client(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:   patience,
		Transport: transport,
		// A redirect is a reply. If the client followed it, two requests would be
		// timed as one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// run sends requests until the duration or ctx has ended. It then waits for the
// replies in flight, which are part of the load.
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

// work is the loop of one worker: take the next ticket, wait until it is due, and
// time the reply.
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

// due waits until a ticket is due, and returns that time. It returns false if the
// run ends first. A late ticket is timed from when it was due. Otherwise a server
// that stalls would get fewer requests and look faster than it is.
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
	return l.sessions[worker]
}

// path returns the path of a ticket. Each kind gets all paths in turn, whatever the
// length of a round.
func (l *load) path(ticket int64) string {
	return l.o.paths[ticket/int64(len(l.turns))%int64(len(l.o.paths))]
}

// fetch sends one request and reads its reply. An interrupt does not cancel it,
// because the report must count the work of the server.
func (l *load) fetch(c *http.Client, path string) error {
	reply, err := c.Get(l.o.urls[0] + path)
	if err != nil {
		return err
	}
	return read(reply)
}

// read reads a reply to its end, so that its connection can be reused. It returns
// an error unless the reply is JSON, has status 200 and is no fault.
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
