package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/envelope"
)

// wish is the request body of POST /apps/{key}/tokens.
type wish struct {
	Subject   string   `json:"sub"`
	Scope     []string `json:"scope"`
	Roles     []string `json:"roles,omitempty"`
	MaxUses   int64    `json:"maxUses,omitempty"`
	Permanent bool     `json:"permanent,omitempty"`
	ExpiresIn int64    `json:"expiresIn,omitempty"`
}

// mint prints a new token.
func (c cli) mint() *cobra.Command {
	w := wish{Scope: []string{}} // sent as [], never as null
	var app string
	var life time.Duration
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&app, "app", "", "client `key` of the app that issues the token (default: the credential's own)")
		flags.DurationVar(&life, "life", 0, "how long the token lasts, in whole seconds (default: the server's)")
		flags.StringArrayVar(&w.Scope, "scope", w.Scope, "`chain` of what the token may do; repeat it for more, * is everything")
		flags.StringArrayVar(&w.Roles, "role", nil, "`name` of a role to add; repeat it for more")
		flags.Int64Var(&w.MaxUses, "uses", 0, "`number` of times the token can be used")
		flags.BoolVar(&w.Permanent, "permanent", false, "mint a token that lasts until it is revoked")
	}
	return c.sending("mint", 1, define, func(ctx context.Context, to *connection, args []string) error {
		var err error
		if w.ExpiresIn, err = wholeSeconds("--life", life); err != nil {
			return err
		}
		w.Subject = args[0]
		body, err := json.Marshal(w)
		if err != nil {
			return err
		}
		path := "/apps/" + url.PathEscape(cmp.Or(app, to.key)) + "/tokens"
		var minted envelope.Result[json.RawMessage]
		if err := to.fetch(ctx, http.MethodPost, to.at(path), string(body), &minted); err != nil {
			return err
		}
		if to.json {
			return c.printJSON(minted.Data, true)
		}
		var data struct{ Token string }
		if err := json.Unmarshal(minted.Data, &data); err != nil {
			return err
		}
		if c.screen {
			data.Token = printable(data.Token)
		}
		_, err = fmt.Fprintln(c.out, data.Token)
		return err
	})
}
