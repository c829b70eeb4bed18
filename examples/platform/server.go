package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

const (
	maxHeader = 64 << 10
	maxBody   = 1 << 20

	// drainTime is how long requests in flight may take when the server ends.
	drainTime = 10 * time.Second

	// answerTime is how long a request may take once the Guard has admitted it, its
	// body included. Draining would cut off a longer one anyway.
	answerTime = drainTime
)

// serve answers requests until ctx ends. It then waits for those in flight.
func serve(ctx context.Context, listener net.Listener, h http.Handler, log *slog.Logger) error {
	server := &http.Server{
		Handler:           h,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),

		// OPTIONS * would get an empty reply that bypasses the Guard.
		DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return drain(server, log)
	}
}

func drain(server *http.Server, log *slog.Logger) error {
	log.Info("draining", "at_most", drainTime)
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests were still in flight")
		return server.Close()
	}
	return err
}

// recovered answers for a handler that panics. The client learns that the request
// failed, and not why.
func (p *platform) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if cause == http.ErrAbortHandler {
				panic(cause)
			}
			e := entryOf(r.Context())
			p.log.Error("panic", "request_id", e.id, "cause", cause, "stack", string(debug.Stack()))
			if e.status != 0 {
				// Too late for a fault. Cut the reply off, so that it is not taken
				// for a whole one.
				panic(http.ErrAbortHandler)
			}
			p.guard.Fail(w, r, &auth.Error{Detail: auth.DetailInternal})
		}()
		next.ServeHTTP(w, r)
	})
}
