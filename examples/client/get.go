package main

import (
	"context"
	"net/http"
)

// get fetches a path.
func (c cli) get(ctx context.Context, args []string) error {
	var to connection
	flags := c.flags("get", &to)
	if err := c.parse(flags, args, 1, &to); err != nil {
		return err
	}
	return c.send(ctx, &to, http.MethodGet, flags.Arg(0), "")
}
