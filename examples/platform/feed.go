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

	mu     sync.RWMutex
	orgs   map[auth.OrgKey][]*feedReader
	closed bool
}

// feedReader is one reader of a feed. When its ring is full, the oldest decision makes
// room for the newest, and is counted.
type feedReader struct {
	wake chan struct{} // tells of something to take, or of the feed's end

	mu      sync.Mutex
	ring    []eventReply
	first   int // index of the oldest decision once the ring is full
	dropped int
	ended   bool
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
		reader.put(decision)
	}
}

// open adds a reader. The caller must close it.
func (f *feed) open(org auth.OrgKey) (*feedReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.orgs[org]) >= feedReaders {
		return nil, throttled(time.Minute)
	}
	if f.orgs == nil {
		f.orgs = make(map[auth.OrgKey][]*feedReader)
	}
	reader := &feedReader{wake: make(chan struct{}, 1), ended: f.closed}
	if f.closed {
		reader.hurry()
	}
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

// close ends all readers, so that a server that drains does not wait for them.
func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, readers := range f.orgs {
		for _, reader := range readers {
			reader.end()
		}
	}
}

func (r *feedReader) put(decision eventReply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ring) < feedSize {
		r.ring = append(r.ring, decision)
	} else {
		r.ring[r.first] = decision
		r.first = (r.first + 1) % feedSize
		r.dropped++
	}
	r.hurry()
}

func (r *feedReader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.hurry()
}

func (r *feedReader) hurry() {
	select {
	case r.wake <- struct{}{}:
	default: // it has been told already
	}
}

// take returns what waits, the oldest first, and how many decisions before it were
// dropped. It appends to spare. ended is true once the feed is closed.
func (r *feedReader) take(spare []eventReply) (waiting []eventReply, dropped int, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiting = append(append(spare, r.ring[r.first:]...), r.ring[:r.first]...)
	dropped, ended = r.dropped, r.ended
	clear(r.ring)
	r.ring, r.first, r.dropped = r.ring[:0], 0, 0
	return waiting, dropped, ended
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
		e.Need, e.Chain, e.Source = d.Need.String(), reason.Chain.String(), reason.Source
	}
	return e
}
