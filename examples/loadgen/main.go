// Loadgen puts load on a server of the service interface. Its requests are signed,
// carry a bearer token or belong to a session. It prints how long the replies took
// and which faults there were. The load is GET requests only, sent by vegeta through
// the library's own clients. Run it with -help to see how.
//
// Start reading in load.go: what vegeta sends, and what is timed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"

	"github.com/tenantkit/tenantkit/examples/internal/version"
)

const help = `loadgen sends GET requests to a server of the service interface for a while,
and prints how many were answered how fast.

    loadgen -demo-json FILE                   all three kinds, as fast as it can, for 10 s
    loadgen -demo-json FILE -rate 500 -duration 1m
    loadgen -demo-json FILE -mix signed=8,bearer=2 -concurrency 32
    loadgen -demo-json FILE -json -path /accounts/me
    loadgen -demo-json FILE -json > before.json
    loadgen -demo-json FILE -compare before.json -plot run.html

Try it, in two terminals:

    go run ./examples/platform -db memory: -demo-json /tmp/demo.json 2>/dev/null
    go run ./examples/loadgen -demo-json /tmp/demo.json

Each kind of request in -mix needs its credential. What no flag says is taken from
the environment, and then from the file of -demo-json or TENANTKIT_DEMO_JSON, which
the reference server writes with its flag of that name:

    all        TENANTKIT_URL, TENANTKIT_HEADER_PREFIX
    signed     TENANTKIT_KEY, TENANTKIT_SECRET
    bearer     TENANTKIT_TOKEN
    session    TENANTKIT_EMAIL, TENANTKIT_PASSWORD

Other users of the machine can read the flags of a process: outside a demo use the
environment. A session is opened for each request in flight, by POST /accounts/login
as the reference server has it, and ended after the run.

Several -url are instances of one service, and get the requests in turn. Without
-remote a URL must be one of this machine. No run is longer than 10 minutes.

With -rate each request is timed from when it was due: the time that it waits for a
stalled server counts, too. Without -rate each worker sends its next request when the
last one was answered.

Requests for one path in one millisecond have equal signatures, of which a server
accepts up to eight. One with -single-use accepts 1000 a second for one path, so use
several -path. "Sent again" counts what the client library signed once more, after a
stale or replayed signature.

A terminal shows each second; -json keeps them as numbers, and -plot draws the
latencies on a page, which needs no network. -compare says how much each figure
changed, and whether the two loads were the same.

Exit status: 0, 1 if there was a fault that -expect does not name, or any other
failure, 2 for wrong usage. Ctrl-C ends a run early, with its report.

`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after a second interrupt, nothing waits for replies
	p := program{out: os.Stdout, errs: os.Stderr, terminal: term.IsTerminal(int(os.Stderr.Fd())), getenv: os.Getenv}
	status := p.status(p.run(ctx, os.Args[1:]))
	stop()
	os.Exit(status)
}

// program holds what a run needs from its environment.
type program struct {
	out, errs io.Writer
	terminal  bool // errs is a terminal
	getenv    func(string) string
}

// usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

// errFaults ends a run whose report lists unexpected faults.
var errFaults = errors.New("there were faults that were not expected")

// status reports an error and returns the exit status for it.
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

// run runs a command line.
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

// load is one load, from its options to the report. Files are opened before it, so that
// no load is in vain.
func (p program) load(ctx context.Context, o options) (err error) {
	var earlier *report
	if o.compare != "" {
		if earlier, err = readReport(o.compare); err != nil {
			return err
		}
	}
	var page *os.File
	if o.plot != "" {
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
	watched, err := watch(o.pid)
	if err != nil {
		return err
	}
	l.run(ctx, p, watched)
	r := l.report(watched)
	if earlier != nil {
		r.earlier, r.Change = earlier, r.changes(earlier)
	}
	if page != nil {
		l.plot.Close()
		if _, err := l.plot.WriteTo(page); err != nil {
			return err
		}
	}
	if err := p.print(r, o.json); err != nil {
		return err
	}
	if r.Unexpected > 0 {
		return errFaults
	}
	return nil
}
