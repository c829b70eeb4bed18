package bearer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// Wish is a token that somebody requests. Its Claims are the claims of the token; IssuedAt and ID
// must be zero. The token is limited-use if MaxUses is set, permanent if Permanent is set, and
// otherwise ephemeral.
//
// The default Issuer is the app that the request came through. The default Audience is the
// tenant. The default Expires of an ephemeral token is in 15 minutes, or at the end of its
// maker's credential if that is earlier. Any other token has no end by default.
type Wish struct {
	token.Claims
	Permanent bool   // with an id; valid until it is revoked
	Name      string // of a permanent or limited-use token: see token.Lineage
}

// maxRole is the greatest length of a role in a token, in bytes. Longer ones are refused before
// anything is decided, because a refusal names the roles in excess.
const maxRole = 512

func (w *Wish) ephemeral() bool { return !w.Permanent && w.MaxUses == 0 }

func (w *Wish) kind() string {
	switch {
	case w.MaxUses != 0:
		return "limited"
	case w.Permanent:
		return "permanent"
	}
	return "ephemeral"
}

// brief is the longest life of an ephemeral token whose maker's credential can be revoked or is
// limited to networks.
const brief = 15 * time.Minute

// effective returns what a token with these claims may do in the tenant's org. That is the union
// of the chains of the claim, of the subject's roles, and of the roles that the token adds. With
// auth.Guard.Ceiling it is only the chains of the claim, unless the claim is nil.
//
// The error wraps auth.ErrNotFound for an unknown added role. It joins a *scope.SyntaxError for
// each chain that does not parse. Any other error is one of the directory.
func effective(ctx context.Context, t *auth.Tenant, subject *auth.Account, c token.Claims) (scope.Set, error) {
	roles, err := admission.MergeRoles(ctx, t, subject.Roles, c.Roles)
	if err != nil {
		return scope.Set{}, err
	}
	claim, err := t.Compile("token", c.Scope)
	if err != nil {
		return scope.Set{}, err
	}
	return admission.WithRoles(ctx, t, claim, c.Scope != nil, roles)
}

// decide decides whether a principal may mint a token, and returns the claims that may be minted. A
// Minter sets the rest. It applies the rule of auth.Principal.MayMake to the effective scope.
//
//   - A token mints only for its own app. A token of another issuer has the app of its Grant, and
//     mints nothing without one. It mints only ephemeral tokens of at most 15 minutes, because
//     nobody here learns when its issuer revokes it. So does an API key, whose end a ledger does
//     not learn of. A token with a jti is the parent of the permanent and
//     limited-use tokens it mints, and these end with it. The ephemeral tokens it mints last for
//     15 minutes at most.
//   - A credential that is limited to networks mints only ephemeral tokens of at most 15 minutes,
//     because a token cannot be limited to a network.
//   - A permanent or limited-use token also ends with its makers. These are the account that made
//     it for another account, and the app whose signature made it. What it makes also ends with
//     its makers. So a token that A made for B may mint such tokens for A and B only.
//   - The subject may keep its own roles. Only what their chains permit is checked.
func decide(ctx context.Context, by auth.Principal, t *auth.Tenant, w Wish, now time.Time) (token.Claims, error) {
	if by.Account == "" || by.Org != t.Org.Key() {
		return token.Claims{}, admission.Beyond("sub")
	}
	foreign := by.Mechanism == admission.Issuer || by.Mechanism == admission.APIKey // to the ledger
	if foreign && by.App == "" {
		return token.Claims{}, admission.Beyond("app") // as a token it mints for its own app only, and has none
	}
	if err := w.complete(by, t, now); err != nil {
		return token.Claims{}, err
	}
	if foreign && !w.isBrief(now) {
		return token.Claims{}, admission.Beyond("expires") // it would outlive the issuer's key, or the API key
	}
	own, err := t.Account(ctx, by.Account) // disabled since: nothing more is minted
	if err != nil {
		return token.Claims{}, err
	}
	// Refuse whoever may not mint this before any further look-up. They must not learn which
	// accounts exist, or which chains a role has.
	m := w.making(by, now)
	if w.Subject == by.Account {
		m.Roles = lacking(own, w.Roles)
	}
	if by.MayMake(m) != nil {
		m.Roles = lacking(own, w.Roles) // whose excess is named, too
		return token.Claims{}, by.MayMake(m)
	}
	if !w.ephemeral() && hasTwoMakers(by, w.Subject) {
		return token.Claims{}, admission.Beyond("lineage")
	}
	if err := w.vet(ctx, t); err != nil {
		return token.Claims{}, err
	}
	subject, err := t.Account(ctx, w.Subject)
	if err != nil {
		return token.Claims{}, admission.Missing(auth.DetailNotFound, "sub", err)
	}
	if w.Scope == nil && by.Granted.Missing(scope.Unscoped()) != nil {
		w.Scope = []string{} // which bounds it where a claim is a ceiling
	}
	if m.Scope, err = effective(ctx, t, subject, w.Claims); err != nil {
		return token.Claims{}, admission.Missing(auth.DetailNotFound, "roles", err) // everything else is known by now
	}
	m.Roles = lacking(subject, w.Roles)
	if err := by.MayMake(m); err != nil {
		return token.Claims{}, err
	}
	// Omit the subject's own roles, so that the token does not keep a role that the subject
	// loses.
	w.Roles = m.Roles
	w.IssuedAt = subject.TokensFrom
	return w.Claims, nil
}

