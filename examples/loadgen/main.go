// Loadgen puts load on a server of the service interface. Its requests are signed,
// carry a bearer token or belong to a session. It prints how long the replies took
// and which faults there were. The load is GET requests only, sent by vegeta through
// the library's own clients. Run it with -help to see how.
//
// Start reading in load.go: what vegeta sends, and what is timed.
package main

import (
	"bufio"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/tenantkit/tenantkit/examples/internal/version"
)

//go:embed help.txt
var help string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after a second interrupt, nothing waits for replies
	p := program{out: os.Stdout, errs: os.Stderr, getenv: os.Getenv}
	status := p.status(p.run(ctx, os.Args[1:]))
	stop()
	os.Exit(status)
}

type program struct {
	out, errs io.Writer
	getenv    func(string) string
}

type usageError string

func (e usageError) Error() string { return string(e) }

// errFaults ends a run with more faults than -max-failed.
var errFaults = errors.New("there were faults")

// missed returns an error if the run has missed what was expected of it.
func (r *report) missed(o options) error {
	switch p99 := time.Duration(r.Latency.P99 * float64(time.Millisecond)); {
	case r.Failed > o.maxFailed:
		return fmt.Errorf("%w: %d; -max-failed is %d", errFaults, r.Failed, o.maxFailed)
	case o.maxP99 > 0 && p99 == 0:
		return errors.New("-max-p99: a p99 takes 100 requests")
	case o.maxP99 > 0 && p99 > o.maxP99:
		return fmt.Errorf("p99 is %v; -max-p99 is %v", p99, o.maxP99)
	}
	return nil
}

func (p program) status(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(p.errs, "loadgen:", err)
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

func (p program) run(ctx context.Context, args []string) error {
	o, err := p.parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case o.version:
		_, err := fmt.Fprintln(p.out, version.Line("loadgen"))
		return err
	}
	return p.load(ctx, o)
}

func (p program) load(ctx context.Context, o options) (err error) {
	var page *os.File
	if o.plot != "" { // before the load, so that no load is in vain
		if page, err = os.Create(o.plot); err != nil {
			return fmt.Errorf("-plot: %w", err)
		}
		defer func() { err = errors.Join(err, page.Close()) }()
	}
	l, err := newLoad(ctx, o)
	if err != nil {
		return err
	}
	defer l.close()
	before, err := usageOf(o.pid)
	if err != nil {
		return fmt.Errorf("-pid: %w", err)
	}
	l.run(ctx)
	after, gone := usageOf(o.pid)
	r := l.report(before, after)
	if page != nil {
		l.plot.Close()
		if _, err := l.plot.WriteTo(page); err != nil {
			return err
		}
	}
	if o.json {
		err = json.NewEncoder(p.out).Encode(r)
	} else {
		out := bufio.NewWriter(p.out)
		r.write(out)
		err = out.Flush()
	}
	return cmp.Or(err, gone, r.missed(o))
}
