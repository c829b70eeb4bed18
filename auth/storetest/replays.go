package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/signing"
)

// Replays checks the contract of signing.Replays. Each subtest opens a store. It
// may be the same one each time, and in use.
func Replays(t *testing.T, open func(t *testing.T) signing.Replays, f Features) {
	suite.Run(t, suite.Tests[func(*testing.T, *replays)]{
		{"N02 an exact replay is refused", testReplay},
		{"N02 one request at once is accepted once", testReplayRace},
		{"N02 one signature at once with fresh nonces is accepted once", testSignatureRace},
		{"N02 one nonce at once under many signatures is accepted once", testNonceRace},
		{"requests at once that differ are all accepted", testDistinctRace},
		{"N02b a nonce is refused under a new timestamp", testNonceAgain},
		{"a signature is refused under a fresh nonce", testSignatureAgain},
		{"N03 client keys never meet", testClientKeys},
		{"nonces differ in case", testNonceCase},
		{"signatures differ in one bit", testSignatureBits},
		{"a nonce and a signature of the same bytes never meet", testSameBytes},
		{"N04 what is refused is not recorded", testRefusedIsNotRecorded},
		{"N15 a refused claim leaves nothing", testRefusedLeavesNothing},
		{"N15 claims refused in a race leave nothing", testRacesLeaveNothing},
		{"N08 retention counts from the signed time", testSignedAhead},
		{"N10 verifiers whose clocks differ", testSkew},
		{"a nonce and a signature are remembered until Keep", testKeep},
		{"S14 siblings are accepted, and no more of them", testSiblings},
		{"S14 siblings at once are accepted, and no more of them", testSiblingRace},
		{"S14 siblings are over with the window", testSiblingWindow},
		{"S14 single use is for good", testSingleUse},
		{"a replay takes no sibling's place", testSiblingReplay},
		{"V18 a nonce is known once it was accepted, if the store can look it up", testUsedNonces},
		{"a call whose context has ended returns", testReplaysContext},
	}, func(t *testing.T, test func(*testing.T, *replays)) {
		r := &replays{store: open(t), f: suite.Features(f), key: suite.Random()}
		r.warm(t)
		test(t, r)
	})
}

// replays is a store, with a client key that no other subtest uses.
type replays struct {
	store signing.Replays
	f     suite.Features
	key   string
}

// warm waits until the store accepts claims. A new store refuses requests that were
// signed before it was opened, as stale.
func (r *replays) warm(t *testing.T) {
	t.Helper()
	for range 100 {
		u := r.use()
		u.ClientKey = suite.Random()
		err := r.store.Claim(t.Context(), u)
		if err == nil {
			return
		}
		if !errors.Is(err, signing.ErrStale) {
			t.Fatalf("first claim: %v", err)
		}
		r.f.Wait(2 * time.Millisecond)
	}
	t.Fatal("every claim is stale: does the store's clock differ from Features.Now?")
}

const tolerance = 5 * time.Minute

// use returns a single-use request that is signed now, as a verifier claims it.
func (r *replays) use() signing.Use {
	now := r.f.Time()
	signed := time.UnixMilli(now.UnixMilli())
	u := signing.Use{ClientKey: r.key, Nonce: newNonce(), Signed: signed, Seen: now, Keep: signed.Add(tolerance)}
	rand.Read(u.Signature[:])
	return u
}

// sibling returns u with a fresh nonce, as one of eight siblings within a minute.
func (r *replays) sibling(u signing.Use) signing.Use {
	u.Nonce, u.Seen = newNonce(), r.f.Time()
	u.Siblings, u.Window = 8, time.Minute
	return u
}

// newNonce returns 16 random letters and digits.
func newNonce() string { return rand.Text()[:16] }

func (r *replays) claim(t *testing.T, what string, u signing.Use, want ...error) {
	t.Helper()
	suite.Expect(t, what, r.store.Claim(t.Context(), u), want...)
}

