package bearer

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// Wish is a token that somebody asks for. Its Claims say what it is to hold;
// IssuedAt and ID must be zero. It is limited-use with MaxUses, permanent where
// that is set, and otherwise ephemeral.
//
// Without an Issuer it is of the app that the request came through, and without an
// Audience of the tenant. Without Expires an ephemeral token lasts for 15 minutes,
// or until the credential of its maker ends, and any other has no end.
type Wish struct {
	token.Claims
	Permanent bool // with an id, until it is revoked
}

// maxRole is how many bytes a role in a token has at most. Refused before anything
// else is decided: what is in excess is told by its name.
const maxRole = 512

func (w *Wish) ephemeral() bool { return !w.Permanent && w.MaxUses == 0 }

// brief is how long an ephemeral token lasts whose maker can be ended sooner, by
// revocation or by leaving its network.
const brief = 15 * time.Minute

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
	return effective(ctx, t, account, c)
}

func effective(ctx context.Context, t *auth.Tenant, subject *auth.Account, c token.Claims) (scope.Set, error) {
	roles, err := merge(ctx, t, subject.Roles, c.Roles)
	if err != nil {
		return scope.Set{}, err
	}
	claim, err := t.Compile("token", c.Scope)
	if err != nil {
		return scope.Set{}, err
	}
	return withRoles(ctx, t, claim, roles)
}

// Within decides whether a principal may mint a token: by the rule of
// auth.Principal.MayMake, held to what the token may do by Effective. The
// application says whether the minter is an administrator. Mint decides the same
// and signs.
//
//   - A token mints only for its own app. A token with a jti is the parent of the
//     permanent and limited-use tokens it mints, which end with it; the ephemeral
//     ones last for 15 minutes at most.
//   - A credential that is bound to networks mints ephemeral tokens of at most 15
//     minutes, as a token cannot be bound to a network.
//   - A permanent or limited-use token also ends with the account that made it for
//     another, and with the app of a signature that made it. What it makes ends with
//     them, too: so one that an account was given by another mints for these two only.
//   - The subject's own roles are the subject's: no bound is held against them, but
//     for what their chains permit.
//
// The error is an *auth.BeyondError that names what is in excess, an *auth.Error
// that says what is wrong with the claims, or one of Effective. An unknown subject or
// role is an *auth.Error with the Path sub or roles, and wraps auth.ErrNotFound.
func Within(ctx context.Context, by auth.Principal, admin bool, t *auth.Tenant, w Wish) error {
	_, err := decide(ctx, by, admin, t, w, time.Now())
	return err
}

// decide returns the claims that may be minted, complete but for what a Minter
// sets.
func decide(ctx context.Context, by auth.Principal, admin bool, t *auth.Tenant, w Wish, now time.Time) (token.Claims, error) {
	if by.Account == "" || by.Org != t.Org.Code {
		return token.Claims{}, beyond("sub")
	}
	if err := w.complete(by, t, now); err != nil {
		return token.Claims{}, err
	}
	own, err := t.Account(ctx, by.Account) // disabled since: nothing more is minted
	if err != nil {
		return token.Claims{}, err
	}
	// Whoever may not mint this is told so before anything else is looked up: which
	// accounts there are, and which chains a role has, is not for them to learn.
	m := w.making(by, now)
	if w.Subject == by.Account || !admin {
		m.Roles = lacking(own, w.Roles)
	}
	if err := by.MayMake(admin, m); err != nil {
		return token.Claims{}, err
	}
	if !w.ephemeral() && hasTwoMakers(by, w.Subject) {
		return token.Claims{}, beyond("lineage")
	}
	if err := w.vet(ctx, t); err != nil {
		return token.Claims{}, err
	}
	subject, err := t.Account(ctx, w.Subject)
	if err != nil {
		return token.Claims{}, unknown("sub", err)
	}
	if m.Scope, err = effective(ctx, t, subject, w.Claims); err != nil {
		return token.Claims{}, unknown("roles", err) // all else is known by now
	}
	m.Roles = lacking(subject, w.Roles)
	if err := by.MayMake(admin, m); err != nil {
		return token.Claims{}, err
	}
	// The subject's own roles are left out, so that the token does not keep one
	// that the subject loses.
	w.Roles = m.Roles
	if w.Scope == nil && by.Granted.Missing(scope.Unscoped()) != nil {
		w.Scope = []string{} // which bounds it where a claim is a ceiling
	}
	w.IssuedAt = subject.TokensFrom
	return w.Claims, nil
}

// unknown says of what was not found which option named it.
func unknown(option string, err error) error {
	if auth.IsNotFound(err) {
		return &auth.Error{Detail: auth.DetailNotFound, Path: option, Err: err}
	}
	return err
}

func beyond(option string) error {
	return &auth.BeyondError{Excess: []auth.Excess{{Option: option}}}
}

// complete fills in what is left out, and refuses what contradicts itself.
func (w *Wish) complete(by auth.Principal, t *auth.Tenant, now time.Time) error {
	switch {
	case w.Permanent && w.MaxUses != 0:
		return &auth.Error{Detail: auth.DetailOption, Path: "maxUses", Reason: "a permanent token has no use count"}
	case len(w.Roles) > token.MaxRoles:
		return &auth.Error{Detail: auth.DetailOption, Path: "roles", Reason: fmt.Sprintf("at most %d", token.MaxRoles)}
	case slices.ContainsFunc(w.Roles, func(role string) bool { return len(role) > maxRole }):
		return &auth.Error{Detail: auth.DetailOption, Path: "roles", Reason: fmt.Sprintf("at most %d bytes each", maxRole)}
	case w.Audience != "" && w.Audience != t.URL():
		return &auth.Error{Detail: auth.DetailOption, Path: "aud"}
	}
	w.Audience = t.URL()
	if w.Issuer == "" {
		w.Issuer = by.App
	}
	if w.ephemeral() && w.Expires.IsZero() {
		w.Expires = now.Add(brief)
		if !by.Expires.IsZero() && by.Expires.Before(w.Expires) {
			w.Expires = by.Expires
		}
	}
	return nil
}

func (w *Wish) lasts(now time.Time) time.Duration { return w.Expires.Sub(now) }

// making is the token as auth.Principal.MayMake looks at it, without what depends
// on its subject.
func (w *Wish) making(by auth.Principal, now time.Time) auth.Making {
	m := auth.Making{
		Account:       w.Subject,
		App:           w.Issuer,
		Access:        auth.Access{Grant: w.Grant, SkipACL: w.SkipACL, SkipCreateACL: w.SkipCreateACL},
		Claims:        len(w.Extra) > 0,
		Expires:       w.Expires,
		EndsWithMaker: !w.ephemeral() || w.lasts(now) <= brief,
	}
	if w.ephemeral() && w.lasts(now) <= brief {
		m.Networks = by.Networks // stated: from anywhere, but not for long
	}
	return m
}

// vet refuses a scope that cannot be granted, and an app that is not there.
func (w *Wish) vet(ctx context.Context, t *auth.Tenant) error {
	if err := t.Vet("scope", w.Scope); err != nil {
		return err
	}
	if w.Issuer == "" {
		return nil // a Minter does not sign it
	}
	if _, err := t.App(ctx, w.Issuer); auth.IsNotFound(err) {
		return &auth.Error{Detail: auth.DetailUnknownApp, Err: err}
	} else if err != nil {
		return err
	}
	return nil
}

// lacking returns the roles that an account does not have, each once.
func lacking(account *auth.Account, wanted []string) (roles []string) {
	for _, role := range wanted {
		if !slices.Contains(account.Roles, role) && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}
