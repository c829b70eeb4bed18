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
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to.at(flags.Arg(0)), nil)
	if err != nil {
		return err
	}
	return c.send(to.client(), r)
}
