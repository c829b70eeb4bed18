package storetest

import (
	"context"
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
	suite.Run(t, suite.Tests[func(*testing.T, *suite.Replays)]{
		{"N02 one request at once is accepted once", races(1, sameRequest)},
		{"N02 one signature at once with fresh nonces is accepted once", races(1, freshNonce)},
		{"N02 one nonce at once under many signatures is accepted once", races(1, sameNonce)},
		{"requests at once that differ are all accepted", races(suite.Crowd, another)},
		{"N02 an exact replay is refused, and a nonce under a new timestamp", testNonceAgain},
		{"N15 a signature is refused under a fresh nonce, and leaves no nonce", testSignatureAgain},
		{"N03 client keys never meet", testClientKeys},
		{"nonces differ in case", testNonceCase},
		{"N04 what is refused is not recorded", testRefusedIsNotRecorded},
		{"N08 retention counts from the signed time", testSignedAhead},
		{"N10 verifiers whose clocks differ", testSkew},
		{"a nonce and a signature are remembered until Keep", testKeep},
		{"S14 siblings are accepted, and no more of them, and a replay takes no place", testSiblings},
		{"S14 siblings at once are accepted, and no more of them", races(8, sibling)},
		{"S14 siblings are over with the window", testSiblingWindow},
		{"S14 single use is for good", testSingleUse},
		{"V18 a nonce is known once it was accepted, if the store can look it up", testUsedNonces},
		{"a call whose context has ended returns", testReplaysContext},
	}, func(t *testing.T, test func(*testing.T, *suite.Replays)) {
		test(t, suite.NewReplays(t, open(t), suite.Features(f)))
	})
}

// races returns the subtest of a few crowds of requests that are like one, of which so many are accepted.
func races(want int, like func(r *suite.Replays, one signing.Use, i int) signing.Use) func(*testing.T, *suite.Replays) {
	return func(t *testing.T, r *suite.Replays) {
		for range 5 {
			var uses [suite.Crowd]signing.Use
			one := r.Fresh()
			for i := range uses {
				uses[i] = like(r, one, i)
			}
			suite.Wins(t, want, func(i int) error { return r.Store.Claim(t.Context(), uses[i]) }, signing.ErrReplayed)
		}
	}
}

func sameRequest(_ *suite.Replays, one signing.Use, _ int) signing.Use { return one }
func another(r *suite.Replays, _ signing.Use, _ int) signing.Use       { return r.Fresh() }
func sibling(r *suite.Replays, one signing.Use, _ int) signing.Use     { return r.Sibling(one) }

func freshNonce(_ *suite.Replays, one signing.Use, _ int) signing.Use {
	return suite.With(one, func(u *signing.Use) { u.Nonce = suite.NewNonce() })
}

// sameNonce returns requests that are kept for different times, as if they were signed at different times.
func sameNonce(r *suite.Replays, one signing.Use, i int) signing.Use {
	return suite.With(r.Fresh(), func(u *signing.Use) { u.Nonce, u.Keep = one.Nonce, u.Keep.Add(time.Duration(i)*time.Second) })
}

func testNonceAgain(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	r.Claims(t, "first", u, nil)
	for range 3 {
		r.Claims(t, "again", u, signing.ErrReplayed)
	}
	for _, by := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
		later := suite.With(r.Fresh(), func(later *signing.Use) { later.Nonce = u.Nonce })
		later.Signed, later.Keep = later.Signed.Add(by), later.Keep.Add(by)
		r.Claims(t, fmt.Sprint("its nonce, signed later by ", by), later, signing.ErrReplayed)
	}
}

func testSignatureAgain(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	r.Claims(t, "first", u, nil)
	u.Nonce = suite.NewNonce()
	r.Claims(t, "with a fresh nonce", u, signing.ErrReplayed)
	other := suite.With(r.Fresh(), func(other *signing.Use) { other.Nonce = u.Nonce })
	r.Claims(t, "that nonce with another signature", other, nil)
}

