package suite

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// Replays is a signing.Replays, with a client key that no other subtest uses.
type Replays struct {
	Features
	Store signing.Replays
	Key   string
}

// NewReplays returns s with such a key, once it accepts claims.
func NewReplays(t *testing.T, s signing.Replays, f Features) *Replays {
	t.Helper()
	r, err := &Replays{Features: f, Store: s}, error(nil)
	// A new store refuses requests that were signed before it was opened, as stale.
	for range 100 {
		r.Key = Random()
		if err = s.Claim(t.Context(), r.Fresh()); !errors.Is(err, signing.ErrStale) {
			break
		}
		r.Wait(2 * time.Millisecond)
	}
	Must(t, "first claim (if stale: does the store's clock differ from Features.Now?)", err)
	r.Key = Random()
	return r
}

// Fresh returns a single-use request that is signed now, as a verifier claims it.
func (r *Replays) Fresh() signing.Use {
	now := r.Time()
	signed := time.UnixMilli(now.UnixMilli())
	return signing.Use{ClientKey: r.Key, Nonce: NewNonce(), Signature: NewHash(), Signed: signed, Seen: now, Keep: signed.Add(5 * time.Minute)}
}

// Sibling returns u with a fresh nonce, as one of eight siblings within a minute.
func (r *Replays) Sibling(u signing.Use) signing.Use {
	u.Nonce, u.Seen = NewNonce(), r.Time()
	u.Siblings, u.Window = 8, time.Minute
	return u
}

// NewNonce returns 16 random letters and digits.
func NewNonce() string { return rand.Text()[:16] }

func (r *Replays) Claims(t *testing.T, what string, u signing.Use, want ...error) {
	t.Helper()
	Expect(t, what, r.Store.Claim(t.Context(), u), want...)
}
