package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tmaxmax/go-sse"

	"github.com/tenantkit/tenantkit/envelope"
)

const (
	maxEvent = 64 << 10    // bytes of one event
	pause    = time.Second // at least, before another attempt to connect
)

// tail follows the decisions of an org. It is the only command that an interrupt ends
// without an error, because nothing else ends it in a normal way.
func (c cli) tail() *cobra.Command {
	var only filter
	cmd := c.sending("tail", cobra.ArbitraryArgs, only.define, func(ctx context.Context, to *connection, words []string) error {
		only.words = words
		f := follower{c: c, client: to.client(), url: to.at("/events"), only: only, asTable: c.tabular(to)}
		f.client.Timeout = 0 // a stream has no end
		if f.asTable {
			fmt.Fprintf(c.out, decisionLine, "Time", "Decision", "Method", "Route", "By", "Who", "Took", "Request")
		}
		err := f.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		return err
	})
	cmd.MarkFlagsMutuallyExclusive("refused", "allowed")
	return cmd
}

// follower reads a stream of decisions, over as many connections as it takes.
type follower struct {
	c       cli
	client  *http.Client
	url     string
	only    filter
	asTable bool

	connected bool // at least once
}

// run follows until ctx ends, or the stream ends for good. Only a stream that was open
// is tried again: a wrong URL is an error at once.
func (f *follower) run(ctx context.Context) error {
	for {
		again, err := f.connect(ctx)
		if ctx.Err() != nil || !f.connected || !again {
			return err
		}
		fmt.Fprintf(f.c.errs, "client: %s; connecting again, decisions until then are not shown\n", printable(err.Error()))
		select {
		case <-ctx.Done():
		case <-time.After(pause + rand.N(pause)): // so that all who lost a server do not return at once
		}
	}
}

// connect opens the stream, with a signature of its own, and reads it to its end. It reports whether another
// connection may work.
func (f *follower) connect(ctx context.Context) (again bool, _ error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url, nil)
	if err != nil {
		return false, err
	}
	r.Header.Set("Accept", "text/event-stream")
	reply, err := f.client.Do(r)
	if err != nil {
		return true, err
	}
	defer reply.Body.Close()
	if err := streamIn(reply); err != nil {
		return reply.StatusCode >= 500, err // what a server says with such a status may pass
	}
	f.connected = true
	return f.read(reply.Body)
}

// streamIn returns an error if a reply is no stream of events.
func streamIn(reply *http.Response) error {
	kind, _, _ := mime.ParseMediaType(reply.Header.Get("Content-Type"))
	if reply.StatusCode == http.StatusOK && kind == "text/event-stream" {
		return nil
	}
	err := faultIn(io.LimitReader(reply.Body, maxEvent)) // which says the status itself
	if err == nil {
		err = fmt.Errorf("%s: the reply is no stream of events", printable(reply.Status))
	}
	return fmt.Errorf("GET %s: %w", printable(reply.Request.URL.Path), err)
}

func faultIn(text io.Reader) error {
	var other json.RawMessage
	err := envelope.Decode(text, maxEvent, &other)
	if !errors.As(err, new(*envelope.Fault)) {
		return nil
	}
	return err
}

// read prints the events of a connection until it ends, which is always an error.
func (f *follower) read(stream io.Reader) (again bool, _ error) {
	for event, err := range sse.Read(stream, &sse.ReadConfig{MaxEventSize: maxEvent}) {
		if errors.Is(err, bufio.ErrTooLong) {
			return false, fmt.Errorf("an event of more than %d bytes", maxEvent)
		}
		if err != nil {
			return true, err
		}
		if err := f.take(event); err != nil {
			return false, err
		}
	}
	return true, errors.New("the server has closed the connection")
}

func (f *follower) take(event sse.Event) error {
	switch event.Type {
	case "event":
		var d decision
		err := json.Unmarshal([]byte(event.Data), &d)
		switch {
		case err != nil:
			return fmt.Errorf("a decision: %w", err)
		case !f.only.takes(&d):
			return nil
		case f.asTable:
			return f.c.printDecision(&d)
		}
		return f.c.printLine([]byte(event.Data))
	case "dropped":
		var dropped struct{ Count uint64 }
		if err := json.Unmarshal([]byte(event.Data), &dropped); err != nil {
			return fmt.Errorf("a count of dropped decisions: %w", err)
		}
		fmt.Fprintf(f.c.errs, "client: %d decisions were dropped, because they came faster than they were read\n", dropped.Count)
	case "end":
		ended := errors.New("the server has ended the stream")
		if err := faultIn(strings.NewReader(event.Data)); err != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
		return ended
	}
	return nil
}

type decision struct {
	At, RequestID, Route, Mechanism, App, Account, Fault, Need, Chain string

	Allowed bool
	Took    int64 // microseconds
}

// filter selects decisions as the page of the reference server does, except that it knows
// the ids of apps and accounts only, and not their names.
type filter struct {
	refused, allowed bool
	words            []string
}

func (f *filter) define(flags *pflag.FlagSet) {
	flags.BoolVar(&f.refused, "refused", false, "print only what ended with a fault")
	flags.BoolVar(&f.allowed, "allowed", false, "print only what ended without a fault")
}

// takes reports whether to print a decision. Case does not count.
func (f *filter) takes(d *decision) bool {
	if f.refused && d.Fault == "" || f.allowed && d.Fault != "" {
		return false
	}
	all := strings.ToLower(strings.Join([]string{d.Route, d.Mechanism, d.App, d.Account, d.Fault, d.Need, d.Chain, d.RequestID}, " "))
	return !slices.ContainsFunc(f.words, func(word string) bool { return !strings.Contains(all, strings.ToLower(word)) })
}

// decisionLine is a decision on a terminal: the time, the decision, the method, the route,
// the mechanism, who it was, how long it took, and the id of the request.
const decisionLine = "%-24s  %-36s  %-7s  %-28s  %-10s  %-24s  %-8v  %s\n"

func (c cli) printDecision(d *decision) error {
	method, route, _ := strings.Cut(d.Route, " ")
	shown := []any{
		d.At, cmp.Or(d.Fault, verdictWord(d.Allowed)), cmp.Or(method, "-"), cmp.Or(route, "-"), cmp.Or(d.Mechanism, "-"),
		cmp.Or(d.Account, d.App, "-"), (time.Duration(d.Took) * time.Microsecond).String(), d.RequestID,
	}
	for i, value := range shown {
		shown[i] = short(value.(string))
	}
	_, err := fmt.Fprintf(c.out, decisionLine, shown...)
	return err
}
