package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

const (
	// recheckInterval is how long a stream may outlive its session or token.
	recheckInterval = 2 * time.Second

	// batchInterval is the shortest time between two writes to a reader, so that a busy
	// server does not flush for each decision.
	batchInterval = 100 * time.Millisecond

	// readerPatience is how long one write may wait for a reader.
	readerPatience = 10 * time.Second
)

// The recheck decides by the same need.
const eventsRoute = "GET /events"

var eventsNeed = auth.Allow("admin.read")

// events serves the decisions of an org as they happen, as server-sent events (HTML
// standard, section 9.2):
//
//   - event: one decision, an eventReply
//   - dropped: {"count":n}, before an event: so many older ones did not fit
//   - end: the fault that ended the stream; it is the last event
//
// A comment follows each recheck. So a client can tell a quiet org from a dead
// connection. A server that drains closes the stream without an end: connect again.
type events struct {
	feed  *feed
	guard *auth.Guard
}

func (h events) serve(w http.ResponseWriter, r *http.Request) {
	if err := requireAdministrator(r); err != nil {
		auth.Fail(w, r, err)
		return
	}
	org := auth.From(r.Context()).Org
	reader, err := h.feed.open(org)
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
	stream := eventStream{to: w, control: http.NewResponseController(w)}
	// The server's limits are for requests that end. Each write gets its own.
	stream.comment() // so that the client has the headers at once
	if stream.control.SetReadDeadline(time.Time{}) != nil || stream.flush() != nil {
		return
	}
	h.run(r, reader, &stream)
}

// run sends events until the reader is gone, the feed ends, or the request would not be
// admitted any more.
func (h events) run(r *http.Request, reader *feedReader, stream *eventStream) {
	due := time.Now().Add(recheckInterval)
	for ended := false; !ended; {
		var first *eventReply
		select {
		case <-r.Context().Done():
			return
		case <-h.feed.ended:
			ended = true
		case <-time.After(time.Until(due)):
		case first = <-reader.waiting:
		}
		if !time.Now().Before(due) { // also after a write that took long
			if err := h.recheck(r); err != nil {
				stream.add("end", json.RawMessage(err.Fault().Encode(h.guard.Brand.Faults)))
				_ = stream.flush() // the stream is over anyway
				return
			}
			stream.comment()
			due = time.Now().Add(recheckInterval)
		}
		stream.batch(first, reader)
		if stream.flush() != nil {
			return
		}
		pause(r.Context(), batchInterval)
	}
}

// recheck returns the fault with which the request would be refused now, or nil.
func (h events) recheck(r *http.Request) *auth.Error {
	p, err := h.guard.Readmit(r, eventsNeed)
	if refused, ok := errors.AsType[*auth.Error](err); ok {
		return refused
	}
	if !p.HasRole(administrator) {
		return &auth.Error{Detail: auth.DetailForbidden}
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// eventStream writes server-sent events.
type eventStream struct {
	to      http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
}

// batch adds first, if there is one, and what else waits for the reader.
func (s *eventStream) batch(first *eventReply, reader *feedReader) {
	if dropped := reader.dropped.Swap(0); dropped > 0 {
		s.add("dropped", map[string]int64{"count": dropped})
	}
	e := first
	for range feedSize + 1 { // others may come as fast as these go
		if e != nil {
			s.add("event", e)
		}
		select {
		case e = <-reader.waiting:
		default:
			return
		}
	}
	s.add("event", e)
}

func (s *eventStream) comment() { s.buffer.WriteString(":\n\n") }

// add adds an event. JSON has no line breaks.
func (s *eventStream) add(name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a type of this program that JSON cannot hold
	}
	fmt.Fprintf(&s.buffer, "event: %s\ndata: %s\n\n", name, text)
}

// flush sends what was added, if anything was.
func (s *eventStream) flush() error {
	if s.buffer.Len() == 0 {
		return nil
	}
	defer s.buffer.Reset()
	if err := s.control.SetWriteDeadline(time.Now().Add(readerPatience)); err != nil {
		return err
	}
	if _, err := s.to.Write(s.buffer.Bytes()); err != nil {
		return err
	}
	return s.control.Flush()
}
