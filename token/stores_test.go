package token_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

// keyStore is what a store of key pairs does, beside being looked up.
type keyStore interface {
	token.Keys
	token.Signers
	token.Exposed
	Put(ctx context.Context, pair *token.KeyPair) error
	Expose(ctx context.Context, clientKey string, exposed bool) error
	Delete(ctx context.Context, clientKey string) error
}

// stores opens empty stores. now is their clock; a store with a clock of its
// own may ignore it. What is opened a second time shares the data of the
// first, as another process would.
type stores struct {
	ledger func(t *testing.T, now func() time.Time) (first, second token.Ledger)
	keys   func(t *testing.T) (first, second keyStore)
}

func TestMemoryStores(t *testing.T) {
	testStores(t, stores{
		ledger: func(_ *testing.T, now func() time.Time) (token.Ledger, token.Ledger) {
			m := &token.MemoryLedger{Now: now}
			return m, m
		},
		keys: func(*testing.T) (keyStore, keyStore) {
			m := &token.MemoryKeys{}
			return m, m
		},
	})
}

func testStores(t *testing.T, s stores) {
	t.Run("ledger", func(t *testing.T) { testLedger(t, s) })
	t.Run("uses", func(t *testing.T) { testUses(t, s) })
	t.Run("revocation", func(t *testing.T) { testRevocation(t, s) })
	t.Run("limit", func(t *testing.T) { testLimit(t, s) })
	t.Run("regeneration", func(t *testing.T) { testRegeneration(t, s) })
	t.Run("keys", func(t *testing.T) { testKeys(t, s) })
}

var someTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clockAt returns a clock that the test sets.
func clockAt(start time.Time) (now func() time.Time, advance func(time.Duration)) {
	var ns atomic.Int64
	ns.Store(start.UnixNano())
	return func() time.Time { return time.Unix(0, ns.Load()).UTC() }, func(d time.Duration) { ns.Add(int64(d)) }
}

func aRecord(id string) token.Record {
	return token.Record{ID: id, ClientKey: appA, Subject: account, KeyID: "key-1", Issued: someTime}
}

