package auth

import (
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Making is a thing that a request creates and that can act later: a token, a signing secret,
// an account, a role, a session. It states what that thing can do. The zero Making has no
// account and may do nothing: set its Scope and its Roles.
//
// A Making can also be the result of a change: an enabled app, a credential with a later end,
// an account with another password. A change that only ends or narrows something is no
// Making. It needs no permission beyond that of its route.
type Making struct {
	Account string    // id of the account it acts as
	App     string    // client key of the app it acts through; "": any app, or none
	Scope   scope.Set // everything it may do, the chains of its roles included
	Roles   []string  // roles it has in addition to those of its account
	Access            // access rules on objects that do not apply to it
	Claims  bool      // it carries claims of the application's own

	Expires  time.Time      // when it ends; zero: never
	Networks []netip.Prefix // where it can be used from; nil: anywhere

	// EndsWithMaker states that it ends when its maker's token is revoked. This holds if a
	// ledger records which token made it, or if it lasts only for minutes.
	EndsWithMaker bool
}

// Everything returns the Making of a thing that can act as the account without any limit.
// Examples are an account with its password, a session, and a credential without
// restrictions.
func Everything(account string) Making {
	return Making{Account: account, Scope: scope.Unscoped()}
}

// MayMake decides whether a request of p may create all of the makings. None of them may do
// more than p, last longer, or be used from other networks. Routes that make something call
// it before they make it. The error is nil or an *Error with DetailDelegation and a child for each
// excess, up to 32. The Path of a child is the option: sub, app, scope, roles, grant, skipAcl,
// bypassCreateAcl, claims, expires, networks, maxUses, or lineage of a token, or actor. Its Reason is the chain
// or the role. A server whose requests use other names replaces Path before it answers.
//
//   - What p was granted must cover the scope of a making, also while a view runs without
//     scope.
//   - A making must end no later than p's credential. It must not be usable from a network
//     that p's credential excludes.
//   - If p has an app, a making must act through that app. A token without an app makes
//     nothing for an app. Only an administrator makes something for another app, and only by
//     a signature.
//   - A token makes nothing with a level, a skip flag or a role that the token itself lacks.
//     A token with a jti makes only what ends with it. A limited-use token makes nothing.
//   - Whoever acts for the account (Actor) makes nothing.
//   - Only an administrator makes something for another account, with a level, with a skip
//     flag, with claims of the application's own, or with a role that the account lacks.
//
// AsAdministrator says who is an administrator. This counts only while the granted scope
// allows admin.update.
//
// If the principals of a custom mechanism have no Authenticated time, they are limited as
// tokens are.
func (p Principal) MayMake(makings ...Making) error {
	if p.Account == "" { // an anonymous principal may make nothing
		return &Error{Detail: DetailDelegation, Faults: excess{{Detail: DetailDelegation, Path: "sub"}}}
	}
	var b excess
	admin := p.administrator && p.Granted.Allows(scope.Admin(scope.Update))
	b.add(p.Limited, "maxUses", "")
	b.add(p.Actor() != "", "actor", "")
	for i := range makings {
		b.addExcess(&p, &makings[i], admin)
	}
	if b == nil {
		return nil
	}
	return &Error{Detail: DetailDelegation, Faults: b}
}

// addExcess adds each way in which m exceeds p.
func (b *excess) addExcess(p *Principal, m *Making, admin bool) {
	b.add(!p.Expires.IsZero() && (m.Expires.IsZero() || m.Expires.After(p.Expires)), "expires", "")
	b.add(p.Networks != nil && !within(m.Networks, p.Networks), "networks", "")
	proven := !p.Authenticated.IsZero()
	if !proven { // whoever holds a token can send it, so its own limits apply, whoever its subject is
		b.add(p.TokenID == "" && m.Expires.IsZero(), "expires", "") // a foreign ephemeral token may have no end
		b.add(p.TokenID != "" && !m.EndsWithMaker, "expires", "")   // it would outlive the token's revocation
		b.add(m.SkipACL && !p.SkipACL, "skipAcl", "")
		b.add(m.SkipCreateACL && !p.SkipCreateACL, "bypassCreateAcl", "")
		b.add(m.Grant > p.Grant, "grant", "")
		for _, role := range m.Roles {
			b.add(!slices.Contains(p.Roles, role), "roles", role)
		}
	}
	if !admin {
		b.add(m.Account != p.Account, "sub", "")
		b.add(m.SkipACL, "skipAcl", "")
		b.add(m.SkipCreateACL, "bypassCreateAcl", "")
		b.add(m.Grant != 0, "grant", "")
		b.add(m.Claims, "claims", "") // the app's key signs them, so readers take them for statements of the app
		for _, role := range m.Roles {
			b.add(true, "roles", role)
		}
	}
	// Ending the app ends what its credentials make. A token without an app, such as one of another issuer,
	// makes nothing for one.
	bound := p.App != "" || !proven
	b.add(bound && m.App != p.App && !(admin && proven), "app", "")
	for _, chain := range p.Granted.Missing(m.Scope) {
		b.add(true, "scope", chain)
	}
}

// within reports whether each network is inside one of the bounds. Nil networks are anywhere.
func within(networks, bounds []netip.Prefix) bool {
	return networks != nil && !slices.ContainsFunc(networks, func(n netip.Prefix) bool {
		return !slices.ContainsFunc(bounds, func(bound netip.Prefix) bool { return bound.Bits() <= n.Bits() && bound.Contains(n.Addr()) })
	})
}

// maxExcess limits how many things a refusal names: a scope can exceed in a thousand chains.
const maxExcess = 32

// excess is the ways in which makings would exceed their maker.
type excess []*Error

func (b *excess) add(beyond bool, option, value string) {
	same := func(e *Error) bool { return e.Path == option && e.Reason == value }
	if beyond && len(*b) < maxExcess && !slices.ContainsFunc(*b, same) {
		*b = append(*b, &Error{Detail: DetailDelegation, Path: option, Reason: value})
	}
}
