package token_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// rotate rotates the pair of app A.
func (w *world) rotate(t testing.TB, overlap time.Duration) *token.PublicKey {
	t.Helper()
	public, err := w.keys.Rotate(t.Context(), "acme", appA, overlap)
	if err != nil {
		t.Fatal(err)
	}
	return public
}

// TestFormerKeyEnds verifies with a warm cache, without one, and behind Cached, with tokens that the
// former key has signed.
func TestFormerKeyEnds(t *testing.T) {
	for name, prepare := range map[string]func(*world){
		"T32 with a cache":             func(*world) {},
		"T32 without a cache":          func(w *world) { w.verifier.Cache = nil },
		"T32 with Keys that remember":  func(w *world) { w.remember(time.Hour) },
		"T32 with both that remember":  func(w *world) { w.verifier.Cache = nil; w.remember(time.Hour) },
		"T32 a store whose clock lags": func(w *world) { w.keys.Now = func() time.Time { return w.now().Add(-time.Minute) } },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			prepare(w)
			warm, cold := w.token(t), w.token(t, "exp", nil)
			accepted(t, w, warm)
			w.rotate(t, 30*time.Minute)
			if cached, ok := w.verifier.Keys.(*token.CachedKeys); ok {
				cached.Invalidate(appA)
			}
			key, err := w.verifier.Keys.Public(t.Context(), kid(t, 0))
			if err != nil {
				t.Fatal(err)
			}
			left := key.Ends.Sub(w.now())
			for range 3 {
				accepted(t, w, warm)
			}
			if got := accepted(t, w, cold).Expires(); !got.Equal(key.Ends) {
				t.Errorf("a token without exp expires at %v, want %v", got, key.Ends)
			}
			w.advance(left - time.Millisecond)
			accepted(t, w, warm)
			late := w.token(t) // whoever has the former key can still sign
			w.advance(time.Millisecond)
			for what, raw := range map[string]string{"used before": warm, "without exp": cold, "signed late": late, "signed at the end": w.token(t)} {
				got, err := w.verify(t, raw)
				if got != nil || !errors.Is(err, token.ErrInvalid) || errors.Is(err, token.ErrExpired) || errors.Is(err, token.ErrNotFound) {
					t.Errorf("%s: Verify = %v, %v, want ErrInvalid as for an unknown kid", what, got, err)
				}
			}
		})
	}
}

// remember puts a cache in front of the keys, with the clock of w.
func (w *world) remember(stale time.Duration) {
	cached := token.Cached(&w.keys, stale)
	cached.SetNow(w.now)
	w.verifier.Keys = cached
}

func TestVerifiedExpiresWithItsKey(t *testing.T) {
	w := newWorld(t)
	now := w.now()
	early, late, never := w.token(t, "exp", now.Add(time.Minute).Unix()), w.token(t), w.token(t, "exp", nil)
	expires := func(what, raw string, want time.Time) {
		t.Helper()
		v := accepted(t, w, raw)
		if got := v.Expires(); !got.Equal(want) {
			t.Errorf("%s: expires at %v, want %v", what, got, want)
		}
	}
	for range 2 { // then from the cache
		expires("early", early, now.Add(time.Minute))
		expires("late", late, now.Add(time.Hour))
		expires("never", never, time.Time{})
	}
	w.rotate(t, 10*time.Minute)
	for range 2 {
		expires("before the key", early, now.Add(time.Minute))
		expires("after the key", late, now.Add(10*time.Minute))
		expires("never, of a former key", never, now.Add(10*time.Minute))
	}
	if exp := accepted(t, w, late).Claims().Expires; !exp.Equal(now.Add(time.Hour)) {
		t.Errorf("the exp is %v", exp)
	}
}

