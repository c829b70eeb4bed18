package enginetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// principal is the holder of a token, a signing key or a session, with the settings that its maker
// gave it.
type principal struct {
	how     string     // how it was made, for reports
	maker   *principal // nil: the administrator
	depth   int        // number of its makers, up to the administrator
	minted  bool       // made by a request that makes tokens
	apiKey  bool       // token is an API key
	standIn bool       // a token of the administrator that shows what an account or a role can do

	token  string // one of these three, except for the key of an app
	cookie string
	app    app    // for a token, the app of its key
	as     string // account header of a signature; empty: none

	account       string
	administrator bool
	claims        tokenClaims
	scope         []string  // nil: everything
	ends          time.Time // zero: never
	networks      []string  // nil: everywhere

	changed bool // its own credential was changed: it makes nothing more
	seen    record
}

// tokenClaims are the claims of a token (section 2.3 of the interface) that these tests need.
type tokenClaims struct {
	Issuer  string   `json:"iss"`
	Subject string   `json:"sub"`
	Expires int64    `json:"exp"`
	Issued  int64    `json:"iat"`
	ID      string   `json:"jti"`
	Scope   []string `json:"service/scp"`
	Roles   []string `json:"service/rls"`
	Uses    int64    `json:"service/cnt"`
	Tier    string   `json:"tier"` // a custom claim
}

// claimsOf reads the claims of a token, as everybody can.
func claimsOf(token string) (c tokenClaims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c, fmt.Errorf("a token of %d parts", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err == nil {
		err = json.Unmarshal(payload, &c)
	}
	return c, err
}

// newBearer returns the holder of a token.
func (r *round) newBearer(maker *principal, how, token string) *principal {
	c, err := claimsOf(token)
	if err != nil {
		r.t.Errorf("%s: %v", how, err)
		return nil
	}
	p := &principal{how: how, maker: maker, minted: true, token: token, account: c.Subject, claims: c, scope: c.Scope}
	p.app.key = c.Issuer
	if c.Expires != 0 {
		p.ends = time.Unix(c.Expires, 0)
	}
	if p.scope == nil {
		p.scope = []string{}
	}
	roles := slices.Concat(c.Roles, r.rolesOf[c.Subject])
	p.administrator = slices.Contains(roles, administrator)
	return p
}

// newSigner returns the holder of the secret of an app.
func (r *round) newSigner(maker *principal, how string, a app, c credential) *principal {
	p := &principal{how: how, maker: maker, app: a, account: c.account, scope: c.scope, ends: c.notAfter, networks: c.networks}
	if p.account == "" && len(c.accounts) > 0 {
		p.account, p.as = c.accounts[0], c.accounts[0]
	}
	p.administrator = slices.Contains(r.rolesOf[p.account], administrator)
	return p
}

func (p *principal) mechanism() string {
	switch {
	case p.standIn:
		return "account or role"
	case p.cookie != "":
		return "session"
	case p.apiKey:
		return "API key"
	case p.app.secret != "":
		return "signature"
	case p.claims.Uses > 0:
		return "limited-use token"
	case p.claims.ID != "":
		return "permanent token"
	}
	return "ephemeral token"
}

// isKept reports whether the server has a record of the token.
func (p *principal) isKept() bool { return p.claims.ID != "" }

func (p *principal) signs() bool { return p.app.secret != "" }

// isBound reports whether anything besides its account limits the principal.
func (p *principal) isBound() bool {
	return !p.ends.IsZero() || p.networks != nil || p.claims.Uses > 0 || p.scope != nil && !slices.Contains(p.scope, "")
}

// wish returns a request of the principal.
func (p *principal) wish(f *fleet, method, path, body string) wish {
	header := http.Header{}
	switch {
	case p.cookie != "":
		header.Set("Cookie", p.cookie)
	case p.signs():
		header = f.signedBy(p.app.key, p.app.secret, method, path, body).header
		if p.as != "" {
			header.Set("Service-Client-Account", p.as)
		}
	default:
		header.Set("Authorization", "Bearer "+p.token)
	}
	return wish{method, path, body, header}
}

// String tells how the principal was made, the latest request first.
func (p *principal) String() string {
	text := p.mechanism() + " by " + p.how
	if p.maker != nil {
		text += "\n\t\tmade by " + p.maker.String()
	}
	return text
}

// credential holds the settings of a signing key when an app is made.
type credential struct {
	account  string // the account that it acts as; empty: needs an account header
	accounts []string
	notAfter time.Time
	networks []string
	scope    []string // nil: everything
}

func unbound(account string) credential { return credential{account: account} }

// body names all settings, so that it also works for a change. Null removes a limit.
func (c credential) body(known knownRoutes) map[string]any {
	body := map[string]any{"account": nil, "accounts": []string{}, "notAfter": nil, "networks": nil}
	if c.account != "" {
		body["account"] = c.account
	}
	if c.accounts != nil {
		body["accounts"] = c.accounts
	}
	if !c.notAfter.IsZero() {
		body["notAfter"] = inJSON(c.notAfter)
	}
	if c.networks != nil {
		body["networks"] = c.networks
	}
	switch {
	case c.scope != nil:
		body["scope"] = c.scope
	case known.scopes:
		body["scope"] = nil
	}
	return body
}

// inJSON formats a time as in bodies.
func inJSON(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