// complete sets the defaults, and refuses options that contradict each other.
func (w *Wish) complete(by auth.Principal, t *auth.Tenant, now time.Time) error {
	switch {
	case w.Permanent && w.MaxUses != 0:
		return &auth.Error{Detail: auth.DetailOption, Path: "maxUses", Reason: "a permanent token has no use count"}
	case w.Name != "" && w.ephemeral():
		return &auth.Error{Detail: auth.DetailOption, Path: "name", Reason: "only a token with an id has a name"}
	case len(w.Roles) > token.MaxRoles:
		return &auth.Error{Detail: auth.DetailOption, Path: "roles", Reason: fmt.Sprintf("at most %d", token.MaxRoles)}
	case slices.ContainsFunc(w.Roles, func(role string) bool { return len(role) > maxRole }):
		return &auth.Error{Detail: auth.DetailOption, Path: "roles", Reason: fmt.Sprintf("at most %d bytes each", maxRole)}
	case compact.TooLong(w.Scope):
		return &auth.Error{Detail: auth.DetailInvalidScope, Path: "scope", Reason: "a token has at most 8 KiB"}
	case w.Audience != "" && w.Audience != t.URL():
		return &auth.Error{Detail: auth.DetailOption, Path: "aud"}
	}
	w.Audience, w.Issuer = t.URL(), cmp.Or(w.Issuer, by.App)
	if w.ephemeral() && w.Expires.IsZero() {
		w.Expires = clock.FirstEnd(now.Add(brief), by.Expires)
	}
	return nil
}

func (w *Wish) isBrief(now time.Time) bool { return w.ephemeral() && w.Expires.Sub(now) <= brief }

// making returns the token as a Making, without what depends on its subject.
func (w *Wish) making(by auth.Principal, now time.Time) auth.Making {
	m := auth.Making{
		Account:       w.Subject,
		App:           w.Issuer,
		Access:        auth.Access{Grant: w.Grant, SkipACL: w.SkipACL, SkipCreateACL: w.SkipCreateACL},
		Claims:        len(w.Extra) > 0,
		Expires:       w.Expires,
		EndsWithMaker: !w.ephemeral() || w.isBrief(now),
	}
	if w.isBrief(now) {
		m.Networks = by.Networks // the token works from any network, but only briefly
	}
	return m
}

// vet refuses a scope that cannot be granted, and an unknown app.
func (w *Wish) vet(ctx context.Context, t *auth.Tenant) error {
	if err := t.Vet("scope", w.Scope); err != nil {
		return err
	}
	if w.Issuer == "" {
		return nil // a Minter does not sign it
	}
	_, err := t.App(ctx, w.Issuer)
	return admission.Missing(auth.DetailUnknownApp, "", err)
}

// lacking returns the wanted roles that an account does not have, each once.
func lacking(account *auth.Account, wanted []string) (roles []string) {
	for _, role := range wanted {
		if !slices.Contains(account.Roles, role) && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}
