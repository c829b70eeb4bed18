package auth

import (
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Making is something that a request brings about and that can act later: a
// token, a signing secret, an account, a role, a session. It states how far that
// thing reaches. The zero Making acts as nobody and
// may do nothing: say its Scope and its Roles.
//
// Making includes the result of a change: an app that is enabled again, a
// credential with a later end, an account with another password. What only ends
// or narrows something is no Making and needs no permission beyond its route's.
type Making struct {
	Account string    // id of the account it acts as
	App     string    // client key of the app it acts through; "": any app, or none
	Scope   scope.Set // everything it may do, the chains of its roles included
	Roles   []string  // roles it has beside those of its account
	Access            // access rules on objects that are lifted for it
	Claims  bool      // it carries claims of the application's own

	Expires  time.Time      // when it ends; zero: never
	Networks []netip.Prefix // where it can be used from; nil: anywhere

	// EndsWithMaker reports that it ends when its maker's token is revoked: a ledger
	// records which token made it, or it lasts for minutes only.
	EndsWithMaker bool
}

// Everything returns the Making of whatever can act as the account without any
// bound: an account with its password, a session, a credential without
// restrictions.
func Everything(account string) Making {
	return Making{Account: account, Scope: scope.Unscoped()}
}

// MayMake decides whether a request of p may bring about all of the makings: none
// can do more than p, or for longer, or from elsewhere. Routes that make something
// call it before they make it. The error is a *BeyondError that names what is in
// excess, up to 32 things, or nil.
//
//   - The scope of a making must be covered by what p was granted, also while a
//     view runs without scope.
//   - It ends no later than p's credential, and can be used from no network that
//     p's credential excludes. It acts through no other app than p's.
//   - A token makes nothing with a level, a skip flag or a role that it lacks
//     itself. A token with a jti makes only what ends with it. A limited-use token
//     makes nothing at all.
//   - Only an administrator makes something for another account, with a level, a
//     skip flag, claims of the application's own or a role that the account
//     lacks; or, by a signature, for another app. The application says who is an
//     administrator. It counts only while the granted scope allows admin.update.
//
// A custom mechanism whose principals have no Authenticated time is held to what
// tokens are held to.
func (p Principal) MayMake(admin bool, makings ...Making) error {
	var b BeyondError
	if p.Account == "" {
		b.add(true, "sub", "") // nobody makes nothing
		return b.orNil()
	}
	admin = admin && p.Granted.Allows(scope.Admin(scope.Update))
	b.add(p.Limited, "maxUses", "")
	for i := range makings {
		b.hold(&p, &makings[i], admin)
	}
	return b.orNil()
}

// hold notes in what m exceeds p.
func (b *BeyondError) hold(p *Principal, m *Making, admin bool) {
	b.credential(p, m)
	if p.Authenticated.IsZero() {
		b.token(p, m)
	}
	if !admin {
		b.ordinary(p, m)
	}
	b.app(p, m, admin)
	for _, chain := range p.Granted.Missing(m.Scope) {
		b.add(true, "scope", chain.String())
	}
}

// credential holds m to the bounds that any credential can have.
func (b *BeyondError) credential(p *Principal, m *Making) {
	b.add(!p.Expires.IsZero() && (m.Expires.IsZero() || m.Expires.After(p.Expires)), "expires", "")
	b.add(p.Networks != nil && !within(m.Networks, p.Networks), "networks", "")
}

// token holds m to a token, which whoever holds it can send: what it says of
// itself bounds it, whoever its subject is.
func (b *BeyondError) token(p *Principal, m *Making) {
	b.add(p.TokenID == "" && m.Expires.IsZero(), "expires", "") // a foreign ephemeral token may have no end
	b.add(p.TokenID != "" && !m.EndsWithMaker, "expires", "")   // it would outlive the token's revocation
	b.add(m.SkipACL && !p.SkipACL, "skipAcl", "")
	b.add(m.SkipCreateACL && !p.SkipCreateACL, "bypassCreateAcl", "")
	b.add(m.Grant > p.Grant, "grant", "")
	for _, role := range m.Roles {
		b.add(!slices.Contains(p.Roles, role), "roles", role)
	}
}

// ordinary holds m to what an account may make that is no administrator.
func (b *BeyondError) ordinary(p *Principal, m *Making) {
	b.add(m.Account != p.Account, "sub", "")
	b.add(m.SkipACL, "skipAcl", "")
	b.add(m.SkipCreateACL, "bypassCreateAcl", "")
	b.add(m.Grant != 0, "grant", "")
	// Signed with the app's key, they are the app's word to whoever reads them.
	b.add(m.Claims, "claims", "")
	for _, role := range m.Roles {
		b.add(true, "roles", role)
	}
}

// app holds m to the app of p's credential: what ends that app ends what its
// credentials make.
func (b *BeyondError) app(p *Principal, m *Making, admin bool) {
	proven := !p.Authenticated.IsZero()
	b.add(p.App != "" && m.App != p.App && !(admin && proven), "app", "")
}

// within reports whether each network lies in one of the bounds. Nil is anywhere.
func within(networks, bounds []netip.Prefix) bool {
	if networks == nil {
		return false
	}
	for _, n := range networks {
		inside := func(bound netip.Prefix) bool { return bound.Bits() <= n.Bits() && bound.Contains(n.Addr()) }
		if !slices.ContainsFunc(bounds, inside) {
			return false
		}
	}
	return true
}
