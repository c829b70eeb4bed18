package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenantkit/tenantkit/token"
)

// verify prints the claims of a valid token.
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

// token returns the argument, or reads the token from standard input if there is
// none.
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

// Spend implements token.Spender.
func (neverRevoked) Spend(context.Context, token.Record) (token.Lineage, error) {
	return token.Lineage{}, nil
}
