package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

var (
	errForgets   = errors.New("demo: memory: forgets everything at the end; give the -db of the server")
	errNotSeeded = errors.New("demo: the database has no demo orgs; start the server with -demo to seed them")
)

// printDemo issues fresh credentials of the demo orgs in a database, and prints them as
// the server does when it starts. It changes nothing else, and never seeds: a database
// without the demo orgs may be somebody's own. A server that runs on the database accepts
// the credentials after directoryStale.
func printDemo(ctx context.Context, o options, stdout, stderr io.Writer) error {
	if o.db == memoryDB {
		return errForgets
	}
	if file, ok := strings.CutPrefix(o.db, sqliteDB); ok {
		// To open it would make it, and a key beside it.
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	baseURL := o.baseURL
	if baseURL == "" {
		baseURL = "http://" + o.addr
	}
	p, err := newPlatform(ctx, o, baseURL, o.newLog(stderr))
	if err != nil {
		return err
	}
	return errors.Join(p.reissueDemo(ctx, o, stdout), p.close())
}

func (p *platform) reissueDemo(ctx context.Context, o options, stdout io.Writer) error {
	seeded, err := p.store.seeded(ctx)
	if err != nil {
		return err
	}
	if !seeded {
		return errNotSeeded
	}
	var f *facts
	err = p.store.alone(ctx, func() error {
		d, err := p.demo(ctx)
		if err == nil {
			f, err = p.issue(ctx, d)
		}
		return err
	})
	if err != nil {
		return err
	}
	return p.tell(f, o, stdout)
}
