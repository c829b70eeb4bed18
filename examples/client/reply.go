package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
)

// maxReply is how much of a reply is read at most, in bytes.
const maxReply = 64 << 20

// send sends a request to a path below the org and prints the reply. A POST has a
// JSON body.
func (c cli) send(ctx context.Context, to *connection, method, path, body string) error {
	var reply json.RawMessage
	if err := fetch(ctx, to.client(), method, to.at(path), body, &reply); err != nil {
		return err
	}
	return c.printJSON(reply)
}

// fetch decodes the reply to a request into v. It returns a fault as an error.
func fetch(ctx context.Context, client *http.Client, method, url, body string, v any) error {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	if err := envelope.Decode(reply.Body, maxReply, v); err != nil {
		return fmt.Errorf("%s %s: %s: %w", r.Method, r.URL.Path, reply.Status, err)
	}
	return nil
}

func (c cli) printJSON(text []byte) error {
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.out, indented.String())
	return err
}