func TestReplacedPairsEndFormerKeys(t *testing.T) {
	for name, end := range map[string]func(*world) error{
		"K18 Generate": func(w *world) error { _, err := w.keys.Generate(context.Background(), "acme", appA); return err },
		"K18 Put":      func(w *world) error { return w.keys.Put(context.Background(), pairOf(t, 2, appA)) },
		"K18 Delete":   func(w *world) error { return w.keys.Delete(context.Background(), "acme", appA) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			former := w.token(t)
			w.rotate(t, time.Hour)
			present, _, err := w.minter().Permanent(t.Context(), wanted())
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range []string{former, string(present)} {
				accepted(t, w, raw)
			}
			if err := end(w); err != nil {
				t.Fatal(err)
			}
			for _, raw := range []string{former, string(present)} {
				if got, err := w.verify(t, raw); got != nil || !errors.Is(err, token.ErrInvalid) {
					t.Errorf("Verify = %v, %v, want ErrInvalid", got, err)
				}
			}
		})
	}
}

// TestLimitOverRotations mints to the limit with each of several keys.
func TestLimitOverRotations(t *testing.T) {
	w := newWorld(t)
	minter := w.minter()
	minter.PerSubject = 3
	var all []string
	mint := func(want error) {
		t.Helper()
		raw, _, err := minter.Permanent(t.Context(), wanted())
		if !errors.Is(err, want) {
			t.Fatalf("Issue = %v, want %v", err, want)
		}
		if err == nil {
			all = append(all, string(raw))
		}
	}
	mint(nil)
	w.rotate(t, 24*time.Hour)
	mint(nil)
	w.advance(2 * time.Hour) // records that the ledger does not count may be dropped
	w.rotate(t, 24*time.Hour)
	mint(nil)
	mint(token.ErrTooMany)
	for _, raw := range all {
		accepted(t, w, raw)
	}
	w.advance(22 * time.Hour) // the end of the first key
	mint(nil)
	mint(token.ErrTooMany)
	for _, raw := range all[1:] {
		accepted(t, w, raw)
	}
	if list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage); len(list) != 3 || err != nil {
		t.Errorf("%d records, %v", len(list), err)
	}
}

// changing is a Signers that calls change before a look-up.
type changing struct {
	token.Signers
	looks  int
	change func(look int) error
}

func (c *changing) Signer(ctx context.Context, clientKey string) (*token.KeyPair, error) {
	c.looks++
	if err := c.change(c.looks); err != nil {
		return nil, err
	}
	return c.Signers.Signer(ctx, clientKey)
}

// TestPairChangesWhileMinting changes the pair of the app between the first look-up of a Minter and
// the Issue. No token may be dead at birth, and the limit must hold.
func TestPairChangesWhileMinting(t *testing.T) {
	generate := func(w *world) error { _, err := w.keys.Generate(t.Context(), "acme", appA); return err }
	rotate := func(w *world) error { _, err := w.keys.Rotate(t.Context(), "acme", appA, time.Hour); return err }
	for name, c := range map[string]struct {
		change func(w *world, look int) error // before this look-up
		want   error                          // nil: a token
		known  bool                           // whether want is an error that a caller may expect
	}{
		"T33 never":        {func(*world, int) error { return nil }, nil, true},
		"T33 rotated once": {func(w *world, look int) error { return only(look == 2, w, rotate) }, nil, true},
		"T33 rotated before two rounds": {func(w *world, look int) error {
			return only(look == 2 || look == 4, w, rotate)
		}, nil, true},
		"T33 replaced once":  {func(w *world, look int) error { return only(look == 2, w, generate) }, nil, true},
		"T33 replaced twice": {func(w *world, look int) error { return only(look == 2 || look == 4, w, generate) }, nil, true},
		"T33 rotated each time": {func(w *world, look int) error {
			return only(look%2 == 0, w, rotate)
		}, errors.New("any"), false},
		"T33 deleted": {func(w *world, look int) error {
			return only(look == 2, w, func(w *world) error { return w.keys.Delete(t.Context(), "acme", appA) })
		}, token.ErrNoKeyPair, true},
		"T33 the store fails": {func(w *world, look int) error {
			return only(look == 2, w, func(*world) error { return errBroken })
		}, errBroken, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			minter := w.minter()
			minter.Signers = &changing{Signers: &w.keys, change: func(look int) error { return c.change(w, look) }}
			raw, claims, err := minter.Permanent(t.Context(), wanted())
			list, _, listErr := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
			if listErr != nil || len(list) > 10 {
				t.Errorf("%d records, %v", len(list), listErr)
			}
			ofIt := 0
			for _, r := range list {
				if r.ID == claims.ID {
					ofIt++
				}
			}
			if c.want == nil {
				if err != nil || ofIt != 1 || len(list) != 1 {
					t.Fatalf("Issue = %v, with %d of %d records", err, ofIt, len(list))
				}
				accepted(t, w, string(raw))
				return
			}
			if err == nil || c.known && !errors.Is(err, c.want) || raw != "" {
				t.Errorf("Issue = %v, want %v", err, c.want)
			}
			if len(list) != 0 {
				t.Errorf("%d records are left", len(list))
			}
		})
	}
}

