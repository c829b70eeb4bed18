// Package recovery adds two things that every server needs and a Guard does not
// have. Each request gets an id, and a handler that panics gets an answer.
//
//	handler := recovery.RequestID(recovery.Recover(guard, log, mux))
//
// Both stand outside the Guard, so that they also cover the Guard itself. RequestID
// stands outside Recover, so that the log of a panic has an id.
package recovery

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/tenantkit/tenantkit/auth"
)

type idKey struct{}

// RequestID gives each request an id, in its context and in the reply's header
// Request-Id. It ignores an id that the client sends. In the log, that id would
// look like one of this server.
func RequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		w.Header().Set("Request-Id", id)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), idKey{}, id)))
	})
}

// ID returns the id of a request, from its context.
func ID(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// Recover answers a panic of next with the Guard's fault for 500. The cause is
// logged and never sent.
func Recover(guard *auth.Guard, log *slog.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tracked := &writer{ResponseWriter: w}
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler {
				panic(cause) // the handler wants to cut the reply off
			}
			log.ErrorContext(r.Context(), "panic", "request_id", ID(r.Context()), "cause", cause, "stack", string(debug.Stack()))
			if tracked.began {
				// Too late for a fault. Cut the reply off, so that it is not taken
				// for a whole one.
				panic(http.ErrAbortHandler)
			}
			guard.Fail(w, r, &auth.Error{Detail: auth.DetailInternal})
		}()
		next.ServeHTTP(tracked, r)
	})
}

// writer records whether the reply has begun.
type writer struct {
	http.ResponseWriter
	began bool
}

func (w *writer) WriteHeader(status int) {
	// Of the 1xx statuses, only 101 ends the headers.
	w.began = w.began || status >= 200 || status == http.StatusSwitchingProtocols
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	w.began = true
	return w.ResponseWriter.Write(p)
}

// FlushError is for http.ResponseController. A flush begins the reply.
func (w *writer) FlushError() error {
	w.began = true
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController use the other methods of the server's writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
