package main

import (
	"context"
	"errors"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
)

// issuerFlags are the values of -issuer.
type issuerFlags []*bearer.Issuer

func (f *issuerFlags) String() string { return "" }

// Set reads one value: ORG:NAME=URL,AUDIENCE,JWKS. The name is for whoever reads the
// command line. Without JWKS the URL has an OpenID configuration.
func (f *issuerFlags) Set(text string) error {
	name, rest, found := strings.Cut(text, "=")
	org, label, named := strings.Cut(name, ":")
	parts := strings.Split(rest, ",")
	if !found || !named || org == "" || label == "" || len(parts) < 2 || len(parts) > 3 {
		return errors.New("must be ORG:NAME=URL,AUDIENCE,JWKS")
	}
	issuer := &bearer.Issuer{Org: org, URL: parts[0], Audience: parts[1]}
	if len(parts) == 3 && parts[2] != "" {
		issuer.JWKS = parts[2]
	} else {
		issuer.Discover = true
	}
	issuer.UnsafePlaintext = true // reaches loopback hosts only, where tests have their provider
	*f = append(*f, issuer)
	return nil
}

// with gives the issuers their Map.
func (f issuerFlags) with(s *store) []*bearer.Issuer {
	for _, issuer := range f {
		issuer.Map = s.foreignAccount
	}
	return f
}

// foreignAccount maps a token of another issuer. Its account is the one with the e-mail
// address of the token, if the issuer says that it has verified the address. Otherwise it
// is the one whose id or address is the sub. The token may do what the chains in its claim
// scope permit; other words there, such as openid, mean nothing here. It has no app, so it
// mints nothing.
func (s *store) foreignAccount(ctx context.Context, t *auth.Tenant, f *bearer.Foreign) (bearer.Grant, error) {
	name := f.Text("sub")
	if email := f.Text("email"); email != "" && string(f.Claim("email_verified")) == "true" {
		name = email
	}
	grant := bearer.Grant{Account: name}
	if strings.Contains(name, "@") {
		id, _, err := s.Password(ctx, t.Org.Key(), name)
		if err != nil {
			return bearer.Grant{}, err
		}
		grant.Account = id
	}
	for _, word := range strings.Fields(f.Text("scope")) {
		if t.Vet("scope", []string{word}) == nil {
			grant.Scope = append(grant.Scope, word)
		}
	}
	return grant, nil
}
