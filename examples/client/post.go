package main

import (
	"context"
	"io"
	"net/http"
)

// post sends JSON to a path.
func (c cli) post(ctx context.Context, args []string) error {
	var to connection
	flags := c.flags("post", &to)
	if err := c.parse(flags, args, 2, &to); err != nil {
		return err
	}
	body := flags.Arg(1)
	if body == "-" {
		read, err := io.ReadAll(c.in)
		if err != nil {
			return err
		}
		body = string(read)
	}
	return c.send(ctx, &to, http.MethodPost, flags.Arg(0), body)
}
