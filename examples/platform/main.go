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
//   - apps.go, credentials.go, keypairs.go: apps, their secrets and their keys
//   - tokens.go, minting.go, quota.go: tokens, and who may mint which
//   - scripts.go, views.go: what stands for the scripts and views of an org
//   - store_memory.go: where it is all kept
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
	"net"
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
	log := o.newLog(stderr)
	listener, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	defer listener.Close()

	p, err := newPlatform(o, o.baseURLAt(listener.Addr()), log)
	if err != nil {
		return err
	}
	if o.seeds(listener.Addr()) {
		if err := p.startDemo(ctx, o, stdout); err != nil {
			return err
		}
	} else {
		log.Warn("nothing is seeded: there is no org to serve; see -demo")
	}
	log.Info("listening", "address", listener.Addr().String(), "base_url", p.guard.BaseURL)
	return serve(ctx, listener, p.handler(p.routes()), log)
}
