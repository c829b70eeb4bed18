// Platform is a complete small tenant platform: orgs with apps, accounts and
// objects, built only on the public packages of tenantkit. It is meant to be
// read. Start here, then:
//
//   - routes.go: every route, and what it needs
//   - platform.go: the parts, and how they are wired
//   - server.go: limits, timeouts, panics, draining
//   - directory.go: where the Guard looks things up
//   - schema.go, objects.go, view.go, list.go, form.go, body.go: objects and their lists
//   - access.go: who may do what, beside scopes
//   - accounts.go, signin.go, sessions.go, factor.go: people, who sign in and out
//   - console.go: the page where they do
//   - admin.go: the accounts of others
//   - apps.go, keypairs.go: apps, their secrets and their keys
//   - tokens.go, minting.go, quota.go: tokens, and who may mint which
//   - scripts.go, views.go, deployments.go: what stands for those of an org
//   - clientaddr.go: where requests come from, behind a proxy
//   - store.go, pool.go, objectstore.go, document.go, share.go, stores.go: where it is all kept
//   - log.go, linelog.go: a line for each request
//   - demo.go: the demo orgs
//
// From the root of the repository:
//
//	go run ./examples/platform
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	o, err := parseFlags(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // what was wrong has been printed
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the draining
	if err := run(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "platform:", err)
		os.Exit(1)
	}
}

// run is the server from its start to its end, which is that of ctx.
func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	lines := newLineLog(stderr)
	defer lines.close() // before main may exit
	log := o.newLog(lines)
	lines.lose = func(n int) { log.Warn("the log's writer was too slow", "lost_lines", n) }
	// A second signal ends the process without draining: nothing may wait then.
	defer context.AfterFunc(ctx, lines.writeThrough)()
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	defer listener.Close()

	p, err := newPlatform(ctx, o, o.baseURLAt(listener.Addr()), log)
	if err != nil {
		return err
	}
	defer p.close()
	go p.stores.sweep(ctx, log)
	empty, err := p.store.isEmpty(ctx)
	if err != nil {
		return err
	}
	if !o.seeds(listener.Addr(), empty) {
		o.warnUnseeded(log, empty)
	} else if err := p.startDemo(ctx, o, stdout); err != nil {
		return err
	}
	if base, err := url.Parse(p.guard.BaseURL); err == nil && base.Scheme == "http" && !isLoopback(base.Hostname()) {
		log.Warn("browsers keep no session cookie of this base URL: it takes https, or a loopback host", "base_url", p.guard.BaseURL)
	}
	log.Info("listening", "address", listener.Addr().String(), "base_url", p.guard.BaseURL)
	return serve(ctx, listener, p.handler(p.routes()), log)
}

// warnUnseeded says what whoever started the server may have expected.
func (o options) warnUnseeded(log *slog.Logger, empty bool) {
	switch {
	case empty:
		log.Warn("the database is empty: -demo seeds the demo orgs")
	case !o.demoSaid:
		log.Warn("the database holds data already: -demo issues fresh credentials of the demo orgs, and prints what to try")
	}
	if o.sessionSaid {
		log.Warn("-idle, -max-session and -require-second-factor change nothing without -demo: the demo org stays as it is")
	}
}
