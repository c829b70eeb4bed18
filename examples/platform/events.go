package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

const (
	// recheckInterval is how long a stream may outlive its session or token.
	recheckInterval = 2 * time.Second

	// readerPatience is how long one write may wait for a reader.
	readerPatience = 10 * time.Second

	// batchInterval is the shortest time between two flushes to a reader.
	batchInterval = 100 * time.Millisecond

	// A reader that waits needs no memory. One that is slow needs feedSize events, each of
	// some hundred bytes.
	feedSize    = 1000 // events that wait for one reader, at most
	feedReaders = 8    // of one org, on one instance
)

// events serves the decisions and verbs of an org as they happen, as server-sent events (HTML
// standard, section 9.2):
//
//   - event: one decision or verb, an eventReply
//   - dropped: {"count":n}, before an event: so many older ones did not fit
//   - end: the fault that ended the stream; it is the last event
//
// A comment follows each recheck. So a client can tell a quiet org from a dead
// connection. A server that drains closes the stream without an end: connect again.
//
// Arguments of the query choose events that have all of them: account (also as actor), app, and verb,
// which may be a kind, such as login. The events of other instances come about a second after the
// stream has begun. With history=N, the latest decisions that this instance has made come first, at most N
// of the kept ones.
type events struct{ *platform }

func (h events) serve(w http.ResponseWriter, r *http.Request) {
	org := auth.From(r.Context()).Org
	query := r.URL.Query()
	filter := eventFilter{query.Get("account"), query.Get("app"), query.Get("verb")}
	reader, err := h.feed.open(org, filter)
	if err != nil {
		auth.Fail(w, r, err)
		return
	}
	defer h.feed.leave(org, reader)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // for proxies that would wait for the end
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	// The server's limits are for requests that end. Each write gets its own.
	if http.NewResponseController(w).SetReadDeadline(time.Time{}) == nil {
		h.run(w, r, reader, h.before(r, filter))
	}
}

// before returns the history that the request asks for.
func (h events) before(r *http.Request, filter eventFilter) string {
	most, _ := strconv.Atoi(r.URL.Query().Get("history"))
	var text strings.Builder
	for _, d := range h.history.last(auth.From(r.Context()).Org, most) {
		if e := h.event(r.Context(), d); filter.passes(&e) {
			text.WriteString(event("event", e))
		}
	}
	return text.String()
}

// run sends events until the reader is gone, the feed ends, or the request would not be
// admitted any more.
func (h events) run(w http.ResponseWriter, r *http.Request, reader *feedReader, before string) {
	due := time.Tick(recheckInterval)
	text, ended := ":\n\n"+before, false // the first comment brings the headers at once
	for push(w, text, len(reader.waiting) == 0 || ended) && !ended {
		select {
		case <-r.Context().Done():
			return
		case <-h.feed.ended:
			return
		case <-due:
			text = ":\n\n"
			if err := h.recheck(r); err != nil {
				text, ended = event("end", json.RawMessage(err.Fault().Encode(h.guard.Brand.Faults))), true
			}
		case e := <-reader.waiting:
			text = event("event", e)
			if dropped := reader.dropped.Swap(0); dropped > 0 {
				text = event("dropped", map[string]int64{"count": dropped}) + text
			}
		}
	}
}

// push writes a text, and reports whether the reader is still there. After a flush it pauses, so
// that a busy server does not flush for each decision.
func push(w http.ResponseWriter, text string, flush bool) bool {
	control := http.NewResponseController(w)
	err := control.SetWriteDeadline(time.Now().Add(readerPatience))
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err == nil && flush {
		err = control.Flush()
		time.Sleep(batchInterval)
	}
	return err == nil
}

func event(name string, v any) string { return fmt.Sprintf("event: %s\ndata: %s\n\n", name, asJSON(v)) }

func (h events) recheck(r *http.Request) *auth.Error {
	p, err := h.guard.Readmit(r, adminRead) // the need of the route
	if refused, ok := errors.AsType[*auth.Error](err); ok {
		return refused
	}
	if !p.HasRole(administrator) {
		return &auth.Error{Detail: auth.DetailForbidden}
	}
	return nil
}

// feed passes events to those who watch their org on this instance. It never waits
// for a reader.
type feed struct {
	mu    sync.RWMutex
	orgs  map[auth.OrgKey][]*feedReader
	ended chan struct{}
}

// eventFilter is what events must have. "" is anything.
type eventFilter struct{ account, app, verb string }

func (f eventFilter) passes(e *eventReply) bool {
	return (f.account == "" || f.account == e.Account || f.account == e.Actor) && (f.app == "" || f.app == e.App) &&
		(f.verb == "" || f.verb == e.Verb || strings.HasPrefix(e.Verb, f.verb+"."))
}

// feedReader is one reader of a feed. When there is no room, the oldest event makes
// some for the newest, and is counted.
type feedReader struct {
	filter  eventFilter
	waiting chan *eventReply
	dropped atomic.Int64
}