// TestT33LimitWithAnOldPair rotates after a Minter has looked for the pair, and lets others mint to
// the limit before the Minter issues. Its Issue does not count what they have minted.
func TestT33LimitWithAnOldPair(t *testing.T) {
	w := newWorld(t)
	if _, _, err := w.minter().Permanent(t.Context(), wanted()); err != nil {
		t.Fatal(err)
	}
	late := w.minter()
	late.Ledger = &before{w.ledger, func() {
		w.rotate(t, time.Hour)
		for range 9 {
			if _, _, err := w.minter().Permanent(t.Context(), wanted()); err != nil {
				t.Fatal(err)
			}
		}
	}}
	if raw, _, err := late.Permanent(t.Context(), wanted()); raw != "" || !errors.Is(err, token.ErrTooMany) {
		t.Errorf("Issue = %v, want ErrTooMany", err)
	}
	if list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage); len(list) != 10 || err != nil {
		t.Errorf("%d records, %v, want the 10 of the others", len(list), err)
	}
}

// before is a Ledger that calls do before the first Issue.
type before struct {
	token.Ledger
	do func()
}

func (b *before) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	if b.do != nil {
		b.do()
		b.do = nil
	}
	return b.Ledger.Issue(ctx, r, verifying, limit)
}

func only(now bool, w *world, do func(*world) error) error {
	if !now {
		return nil
	}
	return do(w)
}

// TestMakerKey mints for a token whose key is present, former, or does not verify any more.
func TestMakerKey(t *testing.T) {
	w := newWorld(t)
	minter := w.minter().MadeBy(token.Lineage{}, kid(t, 0))
	mint := func(what string, want error) {
		t.Helper()
		_, _, ephemeral := minter.Ephemeral(t.Context(), wanted(), 0)
		_, _, permanent := minter.Permanent(t.Context(), wanted())
		_, _, limited := minter.Limited(t.Context(), limited(3))
		for _, err := range []error{ephemeral, permanent, limited} {
			if !errors.Is(err, want) {
				t.Errorf("M20 %s: %v, want %v", what, err, want)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func()
		want   error
	}{
		{"M20 present", func() {}, nil},
		{"M20 former", func() { w.rotate(t, time.Hour) }, nil},
		{"M20 ended", func() { w.advance(time.Hour) }, token.ErrRevoked},
		{"M20 replaced while minting", func() {
			minter = minter.MadeBy(token.Lineage{}, w.rotate(t, time.Hour).KeyID)
			minter.Signers = &changing{Signers: &w.keys, change: func(look int) error {
				if look != 3 {
					return nil
				}
				_, err := w.keys.Generate(t.Context(), "acme", appA)
				return err
			}}
			if _, _, err := minter.Ephemeral(t.Context(), wanted(), 0); err != nil {
				t.Error(err)
			}
			if _, _, err := minter.Permanent(t.Context(), wanted()); !errors.Is(err, token.ErrRevoked) {
				t.Errorf("Issue = %v", err)
			}
		}, token.ErrRevoked},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := 0
			if c.want != nil {
				before = w.records(t)
			}
			c.change()
			mint(c.name, c.want)
			if c.want != nil && w.records(t) != before {
				t.Errorf("%d records, before %d", w.records(t), before)
			}
		})
	}
}

