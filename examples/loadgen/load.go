package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"github.com/tsenart/vegeta/v12/lib/plot"

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

type load struct {
	o        options
	to       *instances
	as       map[string]http.RoundTripper
	sessions chan *http.Client // one for each request in flight; empty if the mix has no sessions
	began    time.Time
	took     time.Duration

	mu      sync.Mutex
	tallies map[string]tally
	plot    *plot.Plot // nil unless it is asked for
}

func newLoad(ctx context.Context, o options) (*load, error) {
	to := newInstances(&o)
	l := &load{o: o, to: to, sessions: make(chan *http.Client, o.concurrency), tallies: make(map[string]tally)}
	for _, kind := range kinds {
		l.tallies[kind] = newTally()
	}
	if o.plot != "" {
		l.plot = plot.New(plot.Title("loadgen"), plot.Downsample(4000), plot.Label(labelOf))
	}
	l.as = map[string]http.RoundTripper{
		signed:  &signing.Transport{BaseURL: o.urls[0], ClientKey: o.key, Secret: o.secret, Version: o.signature, Header: o.header, Base: to},
		bearer:  &token.Transport{BaseURL: o.urls[0], Token: o.token, Base: to},
		session: roundTrip(l.inSession),
	}
	if o.mix[session] > 0 {
		if err := l.logIn(ctx); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// close ends the sessions, until the server refuses one or no longer answers.
func (l *load) close() {
	close(l.sessions)
	for c := range l.sessions {
		if l.post(c, logoutPath, nil) != nil {
			break
		}
	}
}

// run sends requests until the duration or ctx has ended. It then waits for the
// replies in flight, which are part of the load.
func (l *load) run(ctx context.Context) {
	attacker := vegeta.NewAttacker(
		vegeta.Client(client(roundTrip(l.send))), vegeta.MaxBody(maxReply),
		vegeta.Workers(uint64(l.o.concurrency)), vegeta.MaxWorkers(uint64(l.o.concurrency)),
	)
	defer context.AfterFunc(ctx, func() { attacker.Stop() })()
	l.began = time.Now()
	rate := vegeta.Rate{Freq: l.o.rate, Per: time.Second} // 0: without a pause
	results := attacker.Attack(vegeta.NewStaticTargeter(l.o.round()...), rate, l.o.duration, "")
	var counting sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		counting.Go(func() {
			for r := range results {
				l.count(r)
			}
		})
	}
	counting.Wait()
	l.took = time.Since(l.began)
}

// round returns the requests that are sent again and again: for each share of a kind, one for each path. The fragment
// of a URL, which is not sent, is the kind of credential.
func (o *options) round() (round []vegeta.Target) {
	for _, kind := range kinds {
		for range o.mix[kind] {
			for _, path := range o.paths {
				round = append(round, vegeta.Target{Method: http.MethodGet, URL: o.urls[0] + path + "#" + kind})
			}
		}
	}
	return round
}

// due returns when a request is due: vegeta's pacer sends the first one after one interval.
func (l *load) due(request uint64) time.Time {
	interval := time.Second / time.Duration(l.o.rate)
	return l.began.Add(time.Duration(request+1) * interval)
}

func (l *load) send(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Del("X-Vegeta-Seq")
	as := l.as[r.URL.Fragment]
	r.URL.Fragment = ""
	return as.RoundTrip(r)
}

// count adds a result. A late request is timed from when it was due: otherwise a server
// that stalls would get fewer requests and look faster than it is.
func (l *load) count(r *vegeta.Result) {
	r.Error = codeOf(r)
	if l.o.rate > 0 {
		r.Latency = max(r.Latency, r.Timestamp.Add(r.Latency).Sub(l.due(r.Seq)))
	}
	_, kind, _ := strings.Cut(r.URL, "#")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tallies[kind].add(r.Latency, r.Error)
	if l.plot != nil {
		_ = l.plot.Add(r)
	}
}

// labelOf names the line of a plot to which a result belongs.
func labelOf(r *vegeta.Result) string {
	_, name, _ := strings.Cut(r.URL, "#")
	if r.Error != "" {
		name += ", failed"
	}
	return name
}

// codeOf returns "" for a reply of JSON with status 200, and otherwise the code of a fault without the namespace, or
// another short text.
func codeOf(r *vegeta.Result) string {
	if r.Code == 0 { // no reply, or half of one
		words := strings.Split(r.Error, ": ")
		return words[len(words)-1] // those before have addresses: there would be a code for each connection
	}
	var body json.RawMessage
	err := envelope.Decode(bytes.NewReader(r.Body), maxReply, &body)
	fault, ok := errors.AsType[*envelope.Fault](err)
	switch {
	case ok && fault.Detail != "":
		return fault.Detail
	case err == nil && r.Code == http.StatusOK:
		return ""
	}
	return fmt.Sprintf("reply %d without a fault or JSON", r.Code)
}

func client(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Timeout:   patience,
		Transport: transport,
		// A redirect is a reply. If the client followed it, two requests would be timed as one.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The login and logout routes of the reference server. Section 4 of the interface
// leaves these routes to the application.
const (
	loginPath  = "/accounts/login"
	logoutPath = "/accounts/me/logout"
)

// inSession sends a request in a session that no other request uses at the time.
func (l *load) inSession(r *http.Request) (*http.Response, error) {
	c := <-l.sessions
	defer func() { l.sessions <- c }()
	reply, err := c.Do(r)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return nil, failed.Err
	}
	return reply, err
}

// logIn opens the sessions, one after the other. A password costs a server more than any
// request of the load, and the server may refuse many logins at once.
func (l *load) logIn(ctx context.Context) error {
	body, err := json.Marshal(map[string]string{"email": l.o.email, "password": string(l.o.password)})
	if err != nil {
		return err
	}
	for range l.o.concurrency {
		if err := ctx.Err(); err != nil {
			return err
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			return err
		}
		c := client(l.to)
		c.Jar = jar
		if err := l.post(c, loginPath, body); err != nil {
			return fmt.Errorf("POST %s: %w", loginPath, err)
		}
		l.sessions <- c
	}
	return nil
}

// post takes no context: an interrupt between a login and its reply would leave a session open.
func (l *load) post(c *http.Client, path string, body []byte) error {
	reply, err := c.Post(l.o.urls[0]+path, "application/json", bytes.NewReader(body))
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	defer reply.Body.Close()
	var any json.RawMessage
	if err := envelope.Decode(reply.Body, maxReply, &any); err != nil {
		return fmt.Errorf("status %d: %w", reply.StatusCode, err)
	}
	return nil
}
