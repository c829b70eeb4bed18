// Package brand gives a server its own names on the wire. Headers begin with
// X-Acme-, token claims with acme/, and fault codes with acme.
//
// A server sets its brand in one place, Guard.Brand, and its mechanisms follow. The
// Transport of a client and the Minter of tokens work without a Guard, so each of
// them has a field for it. The session.Manager names the cookies.
//
// A change of the brand breaks the clients of a running server and voids its
// tokens: claims are found under their new names only.
package brand

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// Acme is the brand, for the server and for everything that mints tokens for it.
var Acme = auth.Brand{Header: "X-Acme-", Claims: "acme/", Faults: "acme"}

// NewGuard returns a Guard that accepts signed requests and tokens under the brand.
func NewGuard(baseURL string, d auth.Directory, c signature.Credentials, tokens *bearer.Mechanism) *auth.Guard {
	return &auth.Guard{
		BaseURL:   baseURL,
		Brand:     Acme,
		Directory: d,
		Roles:     auth.RolesLimit,
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: c, Replays: signing.NewMemory(1_000_000)},
			tokens,
		},
	}
}

// NewClient returns a client that signs requests under the brand.
func NewClient(baseURL, clientKey string, secret signing.Secret) *http.Client {
	return &http.Client{Transport: &signing.Transport{
		BaseURL:   baseURL,
		ClientKey: clientKey,
		Secret:    secret,
		Header:    Acme.Header,
	}}
}
