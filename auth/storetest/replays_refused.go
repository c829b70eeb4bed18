package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/signing"
)

const refusedForNonce = "for its nonce"

func testRefusedIsNotRecorded(t *testing.T, r *replays) {
	for _, c := range []struct {
		name   string
		refuse func(t *testing.T, u signing.Use) error
	}{
		{"past its retention", func(t *testing.T, u signing.Use) error {
			u.Keep = r.f.Time().Add(-time.Minute)
			err := r.store.Claim(t.Context(), u)
			suite.Expect(t, "past its retention", err, signing.ErrStale)
			return err
		}},
		{"with a context that has ended", func(t *testing.T, u signing.Use) error {
			return r.store.Claim(suite.Ended(t), u)
		}},
		{"with a nonce too short", func(t *testing.T, u signing.Use) error {
			u.Nonce = u.Nonce[1:]
			return r.store.Claim(t.Context(), u)
		}},
		{"with a nonce too long", func(t *testing.T, u signing.Use) error {
			u.Nonce += "0"
			return r.store.Claim(t.Context(), u)
		}},
		{refusedForNonce, func(t *testing.T, u signing.Use) error {
			other := r.use()
			suite.Expect(t, "first", r.store.Claim(t.Context(), other), nil)
			u.Nonce = other.Nonce
			return r.store.Claim(t.Context(), u)
		}},
		{"by another client key", func(t *testing.T, u signing.Use) error {
			u.ClientKey = suite.Random()
			suite.Expect(t, "first", r.store.Claim(t.Context(), u), nil)
			return r.store.Claim(t.Context(), u)
		}},
	} {
		u := r.use()
		if c.refuse(t, u) == nil {
			t.Errorf("%s: accepted", c.name)
		}
		if r.f.Stepwise && c.name == refusedForNonce {
			continue
		}
		r.claim(t, c.name+", then the honest request", u, nil)
	}
}

// testRefusedLeavesNothing claims refused signatures with fresh nonces. Each nonce
// must then be accepted with another signature, which fails if the nonce was
// recorded.
func testRefusedLeavesNothing(t *testing.T, r *replays) {
	single, get, brief := r.use(), r.use(), r.use()
	r.claim(t, "single use", single, nil)
	for i := range 8 {
		r.claim(t, fmt.Sprint("sibling ", i+1), r.sibling(get), nil)
	}
	within := func(window time.Duration) signing.Use {
		u := r.sibling(brief)
		u.Window = window
		return u
	}
	r.claim(t, "a sibling of a brief window", within(time.Second), nil)
	r.f.Wait(1100 * time.Millisecond)
	for _, c := range []struct {
		name     string
		stepwise bool // whether a Stepwise store must pass, too
		refused  func() signing.Use
	}{
		{"a signature for single use", true, func() signing.Use {
			u := single
			u.Nonce = newNonce()
			return u
		}},
		{"the same as a sibling", true, func() signing.Use { return r.sibling(single) }},
		{"a sibling as single use", true, func() signing.Use {
			u := r.sibling(get)
			u.Siblings = 1
			return u
		}},
		{"a sibling after its window", true, func() signing.Use { return within(time.Second) }},
		{"a sibling beyond the last", false, func() signing.Use { return r.sibling(get) }},
	} {
		if r.f.Stepwise && !c.stepwise {
			continue
		}
		for range 10 {
			u, other := c.refused(), r.use()
			r.claim(t, c.name, u, signing.ErrReplayed)
			other.Nonce = u.Nonce
			r.claim(t, c.name+", then its nonce with another signature", other, nil)
		}
	}
}

func testRacesLeaveNothing(t *testing.T, r *replays) {
	for round := range 5 {
		signature, nonce, uses := r.use(), newNonce(), make([]signing.Use, suite.Crowd)
		n := r.race(t, func(i int) signing.Use {
			uses[i] = signature
			uses[i].Nonce = newNonce()
			return uses[i]
		})
		for i := range uses {
			uses[i].Signature = r.use().Signature
		}
		// Only the nonce that was accepted is refused now.
		if again := r.race(t, func(i int) signing.Use { return uses[i] }); n != 1 || again != suite.Crowd-1 {
			t.Errorf("round %d: of %d with one signature %d accepted, then %d of their nonces", round, suite.Crowd, n, again)
		}
		if r.f.Stepwise {
			continue
		}
		n = r.race(t, func(i int) signing.Use {
			uses[i] = r.use()
			uses[i].Nonce = nonce
			return uses[i]
		})
		for i := range uses {
			uses[i].Nonce = newNonce()
		}
		if again := r.race(t, func(i int) signing.Use { return uses[i] }); n != 1 || again != suite.Crowd-1 {
			t.Errorf("round %d: of %d with one nonce %d accepted, then %d of their signatures", round, suite.Crowd, n, again)
		}
	}
}