func testLedger(t *testing.T, s stores) {
	now, advance := clockAt(someTime)
	ledger, _ := s.ledger(t, now)
	ctx := t.Context()
	issue := func(r token.Record) {
		t.Helper()
		if err := ledger.Issue(ctx, r, 10); err != nil {
			t.Fatal(err)
		}
	}
	spend := func(r token.Record, want error) {
		t.Helper()
		if err := ledger.Spend(ctx, r); !errors.Is(err, want) {
			t.Errorf("Spend(%q) = %v, want %v", r.ID, err, want)
		}
	}
	list := func(subject string) (ids []string) {
		t.Helper()
		records, err := ledger.List(ctx, appA, subject)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.MaxUses == 0 {
				r.Uses = 0 // whether they are counted is open
			}
			ids = append(ids, fmt.Sprintf("%s %d/%d", r.ID, r.Uses, r.MaxUses))
		}
		return ids
	}

	permanent, limited, expiring := aRecord("permanent"), aRecord("limited"), aRecord("expiring")
	limited.MaxUses, limited.Uses, limited.Issued = 2, 1, someTime.Add(time.Second)
	expiring.Expires, expiring.Issued = someTime.Add(time.Minute), someTime.Add(2*time.Second)
	for _, r := range []token.Record{permanent, limited, expiring} {
		issue(r)
	}
	if err := ledger.Issue(ctx, permanent, 10); err == nil || errors.Is(err, token.ErrTooMany) {
		t.Errorf("Issue of an id that is there = %v", err)
	}

	t.Run("T24 a record that differs is another token's", func(t *testing.T) {
		for name, change := range map[string]func(*token.Record){
			"id":         func(r *token.Record) { r.ID = "unknown" },
			"id in case": func(r *token.Record) { r.ID = "LIMITED" },
			"client key": func(r *token.Record) { r.ClientKey = appB },
			"subject":    func(r *token.Record) { r.Subject = "another" },
			"key":        func(r *token.Record) { r.KeyID = "key-2" },
			"uses":       func(r *token.Record) { r.MaxUses = 3 },
			"no uses":    func(r *token.Record) { r.MaxUses = 0 },
		} {
			r := limited
			change(&r)
			if err := ledger.Spend(ctx, r); !errors.Is(err, token.ErrRevoked) {
				t.Errorf("%s: Spend = %v, want ErrRevoked", name, err)
			}
		}
	})

	spend(limited, nil)
	spend(permanent, nil)
	if diff := cmp.Diff([]string{"permanent 0/0", "limited 1/2", "expiring 0/0"}, list(account)); diff != "" {
		t.Error(diff)
	}
	spend(limited, nil)
	if err := ledger.Spend(ctx, limited); !errors.Is(err, token.ErrExhausted) && !errors.Is(err, token.ErrRevoked) {
		t.Errorf("Spend of a spent one = %v", err)
	}
	advance(time.Minute - time.Nanosecond)
	spend(expiring, nil)
	advance(time.Nanosecond)
	spend(expiring, token.ErrRevoked)
	if diff := cmp.Diff([]string{"permanent 0/0"}, list(account)); diff != "" {
		t.Error(diff)
	}

	t.Run("T23 what cannot be revoked", func(t *testing.T) {
		for id, want := range map[string]error{
			"": token.ErrEphemeral, "unknown": token.ErrNotFound, "PERMANENT": token.ErrNotFound,
			"limited": token.ErrNotFound, "expiring": token.ErrNotFound,
		} {
			if err := ledger.Revoke(ctx, appA, id); !errors.Is(err, want) {
				t.Errorf("Revoke(%q) = %v, want %v", id, err, want)
			}
		}
		if err := ledger.Revoke(ctx, appB, "permanent"); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Revoke for another app = %v, want ErrNotFound", err)
		}
		for _, subject := range [][2]string{{appA, "another"}, {appB, account}, {appA, ""}} {
			if n, err := ledger.RevokeSubject(ctx, subject[0], subject[1]); n != 0 || err != nil {
				t.Errorf("RevokeSubject(%q) = %d, %v", subject, n, err)
			}
		}
		spend(permanent, nil)
	})
	if err := ledger.Revoke(ctx, appA, "permanent"); err != nil {
		t.Fatal(err)
	}
	spend(permanent, token.ErrRevoked)
	if err := ledger.Revoke(ctx, appA, "permanent"); !errors.Is(err, token.ErrNotFound) {
		t.Errorf("Revoke again = %v, want ErrNotFound", err)
	}

	for _, id := range []string{"a", "b", "c"} {
		issue(aRecord(id))
	}
	elsewhere := aRecord("d")
	elsewhere.Subject = "another"
	issue(elsewhere)
	if n, err := ledger.RevokeSubject(ctx, appA, account); n != 3 || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want 3", n, err)
	}
	spend(aRecord("a"), token.ErrRevoked)
	spend(elsewhere, nil)
	if list, err := ledger.List(ctx, appA, account); len(list) != 0 || list == nil || err != nil {
		t.Errorf("List = %v, %v", list, err)
	}
}

// together runs f n times at once and returns how often it succeeded and the
// errors of the other times.
func together(n int, f func(i int) error) (succeeded int, errs []error) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			err := f(i)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				succeeded++
			} else {
				errs = append(errs, err)
			}
		})
	}
	close(start)
	wg.Wait()
	return succeeded, errs
}

