package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/token"
)

type wish struct {
	Subject   string   `json:"sub"`
	Scope     []string `json:"scope"`
	Roles     []string `json:"roles,omitempty"`
	MaxUses   int64    `json:"maxUses,omitempty"`
	Permanent bool     `json:"permanent,omitempty"`
	ExpiresIn int64    `json:"expiresIn,omitempty"`
}

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
		return c.printSecret(to, minted.Data)
	})
}

func (c cli) verify() *cobra.Command {
	var to connection
	flags := c.flags("verify", &to)
	namespace := flags.String("claim-namespace", "", "`prefix` of the claims that are not of RFC 7519 (default service/)")
	return c.connecting(flags, -1, &to, func(ctx context.Context, args []string) error {
		if err := to.fill(c); err != nil {
			return err
		}
		if len(args) > 1 || to.url == "" {
			return usageError("verify takes one token at most, and needs --url or one of its kind")
		}
		raw, err := c.token(args)
		if err != nil {
			return err
		}
		v := token.Verifier{
			Keys:      &token.PublishedKeys{URL: to.at("/auth/certs/pem"), Base: &to.trace, UnsafePlaintext: true},
			Ledger:    neverRevoked{},
			Namespace: *namespace,
		}
		verified, err := v.Verify(ctx, raw, token.Expect{Audience: to.url})
		if err != nil {
			return err
		}
		if verified.ID() != "" {
			fmt.Fprintln(c.errs, "client: the signature is good; whether the token was revoked or used up only the server knows")
		}
		return c.printJSON(payloadOf(raw), to.json)
	})
}

// token returns the argument, or reads the token from standard input if there is none.
func (c cli) token(args []string) (string, error) {
	if len(args) > 0 && args[0] != "" && args[0] != "-" {
		return args[0], nil
	}
	text, err := io.ReadAll(io.LimitReader(c.in, 64<<10))
	return strings.TrimSpace(string(text)), err
}

// payloadOf decodes the second part of a token. It returns nil if there is none.
// The payload must not be trusted before the token is verified.
func payloadOf(raw string) []byte {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return nil
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil
	}
	return payload
}

// neverRevoked accepts every token with a jti as not revoked. It is not for a
// server: a server asks its ledger.
type neverRevoked struct{}

func (neverRevoked) Spend(context.Context, token.Record) (token.Lineage, error) {
	return token.Lineage{}, nil
}
