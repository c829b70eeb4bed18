package main

import (
	"context"
	"errors"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/issuer"
)

type issuerFlags []*issuer.Issuer

func (f *issuerFlags) String() string { return "" }

// Set reads one value: ORG:NAME=URL,AUDIENCE,JWKS. The name is for whoever reads the
// command line. Without JWKS the URL has an OpenID configuration.
func (f *issuerFlags) Set(text string) error {
	name, rest, found := strings.Cut(text, "=")
	org, label, named := strings.Cut(name, ":")
	url, rest, hasAudience := strings.Cut(rest, ",")
	audience, jwks, _ := strings.Cut(rest, ",")
	if !found || !named || !hasAudience || org == "" || label == "" || strings.Contains(jwks, ",") {
		return errors.New("must be ORG:NAME=URL,AUDIENCE,JWKS")
	}
	one := &issuer.Issuer{Org: auth.OrgKey(org), URL: url, Audience: audience, JWKS: jwks, Discover: jwks == "", Map: foreignAccount}
	one.UnsafePlaintext = true // reaches loopback hosts only, where tests have their provider
	*f = append(*f, one)
	return nil
}

func (o options) beside(own ...auth.Mechanism) []auth.Mechanism {
	if len(o.issuers) == 0 {
		return own
	}
	return append(own, &issuer.Mechanism{Issuers: o.issuers})
}

// foreignAccount maps a token of another issuer to the account whose id is its sub. An
// e-mail address must not choose the account: anybody can register here with an address
// that is not theirs. The token may do what the chains in its claim scope permit; other
// words there, such as openid, mean nothing here. It has no app, so it mints nothing.
func foreignAccount(_ context.Context, t *auth.Tenant, f *issuer.Foreign) (issuer.Identity, error) {
	grant := issuer.Identity{Account: f.Text("sub")}
	for _, word := range strings.Fields(f.Text("scope")) {
		if t.Vet("scope", []string{word}) == nil {
			grant.Scope = append(grant.Scope, word)
		}
	}
	return grant, nil
}
