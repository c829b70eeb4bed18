package oauth

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// grant is the reply of the token endpoint (RFC 6749, section 5.1).
type grant struct {
	Token     string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int64  `json:"expires_in,omitempty"` // seconds; left out if the token has no end
	Scope     string `json:"scope"`
	Refresh   string `json:"refresh_token,omitempty"` // the token itself
}

func granted(t *auth.Tenant, signed token.Token, c token.Claims) grant {
	g := grant{Token: string(signed), Type: "Bearer", Scope: scopeText(c.Scope)}
	if !c.Expires.IsZero() {
		g.ExpiresIn = int64(c.Expires.Sub(t.Now()).Seconds())
	}
	return g
}

// refresh renews a permanent or limited-use token of the asking client (RFC 6749, section 6). For those
// of others and for what is no such token, the reply is the same.
func (a asked) refresh(ctx context.Context) (any, error) {
	switch {
	case !a.form.has("refresh_token"):
		return nil, invalidRequest("refresh_token is missing")
	case a.form.has("scope"):
		return nil, refuse(auth.DetailInvalidScope, codeScope, "the token keeps its scope", nil)
	}
	raw := a.form["refresh_token"]
	record, err := a.bearer.Record(ctx, raw, a.tenant)
	if err == nil && record.ClientKey != a.client.App {
		err = &auth.Error{Detail: auth.DetailInvalidToken, Err: errors.New("oauth: a token of another client")}
	}
	var signed token.Token
	var claims token.Claims
	if err == nil {
		signed, claims, err = a.bearer.RenewToken(ctx, a.tenant, raw, bearer.Less{})
	}
	switch {
	case refused(err):
		return nil, refuse(auth.DetailInvalidToken, codeInvalidGrant, "the token cannot be renewed", err)
	case err != nil:
		return nil, err
	}
	g := granted(a.tenant, signed, claims)
	g.Refresh = g.Token
	return g, nil
}

// mint answers a request for a token by client credentials (RFC 6749, section 4.4), or by a token.
func (s *Server) mint(ctx context.Context, a asked) (any, error) {
	switch resource := a.form["resource"]; {
	case !slices.Contains(a.grants(), a.form["grant_type"]):
		return nil, refuse(auth.DetailOption, codeGrant, "only "+strings.Join(a.grants(), " and "), nil)
	case resource != "" && resource != a.tenant.URL():
		return nil, refuse(auth.DetailOption, codeTarget, "the resource must be the issuer", nil)
	}
	if s.Permit != nil {
		if err := s.Permit(ctx, a.client); err != nil {
			return nil, err
		}
	}
	if a.form["grant_type"] == grantRefresh {
		return a.refresh(ctx)
	}
	wanted, err := a.wanted()
	if err != nil {
		return nil, err
	}
	wish := bearer.Wish{Claims: token.Claims{Subject: a.client.Account, Scope: wanted}}
	signed, claims, err := a.bearer.Mint(ctx, a.client, a.tenant, wish)
	if err != nil {
		return nil, unminted(err)
	}
	return granted(a.tenant, signed, claims), nil
}

// wanted returns the chains that the client asks for. By default these are all it may grant.
func (a asked) wanted() ([]string, error) {
	if !a.form.has("scope") {
		return texts(a.client.Granted), nil
	}
	chains := strings.Split(a.form["scope"], " ")
	// Before or after a blank too many there is an empty text. As a chain it would be everything.
	if slices.Contains(chains, "") {
		return nil, refuse(auth.DetailInvalidScope, codeScope, "one blank between two chains, and no other", nil)
	}
	return chains, nil
}

// maxScope is the greatest length of a scope in a reply, in bytes. Roles have no bound of their own.
const maxScope = 64 << 10

// texts returns the chains of a Set, each once, as long as they are a scope of at most maxScope. No
// token can have as many. The chain that grants everything is *.
func texts(s scope.Set) []string {
	all, seen, length := []string{}, map[string]bool{}, 0
	for chain := range s.Chains() {
		if seen[chain] {
			continue
		}
		seen[chain] = true
		if length += len(chain) + len(" "); length > maxScope {
			break
		}
		all = append(all, chain)
	}
	return all
}

// scopeText returns chains as OAuth writes them (RFC 6749, section 3.3), where no scope is empty.
func scopeText(chains []string) string {
	named := make([]string, len(chains))
	for i, chain := range chains {
		named[i] = cmp.Or(chain, "*")
	}
	return strings.Join(named, " ")
}

// unminted returns the error for the client of one of bearer.Mechanism.Mint.
func unminted(err error) error {
	e, ok := errors.AsType[*auth.Error](err)
	switch {
	case errors.Is(err, auth.ErrUnavailable):
		return err
	case ok && e.Detail == auth.DetailDelegation && e.Faults[0].Path == "scope":
		return refuse(auth.DetailInvalidScope, codeScope, "beyond the client: "+e.Faults[0].Reason, err)
	case ok && e.Detail == auth.DetailDelegation:
		return refuse(e.Detail, codeUnauthorized, "the client may not mint", err)
	case ok && e.Detail == auth.DetailInvalidScope:
		return refuse(e.Detail, codeScope, "a chain is malformed, or can match nothing", err)
	case ok && e.Detail == auth.DetailNoKeyPair:
		return refuse(e.Detail, codeUnauthorized, "the client has no key pair", err)
	case ok && e.Detail == auth.DetailOption:
		return refuse(e.Detail, codeRequest, "such a token cannot be signed", err)
	case ok && e.Detail == auth.DetailUnknownApp, auth.IsNotFound(err):
		return invalidClient(err) // it was ended meanwhile
	}
	return err
}
