package suites

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/signing"
)

// Replays checks what storetest.Replays leaves out: that a refused claim leaves nothing, also of
// siblings and in a race, and what the forms of our keys could confuse. Each subtest opens a store.
func Replays(t *testing.T, open func(t *testing.T) signing.Replays, f storetest.Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *suite.Replays)]{
		{"signatures differ in one bit", testSignatureBits},
		{"a nonce and a signature of the same bytes never meet", testSameBytes},
		{"N04 a claim that is refused for its nonce does not record its signature", testNonceLeavesNothing},
		{"N15 a refused claim leaves nothing", testRefusedLeavesNothing},
		{"N15 claims refused in a race leave nothing", testRacesLeaveNothing},
	}, func(t *testing.T, test func(*testing.T, *suite.Replays)) {
		test(t, suite.NewReplays(t, open(t), suite.Features(f)))
	})
}

func testSignatureBits(t *testing.T, r *suite.Replays) {
	signature := r.Fresh().Signature
	for bit := range 256 {
		u := r.Fresh()
		u.Signature = signature
		u.Signature[bit/8] ^= 1 << (bit % 8)
		r.Claims(t, fmt.Sprint("bit ", bit), u, nil)
	}
}

func testSameBytes(t *testing.T, r *suite.Replays) {
	u, v := r.Fresh(), r.Fresh()
	copy(v.Signature[:], u.Nonce+u.Nonce)
	r.Claims(t, "the nonce", u, nil)
	r.Claims(t, "the signature", v, nil)

	// Nonce and client key of w, joined in this order, are the same text as the
	// signature of v and the client key of u.
	w := r.Fresh()
	w.Nonce, w.ClientKey = u.Nonce, u.Nonce+u.ClientKey
	r.Claims(t, "the nonce of a client key that begins with it", w, nil)
}

// testRefusedLeavesNothing claims refused signatures with fresh nonces. Each nonce
// must then be accepted with another signature, which fails if the nonce was
// recorded.
func testRefusedLeavesNothing(t *testing.T, r *suite.Replays) {
	single, get, brief := r.Fresh(), r.Fresh(), r.Fresh()
	r.Claims(t, "single use", single, nil)
	for i := range 8 {
		r.Claims(t, fmt.Sprint("sibling ", i+1), r.Sibling(get), nil)
	}
	within := func(window time.Duration) signing.Use {
		u := r.Sibling(brief)
		u.Window = window
		return u
	}
	r.Claims(t, "a sibling of a brief window", within(time.Second), nil)
	r.Wait(1100 * time.Millisecond)
	for name, refused := range map[string]func() signing.Use{
		"a signature for single use": func() signing.Use {
			u := single
			u.Nonce = suite.NewNonce()
			return u
		},
		"the same as a sibling": func() signing.Use { return r.Sibling(single) },
		"a sibling as single use": func() signing.Use {
			u := r.Sibling(get)
			u.Siblings = 1
			return u
		},
		"a sibling after its window": func() signing.Use { return within(time.Second) },
		"a sibling beyond the last":  func() signing.Use { return r.Sibling(get) },
	} {
		for range 10 {
			u, other := refused(), r.Fresh()
			r.Claims(t, name, u, signing.ErrReplayed)
			other.Nonce = u.Nonce
			r.Claims(t, name+", then its nonce with another signature", other, nil)
		}
	}
}

// race claims a Crowd of requests at once and returns how many were accepted. The others must be refused as
// replays.
func race(t *testing.T, r *suite.Replays, use func(i int) signing.Use) int {
	t.Helper()
	uses := make([]signing.Use, suite.Crowd)
	for i := range uses {
		uses[i] = use(i)
	}
	return suite.Tally(t, suite.AtOnce(suite.Crowd, func(i int) error { return r.Store.Claim(t.Context(), uses[i]) }), signing.ErrReplayed)
}

func testRacesLeaveNothing(t *testing.T, r *suite.Replays) {
	for round := range 5 {
		signature, nonce, uses := r.Fresh(), suite.NewNonce(), make([]signing.Use, suite.Crowd)
		n := race(t, r, func(i int) signing.Use {
			uses[i] = signature
			uses[i].Nonce = suite.NewNonce()
			return uses[i]
		})
		for i := range uses {
			uses[i].Signature = r.Fresh().Signature
		}
		// Only the nonce that was accepted is refused now.
		if again := race(t, r, func(i int) signing.Use { return uses[i] }); n != 1 || again != suite.Crowd-1 {
			t.Errorf("round %d: of %d with one signature %d accepted, then %d of their nonces", round, suite.Crowd, n, again)
		}
		n = race(t, r, func(i int) signing.Use {
			uses[i] = r.Fresh()
			uses[i].Nonce = nonce
			return uses[i]
		})
		for i := range uses {
			uses[i].Nonce = suite.NewNonce()
		}
		if again := race(t, r, func(i int) signing.Use { return uses[i] }); n != 1 || again != suite.Crowd-1 {
			t.Errorf("round %d: of %d with one nonce %d accepted, then %d of their signatures", round, suite.Crowd, n, again)
		}
	}
}

// testNonceLeavesNothing claims signatures with a nonce that was accepted.
func testNonceLeavesNothing(t *testing.T, r *suite.Replays) {
	first, u := r.Fresh(), r.Fresh()
	r.Claims(t, "first", first, nil)
	used := u
	used.Nonce = first.Nonce
	r.Claims(t, "its nonce", used, signing.ErrReplayed)
	r.Claims(t, "then the signature with a fresh nonce", u, nil)
}
