// Platform is a complete small tenant platform: orgs with apps, accounts and
// objects. It is built only on the public packages of tenantkit, and meant to be
// read. Start here, then:
//
//   - routes.go: every route, and what it needs
//   - platform.go: the parts, how they are wired, and their limits
//   - store.go, records.go: the databases, and where the Guard looks things up
//   - access_rules.go: who may do what, in addition to scopes
//   - objects.go, object_store.go, schema.go: the objects, by lists of sqllist
//   - sign_in.go, account_admin.go: people
//   - apps.go, app_credentials.go, tokens.go: apps, their signing keys and tokens
//   - demo.go: the demo orgs
//
// From the root of the repository:
//
//	go run ./examples/platform
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/examples/internal/version"
)

func main() {
	o, err := parseFlags(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Print(o.help)
		return
	case err != nil:
		os.Exit(2) // parseFlags has printed the error
	}
	if o.version {
		fmt.Println(version.Line("platform"))
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the draining
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "platform:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	log := o.newLog(stderr)
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	defer listener.Close()

	p, err := newPlatform(ctx, o, cmp.Or(o.baseURL, "http://"+listener.Addr().String()), log)
	if err != nil {
		return err
	}
	defer p.close()
	var background sync.WaitGroup
	defer background.Wait()
	served, stop := context.WithCancel(context.WithoutCancel(ctx)) // it lasts until the requests are drained
	defer stop()
	background.Go(func() { p.stores.sql.Run(served, func(err error) { log.Warn("sweep", "cause", err) }) })
	empty, err := p.store.isEmpty(ctx)
	if err != nil {
		return err
	}
	if !o.seedsDemo(listener.Addr(), empty) {
		o.warnUnseeded(log, empty)
	} else if err := p.startDemo(ctx, o, stdout); err != nil {
		return err
	}
	if base, err := url.Parse(p.guard.BaseURL); err == nil && base.Scheme == "http" && !isLoopback(base.Hostname()) {
		log.Warn("browsers keep no session cookie of this base URL: it takes https, or a loopback host", "base_url", p.guard.BaseURL)
	}
	if o.checkpoint != "" {
		if err := p.keepCheckpoints(served, o, &background); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, p.feed.close)()
	routes := p.routes()
	if _, err := p.document.JSON(); err != nil {
		return err
	}
	log.Info("listening", "address", listener.Addr().String(), "base_url", p.guard.BaseURL)
	err = serve(ctx, listener, p.handler(routes), log)
	unsent, cancel := context.WithTimeout(context.Background(), time.Second) // a mail is a file, or a line
	defer cancel()
	return errors.Join(err, p.sessions.Wait(unsent))
}

// warnUnseeded warns if the user may have expected the demo orgs.
func (o options) warnUnseeded(log *slog.Logger, empty bool) {
	switch {
	case empty:
		log.Warn("the database is empty: -demo seeds the demo orgs")
	case !o.isGiven("demo"):
		log.Warn("the database holds data already: -demo prints fresh credentials of the demo orgs, and makes them if it has none")
	}
	if o.isGiven("idle", "max-session", "require-second-factor") {
		log.Warn("-idle, -max-session and -require-second-factor change nothing without -demo: the demo org stays as it is")
	}
}

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
				// Too late for a fault. Cut the reply off, so that it is not taken for a whole one.
				panic(http.ErrAbortHandler)
			}
			p.guard.Fail(w, r, &auth.Error{Detail: auth.DetailInternal})
		}()
		next.ServeHTTP(w, r)
	})
}
