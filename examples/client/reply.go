package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tenantkit/tenantkit/envelope"
)

// maxReply bounds what is read of a reply.
const maxReply = 64 << 20

// send prints the reply to a request. A fault is the error.
func (c cli) send(client *http.Client, r *http.Request) error {
	reply, err := client.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	var body json.RawMessage
	if err := envelope.Decode(reply.Body, maxReply, &body); err != nil {
		return fmt.Errorf("%s %s: %s: %w", r.Method, r.URL.Path, reply.Status, err)
	}
	return c.printJSON(body)
}

func (c cli) printJSON(text []byte) error {
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(c.out, indented.String())
	return err
}
