package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/envelope"
)

func (c cli) change(name, method string, least, most int) *cobra.Command {
	return c.sending(name, cobra.RangeArgs(least, most), nil, func(ctx context.Context, to *connection, args []string) error {
		body, err := c.bodyIn(args[1:])
		if err != nil {
			return err
		}
		return c.send(ctx, to, method, args[0], body)
	})
}

// bodyIn returns the JSON of a command line, which may be on standard input, or "".
func (c cli) bodyIn(args []string) (string, error) {
	switch {
	case len(args) == 0:
		return "", nil
	case args[0] == "":
		// Probably a shell variable that is not set.
		return "", usageError("JSON is empty; leave it out to send no body")
	case args[0] != "-":
		return args[0], nil
	}
	text, err := io.ReadAll(c.in)
	return string(text), err
}

// maxReply is how much of a reply is read at most, in bytes.
const maxReply = 64 << 20

// send sends a request to a path below the org and prints the reply. A body is JSON; "" is none.
func (c cli) send(ctx context.Context, to *connection, method, path, body string) error {
	var reply json.RawMessage
	if err := to.fetch(ctx, method, path, body, &reply); err != nil {
		return err
	}
	return c.printJSON(reply, to.json)
}

// fetch decodes the reply to a request for a path below the org into v. It returns a fault as an error.
func (to *connection) fetch(ctx context.Context, method, path, body string, v any) error {
	r, err := http.NewRequestWithContext(ctx, method, to.at(path), bodyOf(body))
	if err != nil {
		return err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := to.client().Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	err = envelope.Decode(reply.Body, maxReply, v)
	if err != nil && !errors.As(err, new(*envelope.Fault)) { // which says the status itself
		err = fmt.Errorf("%s: %w", printable(reply.Status), err)
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	return err
}

// printJSON prints JSON on several lines. On a terminal it is safe to look at, and has
// colours unless it is to be plain.
func (c cli) printJSON(text []byte, plain bool) error {
	if c.query.given() {
		return c.printQueried(text)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	shown := indented.String()
	if c.screen && !plain {
		shown = c.paintedJSON(shown)
	}
	_, err := fmt.Fprintln(c.out, shown)
	return err
}

// printText prints a line. On a terminal it is safe to look at.
func (c cli) printText(text string) error {
	if c.screen {
		text = printable(text)
	}
	_, err := fmt.Fprintln(c.out, text)
	return err
}

// sign prints the headers that sign a request, for another program to send. They
// are valid once, and only within the server's tolerance.
func (c cli) sign() *cobra.Command {
	var curl bool
	var data string
	define := func(flags *pflag.FlagSet) {
		flags.BoolVar(&curl, "curl", false, "print a curl command")
		flags.StringVar(&data, "data", "", "`JSON` to send, which version 2 signs and the curl command has")
	}
	return c.sending("sign", cobra.ExactArgs(2), define, func(ctx context.Context, to *connection, args []string) error {
		r, err := http.NewRequestWithContext(ctx, strings.ToUpper(args[0]), to.at(args[1]), bodyOf(data))
		if err != nil {
			return err
		}
		headers, err := to.signed(r)
		if err != nil {
			return err
		}
		text := strings.Join(headers, "\n")
		if curl {
			text = curlLine(r, headers, data)
		}
		_, err = fmt.Fprintln(c.out, text)
		return err
	})
}

// bodyOf returns no reader for no data: version 2 signs a digest of each body.
func bodyOf(data string) io.Reader {
	if data == "" {
		return nil
	}
	return strings.NewReader(data)
}

// signed returns the headers that sign a request.
func (to *connection) signed(r *http.Request) (headers []string, err error) {
	var sent unsent
	transport := to.transport(&sent)
	transport.Repeat = false // which would add a header that is no part of the signature
	if _, err := transport.RoundTrip(r); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(sent.header)) {
		headers = append(headers, name+": "+sent.header.Get(name))
	}
	return headers, nil
}

type unsent struct{ header http.Header }

func (u *unsent) RoundTrip(r *http.Request) (*http.Response, error) {
	u.header = r.Header
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// curlLine returns a curl command for a POSIX shell. With -g, curl does not read
// paths[] as a pattern.
func curlLine(r *http.Request, headers []string, data string) string {
	line := "curl -g"
	if r.Method != http.MethodGet {
		line += " -X " + quoted(r.Method)
	}
	for _, header := range headers {
		line += " -H " + quoted(header)
	}
	if data != "" {
		line += " -H 'Content-Type: application/json' --data-raw " + quoted(data)
	}
	return line + " " + quoted(r.URL.String())
}

func quoted(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
