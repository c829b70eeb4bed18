package token

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Verified is a token that passed every check. It is shared by all requests
// that present the token and cannot be altered: what its methods return is
// immutable or a copy.
type Verified struct {
	claims Claims // without Extra
	extras []extra
	scope  scope.Set
	key    *PublicKey

	begins, ends int64 // Unix seconds: accepted from begins until before ends
}

// verified compiles claims that were signed with key.
func verified(c Claims, extras []extra, set scope.Set, key *PublicKey) *Verified {
	t := &Verified{claims: c, extras: extras, scope: set, key: key, ends: math.MaxInt64}
	t.begins = max(c.IssuedAt.Unix(), c.NotBefore.Unix()) - leeway // without nbf that is long ago
	if !c.Expires.IsZero() {
		t.ends = c.Expires.Unix()
	}
	return t
}

// Issuer is the client key of the app that issued the token, which owns the
// key it was verified with.
func (t *Verified) Issuer() string { return t.claims.Issuer }

// Org is the org of that app, as Keys has it.
func (t *Verified) Org() string { return t.key.Org }

// Subject is the account the token authenticates as.
func (t *Verified) Subject() string { return t.claims.Subject }

// ID is the jti; an ephemeral token has none.
func (t *Verified) ID() string { return t.claims.ID }

// IssuedAt is the iat.
func (t *Verified) IssuedAt() time.Time { return t.claims.IssuedAt }

// Expires is the exp, zero when the token has none.
func (t *Verified) Expires() time.Time { return t.claims.Expires }

// Scope is the compiled scp, with the source "token", and whether the claim
// was there. Chains of roots that the grammar does not know permit nothing;
// Set.Unknown has them.
func (t *Verified) Scope() (set scope.Set, claimed bool) {
	return t.scope, t.claims.Scope != nil
}

// Roles are those the token adds to the subject's, in a slice of the caller's.
func (t *Verified) Roles() []string { return slices.Clone(t.claims.Roles) }

// Grant is the access level the token grants on what is accessible to it, 0
// for none.
func (t *Verified) Grant() scope.Level { return t.claims.Grant }

// SkipACL reports whether the token skips access control for limiting matches.
func (t *Verified) SkipACL() bool { return t.claims.SkipACL }

// SkipCreateACL reports whether the token skips access control for creating.
func (t *Verified) SkipCreateACL() bool { return t.claims.SkipCreateACL }

// MaxUses is how often the token may authenticate, 0 for any number.
func (t *Verified) MaxUses() int64 { return t.claims.MaxUses }

// Extra is the JSON of a claim this package does not know, in a slice of the
// caller's; nil when the token has no claim of this very name.
func (t *Verified) Extra(name string) json.RawMessage {
	for _, e := range t.extras {
		if e.name == name {
			return json.RawMessage(e.raw)
		}
	}
	return nil
}

// Claims is everything the token says, in a value of the caller's.
func (t *Verified) Claims() Claims {
	c := t.claims
	c.Scope, c.Roles = slices.Clone(c.Scope), slices.Clone(c.Roles)
	for _, e := range t.extras {
		if c.Extra == nil {
			c.Extra = map[string]json.RawMessage{}
		}
		c.Extra[e.name] = json.RawMessage(e.raw)
	}
	return c
}