// race claims a suite.Crowd of requests at once and returns how many were accepted. The
// others must be refused as replays.
func (r *replays) race(t *testing.T, use func(i int) signing.Use) int {
	t.Helper()
	uses := make([]signing.Use, suite.Crowd)
	for i := range uses {
		uses[i] = use(i)
	}
	return suite.Tally(t, suite.AtOnce(suite.Crowd, func(i int) error { return r.store.Claim(t.Context(), uses[i]) }), signing.ErrReplayed)
}

func testReplay(t *testing.T, r *replays) {
	u := r.use()
	r.claim(t, "first", u, nil)
	for range 3 {
		r.claim(t, "again", u, signing.ErrReplayed)
	}
}

// races claims a crowd of requests that are like one, a few times, and fails unless want of
// each crowd are accepted.
func (r *replays) races(t *testing.T, want int, like func(one signing.Use, i int) signing.Use) {
	t.Helper()
	for round := range 5 {
		one := r.use()
		if n := r.race(t, func(i int) signing.Use { return like(one, i) }); n != want {
			t.Errorf("round %d: %d accepted, want %d", round, n, want)
		}
	}
}

func testReplayRace(t *testing.T, r *replays) {
	r.races(t, 1, func(one signing.Use, _ int) signing.Use { return one })
}

func testSignatureRace(t *testing.T, r *replays) {
	r.races(t, 1, func(one signing.Use, _ int) signing.Use {
		one.Nonce = newNonce()
		return one
	})
}

func testNonceRace(t *testing.T, r *replays) {
	r.races(t, 1, func(one signing.Use, i int) signing.Use {
		u := r.use()
		u.Nonce = one.Nonce
		// Requests that were signed at different times are kept for different times.
		u.Keep = u.Keep.Add(time.Duration(i) * time.Second)
		return u
	})
}

func testDistinctRace(t *testing.T, r *replays) {
	if n := r.race(t, func(int) signing.Use { return r.use() }); n != suite.Crowd {
		t.Errorf("%d accepted, want %d", n, suite.Crowd)
	}
}

func testNonceAgain(t *testing.T, r *replays) {
	u := r.use()
	r.claim(t, "first", u, nil)
	for _, by := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
		later := r.use()
		later.Nonce = u.Nonce
		later.Signed, later.Keep = later.Signed.Add(by), later.Keep.Add(by)
		r.claim(t, fmt.Sprint("its nonce, signed later by ", by), later, signing.ErrReplayed)
	}
}

func testSignatureAgain(t *testing.T, r *replays) {
	u := r.use()
	r.claim(t, "first", u, nil)
	u.Nonce = newNonce()
	r.claim(t, "with a fresh nonce", u, signing.ErrReplayed)
}

func testClientKeys(t *testing.T, r *replays) {
	u := r.use()
	keys := []string{
		u.ClientKey, u.ClientKey + "0", strings.ToUpper(u.ClientKey), u.ClientKey + ":2", "n:" + u.ClientKey,
		u.ClientKey + u.Nonce, u.Nonce + u.ClientKey, u.ClientKey + strings.Repeat("~", 128-len(u.ClientKey)),
	}
	for _, want := range []error{nil, signing.ErrReplayed} {
		for _, key := range keys {
			u.ClientKey = key
			r.claim(t, "client key "+key, u, want)
		}
	}
}

func testNonceCase(t *testing.T, r *replays) {
	lower, upper := r.use(), r.use()
	lower.Nonce = "abcdefghijklmnop"
	upper.Nonce = strings.ToUpper(lower.Nonce)
	r.claim(t, "lower", lower, nil)
	r.claim(t, "upper", upper, nil)
	r.claim(t, "lower again", lower, signing.ErrReplayed)
}

func testSignatureBits(t *testing.T, r *replays) {
	signature := r.use().Signature
	for bit := range 256 {
		u := r.use()
		u.Signature = signature
		u.Signature[bit/8] ^= 1 << (bit % 8)
		r.claim(t, fmt.Sprint("bit ", bit), u, nil)
	}
}

