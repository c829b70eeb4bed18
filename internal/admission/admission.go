// Package admission has what the mechanisms of bearer tokens share: package bearer for tokens of
// this server's apps, package issuer for those of others, and package apikey. It reads the Authorization header, and
// admits the account that a genuine token names.
package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// The names of the mechanisms.
const (
	Bearer = "bearer"
	Issuer = "issuer"
	APIKey = "apikey"
)

const scheme = "bearer"

// Presented reports whether a header has the scheme Bearer, which is case-insensitive (RFC 9110,
// section 11.1). Credential refuses what is malformed after it.
func Presented(authorization []string) bool {
	return slices.ContainsFunc(authorization, func(value string) bool {
		return len(value) >= len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) &&
			(len(value) == len(scheme) || value[len(scheme)] == ' ' || value[len(scheme)] == '\t')
	})
}

// Credential reads the token, and the client key that may be sent with it.
func Credential(authorization, clientKeys []string) (raw, clientKey string, err error) {
	if len(authorization) > 1 || len(clientKeys) > 1 {
		return "", "", &auth.Error{Detail: auth.DetailAmbiguous}
	}
	// Accept exactly one space. One reader might skip other characters, and another might read
	// them as a part of the token. Who verifies it refuses further spaces.
	raw, found := strings.CutPrefix(authorization[0][len(scheme):], " ")
	if !found {
		return "", "", &auth.Error{Detail: auth.DetailInvalidToken, Err: errors.New("bearer: malformed Authorization header")}
	}
	if slices.Contains(clientKeys, "") {
		// The client sent an empty key, but "" elsewhere means that none was sent.
		return "", "", &auth.Error{Detail: auth.DetailKeyMismatch}
	}
	return raw, strings.Join(clientKeys, ""), nil // of one or none
}

// Owner is a mechanism that has the tokens of some issuers, or the keys of some prefixes. All others
// are those of package bearer.
type Owner interface {
	Name() string

	// Owns reports whether the token has the iss of an issuer of the org, or the key a prefix. It
	// verifies nothing.
	Owns(org auth.OrgKey, raw string) bool
}

// OwnerOf returns the name of the mechanism of a Guard that owns a token, or "".
func OwnerOf(s *auth.Settings, org auth.OrgKey, raw string) string {
	for _, m := range s.Mechanisms {
		if o, ok := m.(Owner); ok && o.Owns(org, raw) {
			return o.Name()
		}
	}
	return ""
}

// PresenceFor reports whether a request has a bearer credential for the mechanism of this name: one that it
// owns. What nobody owns, also what is malformed, is for the first that the Guard has of package bearer,
// issuer and apikey, which refuses it.
func PresenceFor(name string, r *http.Request) auth.Presence {
	authorization := r.Header["Authorization"]
	if !Presented(authorization) {
		return auth.Absent
	}
	t := auth.TenantFrom(r.Context())
	if t == nil {
		return auth.InHeader
	}
	owner := ""
	if raw, _, err := Credential(authorization, nil); err == nil {
		owner = OwnerOf(t.Settings(), t.Org.Key(), raw)
	}
	for _, other := range []string{Bearer, Issuer, APIKey} {
		if owner == "" && Named(t.Settings(), other) != nil {
			owner = other
		}
	}
	if owner == "" || owner == name {
		return auth.InHeader
	}
	return auth.Absent
}

// Named returns the mechanism of a Guard that has a name, or nil.
func Named(s *auth.Settings, name string) auth.Mechanism {
	for _, m := range s.Mechanisms {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// Challenge returns that of RFC 6750, section 3.
func Challenge(err error) string {
	e, ok := errors.AsType[*auth.Error](err)
	switch {
	case !ok:
		return "Bearer"
	case e.Detail == auth.DetailScope:
		return `Bearer error="insufficient_scope", scope="` + e.Reason + `"`
	}
	return `Bearer error="invalid_token"`
}

// ErrRefused is the error for a genuine token that is not valid here: its app or account is gone,
// disabled or another org's. Clients cannot tell such a token from a forged one.
var ErrRefused = errors.New("bearer: token refused")

// Refuse separates "there is none" from "the directory did not answer".
func Refuse(err error) error {
	if auth.IsNotFound(err) {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}

// Missing returns the error for what a wish for a credential names and a directory does not find.
func Missing(detail, path string, err error) error {
	if auth.IsNotFound(err) {
		return &auth.Error{Detail: detail, Path: path, Err: err}
	}
	return err
}

// Beyond returns an error like that of auth.Principal.MayMake, for an option with these values, or none.
func Beyond(option string, values ...string) error {
	e := &auth.Error{Detail: auth.DetailDelegation}
	if values == nil {
		values = []string{""}
	}
	for _, value := range values {
		e.Faults = append(e.Faults, &auth.Error{Detail: e.Detail, Path: option, Reason: value})
	}
	return e
}

// Fault returns the *auth.Error for an error of package token, and for ErrRefused.
func Fault(err error) error {
	switch e, ok := err.(*auth.Error); {
	case errors.Is(err, auth.ErrUnavailable):
		return err // first: see auth.IsNotFound
	case errors.Is(err, token.ErrExpired):
		return &auth.Error{Detail: auth.DetailTokenExpired, Err: err}
	case errors.Is(err, token.ErrNotYet):
		return &auth.Error{Detail: auth.DetailTokenNotActive, Err: err}
	case errors.Is(err, token.ErrKeyMismatch):
		return &auth.Error{Detail: auth.DetailKeyMismatch, Err: err}
	case errors.Is(err, token.ErrInvalid), errors.Is(err, ErrRefused):
		return &auth.Error{Detail: auth.DetailInvalidToken, Err: err}
	case ok:
		return e // from the application's function
	}
	return auth.Unavailable(err)
}

// Enter checks the account of a token, and returns its roles and those that the token adds.
func Enter(ctx context.Context, t *auth.Tenant, id string, issued time.Time, added []string) (roles []string, err error) {
	account, err := t.Account(ctx, id)
	if err != nil {
		return nil, Refuse(err)
	}
	if issued.Before(account.TokensFrom) {
		return nil, fmt.Errorf("%w: signed before the account's tokens begin", ErrRefused)
	}
	roles, err = MergeRoles(ctx, t, account.Roles, added)
	return roles, Refuse(err)
}

// MergeRoles returns the roles of the subject and those that the token adds, each once, in a new
// slice. A role that the token names must exist.
func MergeRoles(ctx context.Context, t *auth.Tenant, subject, added []string) ([]string, error) {
	roles := slices.Clone(subject)
	if len(added) == 0 {
		return roles, nil
	}
	known, err := t.Roles(ctx, added)
	if err != nil {
		return nil, err
	}
	for _, name := range added {
		if !slices.ContainsFunc(known, func(r auth.Role) bool { return r.Name == name }) {
			return nil, fmt.Errorf("bearer: no such role: %w", auth.ErrNotFound)
		}
		if !slices.Contains(roles, name) {
			roles = append(roles, name)
		}
	}
	return roles, nil
}

// WithRoles adds the chains of the roles to those of the claim, unless the claim is a ceiling.
// Requests and minting both decide by it.
func WithRoles(ctx context.Context, t *auth.Tenant, claim scope.Set, claimed bool, roles []string) (scope.Set, error) {
	if len(roles) == 0 || claimed && t.Settings().Ceiling {
		return claim, nil
	}
	set, err := t.RoleScope(ctx, roles)
	if err != nil {
		return scope.Set{}, err
	}
	return claim.Union(set), nil
}