func testClientKeys(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	keys := []string{
		u.ClientKey, u.ClientKey + "0", strings.ToUpper(u.ClientKey), u.ClientKey + ":2", "n:" + u.ClientKey,
		u.ClientKey + u.Nonce, u.Nonce + u.ClientKey, u.ClientKey + strings.Repeat("~", 128-len(u.ClientKey)),
	}
	for _, want := range []error{nil, signing.ErrReplayed} {
		for _, key := range keys {
			u.ClientKey = key
			r.Claims(t, "client key "+key, u, want)
		}
	}
}

func testNonceCase(t *testing.T, r *suite.Replays) {
	lower, upper := r.Fresh(), r.Fresh()
	lower.Nonce = "abcdefghijklmnop"
	upper.Nonce = strings.ToUpper(lower.Nonce)
	r.Claims(t, "lower", lower, nil)
	r.Claims(t, "upper", upper, nil)
	r.Claims(t, "lower again", lower, signing.ErrReplayed)
}

func testSignedAhead(t *testing.T, r *suite.Replays) {
	u := suite.With(r.Fresh(), func(u *signing.Use) { u.Signed, u.Keep = u.Signed.Add(time.Minute), u.Keep.Add(time.Minute) })
	r.Claims(t, "first", u, nil)
	r.Claims(t, "again", u, signing.ErrReplayed)
}

func testKeep(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	u.Keep = u.Signed.Add(suite.Brief)
	r.Claims(t, "first", u, nil)
	r.Wait(suite.Brief / 2)
	u.Seen = r.Time()
	inside := func(what string, u signing.Use) {
		t.Helper()
		err := r.Store.Claim(t.Context(), u)
		tooSlow := !r.Time().Before(u.Keep) && errors.Is(err, signing.ErrStale) // the store, for this check
		suite.Check(t, tooSlow || errors.Is(err, signing.ErrReplayed), "%s: error %v, want signing.ErrReplayed", what, err)
	}
	// Claim the nonce and the signature apart, before one claim has both.
	nonce, signature := r.Fresh(), u
	nonce.Nonce, nonce.Keep, signature.Nonce = u.Nonce, u.Keep, suite.NewNonce()
	inside("its nonce inside retention", nonce)
	inside("its signature inside retention", signature)
	inside("inside retention", u)
	r.Wait(suite.Brief / 2)
	u.Seen = r.Time()
	r.Claims(t, "after retention", u, signing.ErrStale, signing.ErrReplayed)
}

func testUsedNonces(t *testing.T, r *suite.Replays) {
	store, ok := r.Store.(signing.UsedNonces)
	if !ok {
		t.Skip("the store is not a signing.UsedNonces")
	}
	used := func(what string, u signing.Use, want bool) {
		t.Helper()
		got, err := store.Used(t.Context(), u.ClientKey, u.Nonce)
		suite.Check(t, got == want && err == nil, "%s: %v, %v", what, got, err)
	}
	u := r.Fresh()
	used("a new one", u, false)
	used("one that was looked up before", u, false)
	r.Claims(t, "after it was looked up", u, nil)
	used("an accepted one", u, true)
	other, refused := u, u
	other.ClientKey = suite.Random()
	used("that of another client key", other, false)
	refused.Nonce = suite.NewNonce()
	r.Claims(t, "its signature again", refused, signing.ErrReplayed)
	used("one that was refused", refused, false)
	_, err := store.Used(suite.Ended(t), u.ClientKey, u.Nonce)
	suite.Fails(t, "with a context that has ended", err)
}

func testReplaysContext(t *testing.T, r *suite.Replays) {
	suite.Fails(t, "Claim", r.Store.Claim(suite.Ended(t), r.Fresh()), signing.ErrReplayed, signing.ErrStale, signing.ErrFull)
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	suite.Fails(t, "after the deadline", r.Store.Claim(ctx, r.Fresh()))
}

