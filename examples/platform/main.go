// Platform is a complete small tenant platform: orgs with apps, accounts and
// objects. It is built only on the public packages of tenantkit, and meant to be
// read. Start here, then:
//
//   - routes.go: every route, and what it needs
//   - platform.go, server.go: the parts, how they are wired, and their limits
//   - directory.go, store.go, records.go: the databases, and where the Guard looks things up
//   - access_rules.go: who may do what, in addition to scopes
//   - objects.go, object_store.go, schema.go: the objects, by lists of sqllist
//   - sign_in.go, apps.go, tokens.go, account_admin.go: people, apps and tokens
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
	command := run
	if o.demoOnly {
		command = printDemo
	}
	if err := command(ctx, o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "platform:", err)
		os.Exit(1)
	}
}

// run runs the server until ctx ends.
func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	log := o.newLog(stderr)
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
	go p.stores.sql.Run(ctx, func(err error) { log.Warn("sweep", "cause", err) })
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
	defer context.AfterFunc(ctx, p.feed.close)()
	routes := p.routes()
	if _, err := p.document.JSON(); err != nil {
		return err
	}
	log.Info("listening", "address", listener.Addr().String(), "base_url", p.guard.BaseURL)
	return serve(ctx, listener, p.handler(routes), log)
}

// warnUnseeded warns if the user may have expected the demo orgs.
func (o options) warnUnseeded(log *slog.Logger, empty bool) {
	switch {
	case empty:
		log.Warn("the database is empty: -demo seeds the demo orgs")
	case !o.demoGiven:
		log.Warn("the database holds data already: \"platform demo\" prints fresh credentials of the demo orgs, if it has them")
	}
	if o.sessionGiven {
		log.Warn("-idle, -max-session and -require-second-factor change nothing without -demo: the demo org stays as it is")
	}
}
