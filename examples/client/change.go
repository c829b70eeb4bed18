package main

import (
	"context"
	"io"
	"net/http"

	"github.com/spf13/cobra"
)

// get fetches a path.
func (c cli) get() *cobra.Command { return c.change("get", http.MethodGet, 1, 1) }

// post sends a POST.
func (c cli) post() *cobra.Command { return c.change("post", http.MethodPost, 1, 2) }

// patch sends a PATCH, which always has JSON.
func (c cli) patch() *cobra.Command { return c.change("patch", http.MethodPatch, 2, 2) }

// delete sends a DELETE.
func (c cli) delete() *cobra.Command { return c.change("delete", http.MethodDelete, 1, 2) }

// change returns a command that sends a request to a path, with JSON or without.
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
