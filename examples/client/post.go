package main

import (
	"context"
	"io"
	"net/http"

	"github.com/spf13/cobra"
)

// post sends JSON to a path.
func (c cli) post() *cobra.Command {
	return c.sending("post", 2, nil, func(ctx context.Context, to *connection, args []string) error {
		body := args[1]
		if body == "-" {
			read, err := io.ReadAll(c.in)
			if err != nil {
				return err
			}
			body = string(read)
		}
		return c.send(ctx, to, http.MethodPost, args[0], body)
	})
}
