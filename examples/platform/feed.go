package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// The bounds of what live readers cost. A reader that waits needs no memory. One that is
// slow needs feedSize decisions, each of some hundred bytes.
const (
	feedSize    = 1000 // decisions that wait for one reader, at most
	feedReaders = 8    // of one org, on one instance
)

// feed passes the decisions of this instance to those who watch their org. Without
// readers it costs one atomic read. It never waits for a reader.
type feed struct {
	reading atomic.Int64 // readers of all orgs

	mu    sync.RWMutex
	orgs  map[auth.OrgKey][]*feedReader
	ended chan struct{}
}

// feedReader is one reader of a feed. When there is no room, the oldest decision makes
// some for the newest, and is counted.
type feedReader struct {
	waiting chan *eventReply
	dropped atomic.Int64
}

func newFeed() *feed {
	return &feed{orgs: make(map[auth.OrgKey][]*feedReader), ended: make(chan struct{})}
}

// publish passes a decision on to the readers of its org. It calls show only if there
// are any.
func (f *feed) publish(org auth.OrgKey, show func() eventReply) {
	if f.reading.Load() == 0 || org == "" {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.orgs[org]) == 0 {
		return
	}
	decision := show()
	for _, reader := range f.orgs[org] {
		reader.put(&decision)
	}
}

// open adds a reader, until leave.
func (f *feed) open(org auth.OrgKey) (*feedReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.orgs[org]) >= feedReaders {
		return nil, throttled(time.Minute)
	}
	reader := &feedReader{waiting: make(chan *eventReply, feedSize)}
	f.orgs[org] = append(f.orgs[org], reader)
	f.reading.Add(1)
	return reader, nil
}

// leave removes a reader.
func (f *feed) leave(org auth.OrgKey, reader *feedReader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orgs[org] = slices.DeleteFunc(f.orgs[org], func(r *feedReader) bool { return r == reader })
	if len(f.orgs[org]) == 0 {
		delete(f.orgs, org)
	}
	f.reading.Add(-1)
}

// close ends all streams, so that a server that drains does not wait for them.
func (f *feed) close() { close(f.ended) }

func (r *feedReader) put(decision *eventReply) {
	for {
		select {
		case r.waiting <- decision:
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

// eventReply is one decision, as administrators of its org see it. It is made of names
// of this server and of ids that were verified: no path, no query, no header, no body.
type eventReply struct {
	Object    string `json:"object"` // event
	At        string `json:"at"`
	RequestID string `json:"requestId"`
	Route     string `json:"route,omitempty"` // pattern; none if no route matched
	Mechanism string `json:"mechanism,omitempty"`
	App       string `json:"app,omitempty"`
	Account   string `json:"account,omitempty"`
	Allowed   bool   `json:"allowed"`
	Handler   bool   `json:"handler,omitempty"` // the route's own code gave the fault
	Fault     string `json:"fault,omitempty"`   // errCode
	Need      string `json:"need,omitempty"`
	Chain     string `json:"chain,omitempty"`  // the one that allowed the need, or came nearest
	Source    string `json:"source,omitempty"` // of the chain
	Took      int64  `json:"took"`             // microseconds until the decision
}

// event returns a decision for its readers.
func (p *platform) event(requestID string, d auth.Event) eventReply {
	e := eventReply{
		Object:    "event",
		At:        date(time.Now()),
		RequestID: requestID,
		Route:     d.Route,
		Mechanism: d.Mechanism,
		App:       d.App,
		Account:   d.Account,
		Allowed:   d.Allowed,
		Handler:   d.Handler,
		Took:      d.Took.Microseconds(),
	}
	if d.Detail != "" {
		e.Fault = p.guard.Brand.Faults + "." + d.Detail
	}
	if d.Need.Valid() {
		reason := d.Scope.Explain(d.Need)
		e.Need, e.Chain, e.Source = d.Need.String(), reason.Chain, reason.Source
	}
	return e
}
