// Package brand gives a server its own names on the wire: headers that begin
// with X-Acme-, token claims with acme/, and fault codes with acme.
//
// A server says so in one place, Guard.Brand, and its mechanisms follow. What
// works without a Guard has a field of its own: the Transport of a client, and
// the Minter of tokens. Cookies are named by the session.Manager.
//
// To change the brand of a server that is in use breaks its clients and voids
// its tokens: the claims are found under their new names only.
package brand

import (
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// Acme is the brand, for the server and whoever mints for it.
var Acme = auth.Brand{Header: "X-Acme-", Claims: "acme/", Faults: "acme"}

// NewGuard takes signed requests and tokens under the brand.
func NewGuard(baseURL string, d auth.Directory, c signature.Credentials, keys token.Keys) *auth.Guard {
	return &auth.Guard{
		BaseURL:   baseURL,
		Brand:     Acme,
		Directory: d,
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: c, Replays: signing.NewMemory(1_000_000)},
			&bearer.Mechanism{Verifier: &token.Verifier{Keys: keys}},
		},
	}
}

// NewClient signs requests under the brand.
func NewClient(baseURL, clientKey string, secret signing.Secret) *http.Client {
	return &http.Client{Transport: &signing.Transport{
		BaseURL:   baseURL,
		ClientKey: clientKey,
		Secret:    secret,
		Header:    Acme.Header,
	}}
}

// NewMinter signs tokens under the brand.
func NewMinter(signers token.Signers) *token.Minter {
	return &token.Minter{Signers: signers, Namespace: Acme.Claims}
}