func testUses(t *testing.T, s stores) {
	now, _ := clockAt(someTime)
	first, second := s.ledger(t, now)
	for _, c := range []struct {
		name         string
		uses, spends int
	}{
		{"T19 one use, 200 at once", 1, 200},
		{"T19 25 uses, 250 at once", 25, 250},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := aRecord(c.name)
			r.MaxUses = int64(c.uses)
			if err := first.Issue(t.Context(), r, 10); err != nil {
				t.Fatal(err)
			}
			succeeded, errs := together(c.spends, func(i int) error {
				return []token.Ledger{first, second}[i%2].Spend(t.Context(), r)
			})
			if succeeded != c.uses {
				t.Errorf("%d of %d spends succeeded, want %d", succeeded, c.spends, c.uses)
			}
			for _, err := range errs {
				if !errors.Is(err, token.ErrExhausted) && !errors.Is(err, token.ErrRevoked) {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}

func testRevocation(t *testing.T, s stores) {
	now, _ := clockAt(someTime)
	first, second := s.ledger(t, now)
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	race := func(t *testing.T, r token.Record, revoke func() error) {
		t.Helper()
		if err := first.Issue(t.Context(), r, rounds+1); err != nil {
			t.Fatal(err)
		}
		var revoked atomic.Bool
		_, errs := together(4, func(i int) error {
			if i == 0 {
				err := revoke()
				revoked.Store(true)
				return err
			}
			for range 3 {
				after := revoked.Load()
				err := []token.Ledger{first, second}[i%2].Spend(t.Context(), r)
				if after && !errors.Is(err, token.ErrRevoked) {
					return fmt.Errorf("spent after it was revoked: %v", err)
				}
			}
			return nil
		})
		for _, err := range errs {
			t.Fatal(err)
		}
	}
	t.Run("T20 revoke racing requests", func(t *testing.T) {
		for i := range rounds {
			r := aRecord(fmt.Sprint("one-", i))
			race(t, r, func() error { return second.Revoke(t.Context(), appA, r.ID) })
		}
	})
	t.Run("T20 revoke subject racing requests", func(t *testing.T) {
		for i := range rounds {
			r := aRecord(fmt.Sprint("all-", i))
			race(t, r, func() error { _, err := second.RevokeSubject(t.Context(), appA, account); return err })
		}
	})
	t.Run("T20 revoke subject while minting", func(t *testing.T) {
		for i := range rounds / 10 {
			early, late := aRecord(fmt.Sprint("early-", i)), aRecord(fmt.Sprint("late-", i))
			if err := first.Issue(t.Context(), early, rounds); err != nil {
				t.Fatal(err)
			}
			_, errs := together(2, func(i int) error {
				if i == 0 {
					_, err := second.RevokeSubject(t.Context(), appA, account)
					return err
				}
				return first.Issue(t.Context(), late, rounds)
			})
			for _, err := range errs {
				t.Fatal(err)
			}
			if err := first.Spend(t.Context(), early); !errors.Is(err, token.ErrRevoked) {
				t.Fatalf("round %d: spend of what was issued before = %v", i, err)
			}
			// Whether the late one is among them is open, but not what is said of it.
			list, err := first.List(t.Context(), appA, account)
			if err != nil {
				t.Fatal(err)
			}
			spent := first.Spend(t.Context(), late)
			if (len(list) == 1) != (spent == nil) {
				t.Fatalf("round %d: %d listed, spend = %v", i, len(list), spent)
			}
			if _, err := first.RevokeSubject(t.Context(), appA, account); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func testLimit(t *testing.T, s stores) {
	now, advance := clockAt(someTime)
	first, second := s.ledger(t, now)
	keys, _ := s.keys(t)
	if err := keys.Put(t.Context(), pairOf(t, 0, appA)); err != nil {
		t.Fatal(err)
	}
	minters := []*token.Minter{
		{Signers: keys, Ledger: first, Now: now},
		{Signers: keys, Ledger: second, Now: now},
	}
	claims := wanted()

	t.Run("T21 11 parallel mints at limit 10", func(t *testing.T) {
		minted, errs := together(11, func(i int) error {
			_, _, err := minters[i%2].Permanent(t.Context(), claims)
			return err
		})
		if minted != 10 || len(errs) != 1 || !errors.Is(errs[0], token.ErrTooMany) {
			t.Errorf("%d minted, errors %v", minted, errs)
		}
	})
	mint := func(c token.Claims, want error) string {
		t.Helper()
		_, minted, err := minters[0].Limited(t.Context(), c, 1)
		if !errors.Is(err, want) {
			t.Errorf("Limited = %v, want %v", err, want)
		}
		return minted.ID
	}
	t.Run("another subject and another app have limits of their own", func(t *testing.T) {
		other := claims
		other.Subject = "another"
		mint(other, nil)
		mint(claims, token.ErrTooMany)
	})
	t.Run("what is dead leaves its place", func(t *testing.T) {
		list, err := first.List(t.Context(), appA, account)
		if err != nil || len(list) != 10 {
			t.Fatalf("List = %d records, %v", len(list), err)
		}
		if err := first.Revoke(t.Context(), appA, list[0].ID); err != nil {
			t.Fatal(err)
		}
		spent := aRecord(mint(claims, nil))
		mint(claims, token.ErrTooMany)
		spent.KeyID, spent.MaxUses = list[0].KeyID, 1
		if err := first.Spend(t.Context(), spent); err != nil {
			t.Fatal(err)
		}
		expiring := claims
		expiring.Expires = now().Add(time.Minute)
		mint(expiring, nil)
		mint(claims, token.ErrTooMany)
		advance(time.Minute)
		mint(claims, nil)
		mint(claims, token.ErrTooMany)
	})
	t.Run("tokens of a replaced key are not counted", func(t *testing.T) {
		if err := keys.Put(t.Context(), pairOf(t, 2, appA)); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			mint(claims, nil)
		}
		mint(claims, token.ErrTooMany)
	})
}

func testRegeneration(t *testing.T, s stores) {
	now, _ := clockAt(someTime)
	first, _ := s.ledger(t, now)
	keys, elsewhere := s.keys(t)
	ctx := t.Context()
	if err := keys.Put(ctx, pairOf(t, 0, appA)); err != nil {
		t.Fatal(err)
	}
	cached := token.Cached(elsewhere, 0)
	here := &token.Verifier{Keys: keys, Ledger: first, Cache: &token.Cache{}, Now: now}
	near := &token.Verifier{Keys: cached, Ledger: first, Cache: &token.Cache{}, Now: now}
	minter := token.Minter{Signers: keys, Ledger: first, Now: now}
	want := token.Expect{Org: "acme", Audience: audience}

	mint := func() []string {
		t.Helper()
		ephemeral, err := minter.Ephemeral(ctx, wanted(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		permanent, _, err := minter.Permanent(ctx, wanted())
		if err != nil {
			t.Fatal(err)
		}
		return []string{string(ephemeral), string(permanent)}
	}
	verify := func(v *token.Verifier, tokens []string, good bool) {
		t.Helper()
		for i, raw := range tokens {
			if _, err := v.Verify(ctx, raw, want); (err == nil) != good || !good && !errors.Is(err, token.ErrInvalid) {
				t.Errorf("token %d: %v, want accepted: %v", i, err, good)
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func() error
	}{
		{"T22 regenerate", func() error { return keys.Put(ctx, pairOf(t, 2, appA)) }},
		{"T22 delete the app", func() error { return keys.Delete(ctx, appA) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			tokens := mint()
			verify(here, tokens, true)
			verify(near, tokens, true)
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
			verify(here, tokens, false)
			cached.Invalidate(appA)
			verify(near, tokens, false)
		})
	}
	if _, err := minter.Ephemeral(ctx, wanted(), 0); !errors.Is(err, token.ErrNoKeyPair) {
		t.Errorf("minting for a deleted app: %v, want ErrNoKeyPair", err)
	}
}

func testKeys(t *testing.T, s stores) {
	keys, elsewhere := s.keys(t)
	ctx := t.Context()
	put := func(pair *token.KeyPair, exposed bool) {
		t.Helper()
		pair.Exposed = exposed
		if err := keys.Put(ctx, pair); err != nil {
			t.Fatal(err)
		}
	}
	exposed := func(org string) (apps []string) {
		t.Helper()
		list, err := elsewhere.Exposed(ctx, org)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list {
			apps = append(apps, k.ClientKey+" "+k.KeyID)
		}
		return apps
	}

	t.Run("what is absent", func(t *testing.T) {
		if _, err := keys.Public(ctx, kid(t, 0)); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Public = %v, want ErrNotFound", err)
		}
		if _, err := keys.Signer(ctx, appA); !errors.Is(err, token.ErrNoKeyPair) {
			t.Errorf("Signer = %v, want ErrNoKeyPair", err)
		}
		if err := keys.Delete(ctx, appA); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Delete = %v, want ErrNotFound", err)
		}
		if err := keys.Expose(ctx, appA, true); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Expose = %v, want ErrNotFound", err)
		}
		if list, err := keys.Exposed(ctx, "acme"); list == nil || len(list) != 0 || err != nil {
			t.Errorf("Exposed = %v, %v, want an empty list", list, err)
		}
	})
	put(pairOf(t, 0, appA), false)
	put(pairOf(t, 1, appB), true)

	t.Run("what is there", func(t *testing.T) {
		want := pairOf(t, 0, appA)
		got, err := elsewhere.Public(ctx, want.KeyID)
		if err != nil || got.ClientKey != appA || got.Org != "acme" || got.Exposed || !got.Key.Equal(want.Key) {
			t.Errorf("Public = %+v, %v", got, err)
		}
		pair, err := elsewhere.Signer(ctx, appA)
		if err != nil || pair.KeyID != want.KeyID || pair.Validate() != nil {
			t.Errorf("Signer = %v, %v", pair, err)
		}
	})
	t.Run("a pair has one owner", func(t *testing.T) {
		if err := keys.Put(ctx, pairOf(t, 0, appB)); !errors.Is(err, token.ErrBadKey) {
			t.Errorf("Put = %v, want ErrBadKey", err)
		}
		if got, err := keys.Public(ctx, kid(t, 0)); err != nil || got.ClientKey != appA {
			t.Errorf("Public = %+v, %v", got, err)
		}
		if _, err := keys.Public(ctx, kid(t, 1)); err != nil {
			t.Errorf("the pair it had: %v", err)
		}
	})
	t.Run("a pair that is not fit is not kept", func(t *testing.T) {
		bad := pairOf(t, 2, "a\nb")
		if err := keys.Put(ctx, bad); !errors.Is(err, token.ErrBadKey) {
			t.Errorf("Put = %v, want ErrBadKey", err)
		}
	})
	t.Run("K01 apps that do not expose their key are absent", func(t *testing.T) {
		if diff := cmp.Diff([]string{appB + " " + kid(t, 1)}, exposed("acme")); diff != "" {
			t.Error(diff)
		}
		if err := keys.Expose(ctx, appA, true); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{appA + " " + kid(t, 0), appB + " " + kid(t, 1)}, exposed("acme")); diff != "" {
			t.Error(diff)
		}
		if got := exposed("other"); got != nil {
			t.Errorf("another org sees %v", got)
		}
		if err := keys.Expose(ctx, appB, false); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{appA + " " + kid(t, 0)}, exposed("acme")); diff != "" {
			t.Error(diff)
		}
		if _, err := keys.Public(ctx, kid(t, 1)); err != nil {
			t.Errorf("a key that is not exposed does not verify: %v", err)
		}
	})
	t.Run("K02 regenerating while the set is read", func(t *testing.T) {
		put(pairOf(t, 1, appB), true)
		done := make(chan error, 1)
		stop := make(chan struct{})
		go func() {
			for i := 0; ; i++ {
				pair := pairOf(t, []int{0, 2}[i%2], appA)
				pair.Exposed = true
				err := keys.Put(ctx, pair)
				select {
				case <-stop:
					done <- err
					return
				default:
				}
				if err != nil {
					done <- err
					return
				}
			}
		}()
		old := []string{appA + " " + kid(t, 0), appB + " " + kid(t, 1)}
		new := []string{appA + " " + kid(t, 2), appB + " " + kid(t, 1)}
		for range 1000 {
			if got := exposed("acme"); !slices.Equal(got, old) && !slices.Equal(got, new) {
				t.Fatalf("the set is neither old nor new: %v", got)
			}
		}
		close(stop)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a replaced pair is gone", func(t *testing.T) {
		put(pairOf(t, 0, appA), false)
		put(pairOf(t, 2, appA), false)
		if _, err := elsewhere.Public(ctx, kid(t, 0)); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Public = %v, want ErrNotFound", err)
		}
		if pair, err := elsewhere.Signer(ctx, appA); err != nil || pair.KeyID != kid(t, 2) {
			t.Errorf("Signer = %v, %v", pair, err)
		}
	})
	t.Run("a deleted pair is gone, and may come back", func(t *testing.T) {
		if err := keys.Delete(ctx, appA); err != nil {
			t.Fatal(err)
		}
		if _, err := elsewhere.Public(ctx, kid(t, 2)); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Public = %v, want ErrNotFound", err)
		}
		put(pairOf(t, 2, appA), false)
		if _, err := elsewhere.Public(ctx, kid(t, 2)); err != nil {
			t.Errorf("Public = %v", err)
		}
	})
}