func testSameBytes(t *testing.T, r *replays) {
	u, v := r.use(), r.use()
	copy(v.Signature[:], u.Nonce+u.Nonce)
	r.claim(t, "the nonce", u, nil)
	r.claim(t, "the signature", v, nil)

	// Nonce and client key of w, joined in this order, are the same text as the
	// signature of v and the client key of u.
	w := r.use()
	w.Nonce, w.ClientKey = u.Nonce, u.Nonce+u.ClientKey
	r.claim(t, "the nonce of a client key that begins with it", w, nil)
}

func testSignedAhead(t *testing.T, r *replays) {
	u := r.use()
	u.Signed, u.Keep = u.Signed.Add(time.Minute), u.Keep.Add(time.Minute)
	r.claim(t, "first", u, nil)
	r.claim(t, "again", u, signing.ErrReplayed)
}

func testSkew(t *testing.T, r *replays) {
	for _, skew := range []time.Duration{-20 * time.Second, -time.Millisecond, 20 * time.Second} {
		u := r.use()
		u.Seen = u.Seen.Add(skew)
		r.claim(t, fmt.Sprint("seen by a clock off by ", skew), u, nil)
		for _, again := range []time.Duration{-20 * time.Second, 0, 20 * time.Second} {
			u.Seen = r.f.Time().Add(again)
			r.claim(t, fmt.Sprintf("first %v off, then %v", skew, again), u, signing.ErrReplayed)
		}
	}
}

func testKeep(t *testing.T, r *replays) {
	u := r.use()
	u.Keep = u.Signed.Add(suite.Brief)
	r.claim(t, "first", u, nil)
	r.f.Wait(suite.Brief / 2)
	u.Seen = r.f.Time()
	inside := func(what string, u signing.Use) {
		t.Helper()
		err := r.store.Claim(t.Context(), u)
		if !r.f.Time().Before(u.Keep) && errors.Is(err, signing.ErrStale) {
			return // the store was too slow for this check
		}
		suite.Expect(t, what, err, signing.ErrReplayed)
	}
	// Claim the nonce and the signature apart, before one claim has both.
	nonce, signature := r.use(), u
	nonce.Nonce, nonce.Keep, signature.Nonce = u.Nonce, u.Keep, newNonce()
	inside("its nonce inside retention", nonce)
	inside("its signature inside retention", signature)
	inside("inside retention", u)
	r.f.Wait(suite.Brief / 2)
	u.Seen = r.f.Time()
	r.claim(t, "after retention", u, signing.ErrStale, signing.ErrReplayed)
}

func testUsedNonces(t *testing.T, r *replays) {
	store, ok := r.store.(signing.UsedNonces)
	if !ok {
		t.Skip("the store is not a signing.UsedNonces")
	}
	used := func(what string, u signing.Use, want bool) {
		t.Helper()
		if got, err := store.Used(t.Context(), u.ClientKey, u.Nonce); got != want || err != nil {
			t.Errorf("%s: %v, %v", what, got, err)
		}
	}
	u := r.use()
	used("a new one", u, false)
	used("one that was looked up before", u, false)
	r.claim(t, "after it was looked up", u, nil)
	used("an accepted one", u, true)
	other, refused := u, u
	other.ClientKey = suite.Random()
	used("that of another client key", other, false)
	refused.Nonce = newNonce()
	r.claim(t, "its signature again", refused, signing.ErrReplayed)
	if !r.f.Stepwise {
		used("one that was refused", refused, false)
	}
	if _, err := store.Used(suite.Ended(t), u.ClientKey, u.Nonce); err == nil {
		t.Error("no error of the context")
	}
}

func testReplaysContext(t *testing.T, r *replays) {
	if err := r.store.Claim(suite.Ended(t), r.use()); err == nil || suite.Matches(err, signing.ErrReplayed, signing.ErrStale, signing.ErrFull) {
		t.Errorf("error %v, want that of the context", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if r.store.Claim(ctx, r.use()) == nil {
		t.Error("accepted after the deadline")
	}
}
