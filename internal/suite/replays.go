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
	r := &Replays{Features: f, Store: s, Key: Random()}
	// A new store refuses requests that were signed before it was opened, as stale.
	for range 100 {
		u := r.Fresh()
		u.ClientKey = Random()
		err := s.Claim(t.Context(), u)
		if !errors.Is(err, signing.ErrStale) {
			Must(t, "first claim", err)
			return r
		}
		r.Wait(2 * time.Millisecond)
	}
	t.Fatal("every claim is stale: does the store's clock differ from Features.Now?")
	return nil
}

// Fresh returns a single-use request that is signed now, as a verifier claims it.
func (r *Replays) Fresh() signing.Use {
	now := r.Time()
	signed := time.UnixMilli(now.UnixMilli())
	u := signing.Use{ClientKey: r.Key, Nonce: NewNonce(), Signed: signed, Seen: now, Keep: signed.Add(5 * time.Minute)}
	rand.Read(u.Signature[:])
	return u
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

// Race claims a Crowd of requests at once and returns how many were accepted. The
// others must be refused as replays.
func (r *Replays) Race(t *testing.T, use func(i int) signing.Use) int {
	t.Helper()
	uses := make([]signing.Use, Crowd)
	for i := range uses {
		uses[i] = use(i)
	}
	return Tally(t, AtOnce(Crowd, func(i int) error { return r.Store.Claim(t.Context(), uses[i]) }), signing.ErrReplayed)
}
