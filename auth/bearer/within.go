package bearer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// Effective returns what a token with these claims may do in the tenant's org:
// the chains of the claim, of the subject's roles, and of the roles it adds.
//
// The error wraps auth.ErrNotFound for an unknown subject or added role, joins a
// *scope.SyntaxError for each chain that does not parse, and is a directory's
// otherwise.
func Effective(ctx context.Context, t *auth.Tenant, c token.Claims) (scope.Set, error) {
	account, err := t.Account(ctx, c.Subject)
	if err != nil {
		return scope.Set{}, err
	}
	roles, err := merge(ctx, t, account.Roles, c.Roles)
	if err != nil {
		return scope.Set{}, err
	}
	claim, err := t.Compile("token", c.Scope)
	if err != nil {
		return scope.Set{}, err
	}
	return withRoles(ctx, t, claim, roles)
}

// Within decides whether a principal may mint a token with these claims, whose
// Expires must be set as it is going to be signed; zero means that the token
// never expires. The application says whether the minter is an administrator.
//
//   - Only an administrator mints for another account, with a grant or a skip
//     flag, with claims of the embedder's own, with a role that the subject
//     lacks, or, by a token, for another app than the token's.
//   - What the token may do, by Effective, must be covered by what the minter was
//     granted, even where a view runs without scope.
//   - A token mints nothing that ends later, or has a grant, a skip flag or a
//     role that it lacks itself; administrators' tokens neither. A limited-use
//     token mints nothing.
//
// The subject's own roles are the subject's: no ceiling is held against them,
// only what their chains permit. App and audience must be the tenant's.
//
// The error is a *BeyondError that names what is in excess, up to 32 things, an
// *auth.Error that says what is wrong with the claims, or one of Effective.
func Within(ctx context.Context, by auth.Principal, admin bool, t *auth.Tenant, c token.Claims) error {
	if by.Account == "" || by.Org != t.Org.Code {
		return &BeyondError{Excess: []Excess{{Option: "sub"}}}
	}
	if len(c.Roles) > token.MaxRoles {
		return &auth.Error{Detail: auth.DetailOption, Path: "roles", Reason: fmt.Sprintf("at most %d", token.MaxRoles)}
	}
	own, err := t.Account(ctx, by.Account) // disabled since: nothing more is minted
	if err != nil {
		return err
	}
	var b BeyondError
	if by.Mechanism == Name {
		b.bearer(by, c)
	}
	if !admin {
		b.ordinary(by, own, c)
		if len(b.Excess) > 0 {
			// Whoever may not mint this is told so before anything else is looked
			// up: which accounts there are, and which chains a role has, is not
			// for them to learn.
			return &b
		}
	}
	if err := t.Vet(c.Scope); err != nil {
		return scopeFault(err)
	}
	if err := here(ctx, t, c); err != nil {
		return err
	}
	effective, err := Effective(ctx, t, c)
	if err != nil {
		return err
	}
	for _, chain := range by.Granted.Missing(effective) {
		b.add(true, "scope", chain.String())
	}
	if len(b.Excess) == 0 {
		return nil
	}
	return &b
}

// here refuses claims that name another org's app or audience.
func here(ctx context.Context, t *auth.Tenant, c token.Claims) error {
	if c.Audience != "" && c.Audience != t.URL() {
		return &auth.Error{Detail: auth.DetailOption, Path: "aud"}
	}
	if c.Issuer == "" {
		return nil // a Minter does not sign it
	}
	if _, err := t.App(ctx, c.Issuer); errors.Is(err, auth.ErrNotFound) {
		return &auth.Error{Detail: auth.DetailUnknownApp, Err: err}
	} else if err != nil {
		return err
	}
	return nil
}

// BeyondError says in what a token would exceed its minter.
type BeyondError struct {
	Excess []Excess
}

// Excess is one thing in which a token would exceed its minter.
type Excess struct {
	Option string // sub, app, scope, roles, grant, skipAcl, bypassCreateAcl, claims, expires or maxUses
	Value  string // the chain or the role, empty for others
}

// ordinary holds the claims against an account that is no administrator.
func (b *BeyondError) ordinary(by auth.Principal, own *auth.Account, c token.Claims) {
	b.add(c.Subject != by.Account, "sub", "")
	b.add(c.SkipACL, "skipAcl", "")
	b.add(c.SkipCreateACL, "bypassCreateAcl", "")
	b.add(c.Grant != 0, "grant", "")
	// Signed with the app's key, they are the app's word to whoever reads them.
	b.add(len(c.Extra) > 0, "claims", "")
	b.add(by.Mechanism == Name && c.Issuer != "" && c.Issuer != by.App, "app", "")
	b.roles(own.Roles, c.Roles)
}

// bearer holds the claims against the token that the minter presented.
func (b *BeyondError) bearer(by auth.Principal, c token.Claims) {
	b.add(by.Limited, "maxUses", "")
	b.add(!by.Expires.IsZero() && (c.Expires.IsZero() || c.Expires.After(by.Expires)), "expires", "")
	b.add(by.TokenID == "" && c.Expires.IsZero(), "expires", "") // a foreign ephemeral token may have none
	b.add(c.SkipACL && !by.SkipACL, "skipAcl", "")
	b.add(c.SkipCreateACL && !by.SkipCreateACL, "bypassCreateAcl", "")
	b.add(c.Grant > by.Grant, "grant", "")
	b.roles(by.Roles, c.Roles)
}

func (b *BeyondError) roles(held, wanted []string) {
	for _, role := range wanted {
		b.add(!slices.Contains(held, role), "roles", role)
	}
}

// maxExcess bounds what a refusal names: a scope can be beyond in a thousand
// chains.
const maxExcess = 32

func (b *BeyondError) add(beyond bool, option, value string) {
	if e := (Excess{option, value}); beyond && len(b.Excess) < maxExcess && !slices.Contains(b.Excess, e) {
		b.Excess = append(b.Excess, e)
	}
}

func (b *BeyondError) Error() string {
	names := make([]string, len(b.Excess))
	for i, e := range b.Excess {
		names[i] = strings.TrimSpace(e.Option + " " + e.Value)
	}
	return "bearer: the token would exceed its minter: " + strings.Join(names, ", ")
}

// Fault makes auth.Fail answer with what is in excess, one child for each.
func (b *BeyondError) Fault() *envelope.Fault {
	e := &auth.Error{Detail: auth.DetailDelegation}
	for _, x := range b.Excess {
		e.Faults = append(e.Faults, &auth.Error{Detail: auth.DetailDelegation, Path: x.Option, Reason: x.Value})
	}
	return e.Fault()
}
