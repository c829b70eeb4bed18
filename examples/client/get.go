package main

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"
)

// get fetches a path.
func (c cli) get() *cobra.Command {
	return c.sending("get", 1, nil, func(ctx context.Context, to *connection, args []string) error {
		return c.send(ctx, to, http.MethodGet, args[0], "")
	})
}