func testSkew(t *testing.T, r *suite.Replays) {
	for _, skew := range []time.Duration{-20 * time.Second, -time.Millisecond, 20 * time.Second} {
		u := r.Fresh()
		u.Seen = u.Seen.Add(skew)
		r.Claims(t, fmt.Sprint("seen by a clock off by ", skew), u, nil)
		for _, again := range []time.Duration{-20 * time.Second, 0, 20 * time.Second} {
			u.Seen = r.Time().Add(again)
			r.Claims(t, fmt.Sprintf("first %v off, then %v", skew, again), u, signing.ErrReplayed)
		}
	}
}

func testRefusedIsNotRecorded(t *testing.T, r *suite.Replays) {
	for name, change := range map[string]func(*signing.Use){
		"with a nonce too short": func(u *signing.Use) { u.Nonce = u.Nonce[1:] },
		"with a nonce too long":  func(u *signing.Use) { u.Nonce += "0" },
		"by another client key": func(u *signing.Use) {
			u.ClientKey = suite.Random()
			r.Claims(t, "first", *u, nil)
		},
	} {
		u := r.Fresh()
		suite.Fails(t, name, r.Store.Claim(t.Context(), suite.With(u, change)))
		r.Claims(t, name+", then the honest request", u, nil)
	}
	late, ended := r.Fresh(), r.Fresh()
	r.Claims(t, "past its retention", suite.With(late, func(u *signing.Use) { u.Keep = r.Time().Add(-time.Minute) }), signing.ErrStale)
	r.Claims(t, "past its retention, then the honest request", late, nil)
	suite.Fails(t, "with a context that has ended", r.Store.Claim(suite.Ended(t), ended))
	r.Claims(t, "with a context that has ended, then the honest request", ended, nil)
}

func testSiblings(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	for i := range 8 {
		s := r.Sibling(u)
		r.Claims(t, fmt.Sprint("sibling ", i+1), s, nil)
		for range 4 {
			r.Claims(t, "its replay", s, signing.ErrReplayed)
		}
	}
	for range 3 {
		r.Claims(t, "ninth", r.Sibling(u), signing.ErrReplayed)
	}
	fewer := r.Fresh()
	for range 2 {
		r.Claims(t, "one of eight", r.Sibling(fewer), nil)
	}
	third := suite.With(r.Sibling(fewer), func(u *signing.Use) { u.Siblings = 2 })
	r.Claims(t, "third, where two are allowed", third, signing.ErrReplayed)
	r.Claims(t, "third of eight", r.Sibling(fewer), nil)
}

func testSiblingWindow(t *testing.T, r *suite.Replays) {
	u := r.Fresh()
	in := func(window time.Duration) signing.Use {
		return suite.With(r.Sibling(u), func(u *signing.Use) { u.Window = window })
	}
	r.Claims(t, "first", in(time.Second), nil)
	r.Claims(t, "second", in(time.Minute), nil)
	r.Wait(1100 * time.Millisecond)
	r.Claims(t, "after the window", in(time.Second), signing.ErrReplayed)
}

func testSingleUse(t *testing.T, r *suite.Replays) {
	for name, alter := range map[string]func(*signing.Use){
		"no siblings":                    func(u *signing.Use) { u.Siblings = 0 },
		"one in all":                     func(u *signing.Use) { u.Siblings = 1 },
		"no window":                      func(u *signing.Use) { u.Window = 0 },
		"a window below one millisecond": func(u *signing.Use) { u.Window = time.Millisecond - 1 },
	} {
		u := r.Fresh()
		r.Claims(t, name+": first", suite.With(r.Sibling(u), alter), nil)
		r.Claims(t, name+": then as a sibling", r.Sibling(u), signing.ErrReplayed)

		v := r.Fresh()
		r.Claims(t, "as a sibling", r.Sibling(v), nil)
		r.Claims(t, "then with "+name, suite.With(r.Sibling(v), alter), signing.ErrReplayed)
	}
}
