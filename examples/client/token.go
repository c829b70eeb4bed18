package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/token"
)

type wish struct {
	Subject   string   `json:"sub"`
	Scope     []string `json:"scope"`
	Roles     []string `json:"roles,omitempty"`
	MaxUses   int64    `json:"maxUses,omitempty"`
	Permanent bool     `json:"permanent,omitempty"`
	ExpiresIn seconds  `json:"expiresIn,omitempty"`
}

func (c cli) mint() *cobra.Command {
	w := wish{Scope: []string{}} // sent as [], never as null
	var app string
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&app, "app", "", "client `key` of the app that issues the token (default: the credential's own)")
		flags.Func("life", "`time` that the token lasts, in whole seconds (default: the server's)", w.ExpiresIn.set)
		flags.StringArrayVar(&w.Scope, "scope", w.Scope, "`chain` of what the token may do; repeat it for more, * is everything")
		flags.StringArrayVar(&w.Roles, "role", nil, "`name` of a role to add; repeat it for more")
		flags.Int64Var(&w.MaxUses, "uses", 0, "`number` of times the token can be used")
		flags.BoolVar(&w.Permanent, "permanent", false, "mint a token that lasts until it is revoked")
	}
	return c.sending("mint", cobra.ExactArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		w.Subject = args[0]
		return c.create(ctx, to, to.app(app)+"/tokens", w)
	})
}

func (c cli) verify() *cobra.Command {
	var namespace string
	define := func(flags *pflag.FlagSet) {
		flags.StringVar(&namespace, "claim-namespace", "", "`prefix` of the claims that are not of RFC 7519 (default service/)")
	}
	return c.connecting("verify", cobra.MaximumNArgs(1), define, func(ctx context.Context, to *connection, args []string) error {
		if err := to.fill(c); err != nil {
			return err
		}
		if to.URL == "" {
			return usageError("verify needs --url or one of its kind")
		}
		raw := first(args)
		if raw == "" || raw == "-" {
			var err error
			if raw, err = c.readSecret(64 << 10); err != nil {
				return err
			}
		}
		v := token.Verifier{
			Keys:      &token.PublishedKeys{URL: to.at("/auth/certs/pem"), Base: &to.trace, UnsafePlaintext: true},
			Ledger:    neverRevoked{},
			Namespace: namespace,
		}
		verified, err := v.Verify(ctx, raw, token.Expect{Audience: to.URL})
		if err != nil {
			return err
		}
		if verified.ID() != "" {
			fmt.Fprintln(c.errs, "client: the signature is good; whether the token was revoked or used up only the server knows")
		}
		claims, err := base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[1])
		if err != nil {
			return err
		}
		return c.printJSON(claims, to.json)
	})
}

// readSecret reads a secret from standard input.
func (c cli) readSecret(most int64) (string, error) {
	text, err := io.ReadAll(io.LimitReader(c.in, most))
	return strings.TrimSpace(string(text)), err
}

// neverRevoked accepts every token with a jti as not revoked. It is not for a
// server: a server asks its ledger.
type neverRevoked struct{}

func (neverRevoked) Spend(context.Context, token.Record) (token.Lineage, error) {
	return token.Lineage{}, nil
}
