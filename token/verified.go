package token

import (
	"maps"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/scope"
)

// Verified is a token that passed every check. All requests with the token share it,
// and it cannot be changed: its methods return immutable values or copies.
type Verified struct {
	claims Claims
	scope  scope.Set
	key    *PublicKey

	valid compact.Window
}

// Issuer is the client key of the app that issued the token. The app owns the key
// that verified it.
func (t *Verified) Issuer() string { return t.claims.Issuer }

// Subject is the account the token authenticates as.
func (t *Verified) Subject() string { return t.claims.Subject }

// ID is Claims.RecordID, or "" for an ephemeral token.
func (t *Verified) ID() string { return t.claims.RecordID() }

// IssuedAt is the iat.
func (t *Verified) IssuedAt() time.Time { return t.claims.IssuedAt }

// Expires is when the token ends: at the exp, or at the end of the key that has signed
// it, whichever comes first. It is zero if there is neither. What the token makes must
// not last longer, and Claims().Expires alone does not say that.
func (t *Verified) Expires() time.Time {
	return clock.FirstEnd(t.claims.Expires, t.key.Ends)
}

// KeyID is the KeyID of the key that has signed it, for Minter.MadeBy.
func (t *Verified) KeyID() string { return t.key.KeyID }

// Scope returns the compiled scp, with the source "token", and whether the token has
// the claim. Chains whose root the grammar does not know permit nothing; Set.Unknown
// returns them.
func (t *Verified) Scope() (set scope.Set, claimed bool) {
	return t.scope, t.claims.Scope != nil
}

// Roles returns a copy of the roles that the token adds to the subject's.
func (t *Verified) Roles() []string { return slices.Clone(t.claims.Roles) }

// Grant is the access level that the token grants on everything accessible to it, or
// 0 for none.
func (t *Verified) Grant() scope.Level { return t.claims.Grant }

// SkipACL reports whether the token skips access control for limiting matches.
func (t *Verified) SkipACL() bool { return t.claims.SkipACL }

// SkipCreateACL reports whether the token skips access control for creating.
func (t *Verified) SkipCreateACL() bool { return t.claims.SkipCreateACL }

// MaxUses is how often the token may authenticate; 0 means any number.
func (t *Verified) MaxUses() int64 { return t.claims.MaxUses }

// Claims returns a copy of everything that the token says.
func (t *Verified) Claims() Claims {
	c := t.claims
	c.Scope, c.Roles = slices.Clone(c.Scope), slices.Clone(c.Roles)
	c.Extra = maps.Clone(c.Extra)
	for name, raw := range c.Extra {
		c.Extra[name] = slices.Clone(raw)
	}
	return c
}