// TestEnsureThatComesLateChangesNothing has an app whose former key has ended, and is another app's now.
func TestEnsureThatComesLateChangesNothing(t *testing.T) {
	w := newWorld(t)
	present := w.rotate(t, time.Minute)
	w.advance(2 * time.Minute)
	if err := w.keys.Put(t.Context(), pairOf(t, 0, appB)); err != nil {
		t.Fatal(err)
	}
	if got, err := w.keys.Make("acme", appA); err != nil || got.KeyID != present.KeyID {
		t.Errorf("Ensure = %v, %v", got, err)
	}
	if got, err := w.keys.Public(t.Context(), kid(t, 0)); err != nil || got.ClientKey != appB {
		t.Errorf("the other app's key: %v, %v", got, err)
	}
}

func (w *world) records(t testing.TB) int {
	t.Helper()
	list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestMinterUndoesAnIssue has a ledger that cannot remove the record.
func TestMinterUndoesAnIssue(t *testing.T) {
	w := newWorld(t)
	minter := w.minter()
	minter.Ledger = unrevocable{w.ledger}
	minter.Signers = &changing{Signers: &w.keys, change: func(look int) error {
		if look == 2 {
			w.rotate(t, time.Hour)
		}
		return nil
	}}
	if raw, _, err := minter.Permanent(t.Context(), wanted()); raw != "" || !errors.Is(err, errBroken) {
		t.Errorf("Issue = %v", err)
	}
}

// TestMinterUndoesAnIssueLate ends the context after the Issue, as the end of a request does. The
// record must not stay: it would count against the limit, and nobody has its token.
func TestMinterUndoesAnIssueLate(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	minter := w.minter()
	minter.Ledger = obedient{w.ledger}
	minter.Signers = &changing{Signers: &w.keys, change: func(look int) error {
		if look == 2 {
			cancel()
		}
		return ctx.Err()
	}}
	if raw, _, err := minter.Permanent(ctx, wanted()); raw != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("Issue = %v", err)
	}
	if list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
		t.Errorf("%d records are left, %v", len(list), err)
	}
}

// obedient is a Ledger that does nothing after ctx has ended.
type obedient struct{ token.Ledger }

func (o obedient) Revoke(ctx context.Context, of token.Holder, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.Ledger.Revoke(ctx, of, id)
}

type unrevocable struct{ token.Ledger }

func (unrevocable) Revoke(context.Context, token.Holder, string) error { return errBroken }

func TestCertificatesOfFormerKeys(t *testing.T) {
	w := newWorld(t)
	if err := w.keys.Expose(t.Context(), "acme", appA, true); err != nil {
		t.Fatal(err)
	}
	second := w.rotate(t, time.Hour)
	list, err := w.keys.Exposed(t.Context(), "acme")
	if err != nil || len(list) != 2 || list[0].KeyID != second.KeyID || list[1].KeyID != kid(t, 0) {
		t.Fatalf("Exposed = %v, %v", list, err)
	}
	for _, kid := range []string{second.KeyID, kid(t, 0)} {
		for what, text := range map[string][]byte{"JWKSet": token.JWKSet(list), "PEM": token.PEM(list)} {
			if !bytes.Contains(text, []byte(kid)) {
				t.Errorf("%s lacks %s", what, kid)
			}
		}
	}
	for _, secret := range []string{fmt.Sprint(second.Ends), "ends"} {
		if bytes.Contains(token.JWKSet(list), []byte(secret)) {
			t.Errorf("the set has a member of no JWK: %s", secret)
		}
	}
}
