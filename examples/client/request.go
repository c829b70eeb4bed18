package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/envelope"
)

func (c cli) change(name, method string, least, most int) *cobra.Command {
	cmd := c.sending(name, -1, nil, func(ctx context.Context, to *connection, args []string) error {
		body, err := c.bodyIn(args[1:])
		if err != nil {
			return err
		}
		return c.send(ctx, to, method, args[0], body)
	})
	cmd.Args = cobra.RangeArgs(least, most)
	return cmd
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

// send sends a request to a path below the org and prints the reply. A body is JSON; ""
// is none.
func (c cli) send(ctx context.Context, to *connection, method, path, body string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	var reply json.RawMessage
	if err := to.fetch(ctx, method, to.at(path), body, &reply); err != nil {
		return err
	}
	if reply == nil {
		return nil // 204
	}
	return c.printJSON(reply, to.json)
}

func (to *connection) fetch(ctx context.Context, method, url, body string, v any) error {
	return fetch(ctx, to.client(), method, url, body, v)
}

// fetch decodes the reply to a request into v, which it leaves alone if the reply is to
// have no content. It returns a fault as an error.
func fetch(ctx context.Context, client *http.Client, method, url, body string, v any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, bodyOf(body))
	if err != nil {
		return err
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if reply.StatusCode == http.StatusNoContent {
		return nil
	}
	err = envelope.Decode(reply.Body, maxReply, v)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*envelope.Fault)): // it says the status itself
		return fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err)
	}
	return fmt.Errorf("%s %s: %s: %w", r.Method, r.URL.Path, printable(reply.Status), err)
}

// printJSON prints JSON on several lines. On a terminal it is safe to look at, and has
// colours unless it is to be plain.
func (c cli) printJSON(text []byte, plain bool) error {
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

func (c cli) printJSONOf(v any, plain bool) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.printJSON(text, plain)
}