func newFeed() *feed {
	return &feed{orgs: make(map[auth.OrgKey][]*feedReader), ended: make(chan struct{})}
}

// publish passes an event on to the readers of its org. It calls show only if there are any.
func (f *feed) publish(org auth.OrgKey, show func() eventReply) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.orgs[org]) == 0 {
		return
	}
	e := show()
	for _, reader := range f.orgs[org] {
		if reader.filter.passes(&e) {
			reader.put(&e)
		}
	}
}

// lost counts events that did not come from another instance.
func (f *feed) lost(org auth.OrgKey, n int64) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, reader := range f.orgs[org] {
		reader.dropped.Add(n)
	}
}

// watched returns the orgs that have a reader.
func (f *feed) watched() []auth.OrgKey {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return slices.Collect(maps.Keys(f.orgs))
}

func (f *feed) open(org auth.OrgKey, filter eventFilter) (*feedReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.orgs[org]) >= feedReaders {
		return nil, throttled(time.Minute)
	}
	reader := &feedReader{filter: filter, waiting: make(chan *eventReply, feedSize)}
	f.orgs[org] = append(f.orgs[org], reader)
	return reader, nil
}

func (f *feed) leave(org auth.OrgKey, reader *feedReader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orgs[org] = slices.DeleteFunc(f.orgs[org], func(r *feedReader) bool { return r == reader })
	if len(f.orgs[org]) == 0 {
		delete(f.orgs, org)
	}
}

// close ends all streams, so that a server that drains does not wait for them.
func (f *feed) close() { close(f.ended) }

func (r *feedReader) put(e *eventReply) {
	for {
		select {
		case r.waiting <- e:
			return
		default:
		}
		select {
		case <-r.waiting:
			r.dropped.Add(1)
		default: // the reader was faster
		}
	}
}

// eventReply is one decision or verb, as administrators of its org see it. It is made of names
// of this server and of ids that were verified: no path, no query, no body, and no header but the agent. Only the reason
// for which somebody acts for an account is their text.
type eventReply struct {
	Object     string `json:"object"` // event
	At         string `json:"at"`
	RequestID  string `json:"requestId"`
	Verb       string `json:"verb,omitempty"`   // none for a decision
	Reason     string `json:"reason,omitempty"` // of a rejection, one of the words of rejection.go
	Count      int64  `json:"count,omitempty"`
	Route      string `json:"route,omitempty"` // pattern; none if no route matched
	Mechanism  string `json:"mechanism,omitempty"`
	App        string `json:"app,omitempty"`
	Account    string `json:"account,omitempty"`
	Actor      string `json:"actor,omitempty"` // who acts for the account; of a verb, who did it
	By         string `json:"by,omitempty"`    // session, token or app, a colon, and its id
	Credential string `json:"credential,omitempty"`
	Token      string `json:"token,omitempty"`
	Session    string `json:"session,omitempty"`
	Allowed    *bool  `json:"allowed,omitempty"` // of a decision
	Handler    bool   `json:"handler,omitempty"` // the route's own code gave the fault
	Fault      string `json:"fault,omitempty"`   // errCode
	Status     int    `json:"status,omitempty"`  // of the fault
	Claimed    string `json:"claimed,omitempty"` // client key of this org that a rejected credential names
	Address    string `json:"address,omitempty"`
	Agent      string `json:"agent,omitempty"`
	Need       string `json:"need,omitempty"`
	Chain      string `json:"chain,omitempty"`  // the one that allowed the need, or came nearest
	Source     string `json:"source,omitempty"` // of the chain
	Took       *int64 `json:"took,omitempty"`   // microseconds until the decision
}

func (p *platform) event(ctx context.Context, d auth.Event) eventReply {
	e := eventReply{
		Object: "event", At: date(d.Time), RequestID: d.Request, Agent: d.Agent,
		Verb: d.Verb, Reason: d.Reason, Count: d.Count,
		Route: d.Route, Mechanism: d.Mechanism, Handler: d.Handler,
		App: d.App, Account: d.Account, Actor: d.Actor, By: d.By,
		Credential: d.Credential, Token: d.Token, Session: d.Session,
	}
	if d.Address.IsValid() {
		e.Address = d.Address.String()
	}
	if d.Verb == "" {
		e.Allowed, e.Took = new(d.Allowed), new(d.Took.Microseconds())
	}
	if d.Detail != "" {
		e.Fault, e.Status = p.guard.Brand.Faults+"."+d.Detail, (&auth.Error{Detail: d.Detail}).Fault().Status
		e.Reason, e.Claimed = p.rejection(ctx, d)
	}
	if d.Need.Valid() {
		reason := d.Scope.Explain(d.Need)
		e.Need, e.Chain, e.Source = d.Need.String(), reason.Chain, reason.Source
	}
	return e
}
