package bearer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// errRefused is the error for a genuine token that is not valid here: its app or account is gone,
// disabled or another org's. Clients cannot tell such a token from a forged one.
var errRefused = errors.New("bearer: token refused")

// attempt is the state of one request with a token whose signature is right.
type attempt struct {
	tenant *auth.Tenant
	roles  []string
	scope  scope.Set

	maker, makerApp string // set if they differ from its subject and its issuer
}

// admit decides whether a genuine token is valid in this org, and sets its roles and scope. It
// runs before a use is spent, so that a failure of the directory costs no use.
func (a *attempt) admit(ctx context.Context, v *token.Verified) (err error) {
	if _, err := a.tenant.App(ctx, v.Issuer()); err != nil {
		return refuse(err)
	}
	if err := a.enter(ctx, v.Subject(), v.IssuedAt(), v.Roles()); err != nil {
		return err
	}
	claim, claimed := v.Scope()
	a.scope, err = withRoles(ctx, a.tenant, claim, claimed, a.roles)
	return err
}

// enter checks the account of a token, and sets the roles.
func (a *attempt) enter(ctx context.Context, id string, issued time.Time, added []string) error {
	account, err := a.tenant.Account(ctx, id)
	if err != nil {
		return refuse(err)
	}
	if issued.Before(account.TokensFrom) {
		return fmt.Errorf("%w: signed before the account's tokens begin", errRefused)
	}
	if a.roles, err = mergeRoles(ctx, a.tenant, account.Roles, added); err != nil {
		return refuse(err)
	}
	return nil
}

// checkMakers refuses a token if one of its makers is gone. The ledger checks the token that made
// it.
func (a *attempt) checkMakers(ctx context.Context, v *token.Verified, by token.Lineage) error {
	r := token.Record{ClientKey: v.Issuer(), Subject: v.Subject(), Issued: v.IssuedAt(), Lineage: by}
	if err := made(ctx, a.tenant, r); err != nil {
		return refuse(err)
	}
	if by.MakerApp != r.ClientKey {
		a.makerApp = by.MakerApp
	}
	if by.Maker != r.Subject {
		a.maker = by.Maker
	}
	return nil
}

func (a *attempt) principal(v *token.Verified) auth.Principal {
	return auth.Principal{
		Org:       a.tenant.Org.Key(),
		App:       v.Issuer(),
		Account:   v.Subject(),
		Caller:    v.Subject(),
		Mechanism: Name,
		Roles:     a.roles,
		Scope:     a.scope,
		Granted:   a.scope,
		Access: auth.Access{
			Grant:         v.Grant(),
			SkipACL:       v.SkipACL(),
			SkipCreateACL: v.SkipCreateACL(),
		},
		TokenID:  v.ID(),
		TokenKey: v.KeyID(),
		Maker:    a.maker,
		MakerApp: a.makerApp,
		Expires:  v.Expires(),
		Limited:  v.MaxUses() > 0,
	}
}

// mergeRoles returns the roles of the subject and those that the token adds, each once, in a new
// slice. A role that the token names must exist.
func mergeRoles(ctx context.Context, t *auth.Tenant, subject, added []string) ([]string, error) {
	roles := slices.Clone(subject)
	if len(added) == 0 {
		return roles, nil
	}
	if err := checkRoles(ctx, t, added); err != nil {
		return nil, err
	}
	for _, name := range added {
		if !slices.Contains(roles, name) {
			roles = append(roles, name)
		}
	}
	return roles, nil
}

func checkRoles(ctx context.Context, t *auth.Tenant, names []string) error {
	known, err := t.Roles(ctx, names)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(known, func(r auth.Role) bool { return r.Name == name }) {
			return fmt.Errorf("bearer: no such role: %w", auth.ErrNotFound)
		}
	}
	return nil
}

// withRoles adds the chains of the roles to those of the claim, unless the claim is a ceiling.
// Requests and minting both decide by it.
func withRoles(ctx context.Context, t *auth.Tenant, claim scope.Set, claimed bool, roles []string) (scope.Set, error) {
	if len(roles) == 0 || claimed && t.Settings().Ceiling {
		return claim, nil
	}
	set, err := t.RoleScope(ctx, roles)
	if err != nil {
		return scope.Set{}, err
	}
	return claim.Union(set), nil
}

// refuse separates "there is none" from "the directory did not answer".
func refuse(err error) error {
	if auth.IsNotFound(err) {
		return fmt.Errorf("%w: %w", errRefused, err)
	}
	return err
}
