package token_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

var someTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clockAt returns a clock that the test sets.
func clockAt(start time.Time) (now func() time.Time, advance func(time.Duration)) {
	var ns atomic.Int64
	ns.Store(start.UnixNano())
	return func() time.Time { return time.Unix(0, ns.Load()).UTC() }, func(d time.Duration) { ns.Add(int64(d)) }
}

func aRecord(id string) token.Record {
	return token.Record{ID: id, Org: "acme", ClientKey: appA, Subject: account, KeyID: "key-1", Issued: someTime}
}

func TestMemoryLedger(t *testing.T) {
	now, advance := clockAt(someTime)
	ledger := token.NewMemoryLedger(now)
	ctx := t.Context()
	issue := func(r token.Record) {
		t.Helper()
		if err := ledger.Issue(ctx, r, nil, 10); err != nil {
			t.Fatal(err)
		}
	}
	spend := func(r token.Record, want error) {
		t.Helper()
		if _, err := ledger.Spend(ctx, r); !errors.Is(err, want) {
			t.Errorf("Spend(%q) = %v, want %v", r.ID, err, want)
		}
	}
	list := func(subject string) (ids []string) {
		t.Helper()
		records, _, err := ledger.List(ctx, heldBy(appA, subject), token.Position{}, token.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if r.MaxUses == 0 {
				r.Uses = 0 // a ledger need not count them
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
	if err := ledger.Issue(ctx, permanent, nil, 10); err == nil || errors.Is(err, token.ErrTooMany) {
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
			if _, err := ledger.Spend(ctx, r); !errors.Is(err, token.ErrRevoked) {
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
	if _, err := ledger.Spend(ctx, limited); !errors.Is(err, token.ErrExhausted) && !errors.Is(err, token.ErrRevoked) {
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
			"": token.ErrNotFound, "unknown": token.ErrNotFound, "PERMANENT": token.ErrNotFound,
			"limited": token.ErrNotFound, "expiring": token.ErrNotFound,
		} {
			if err := ledger.Revoke(ctx, heldBy(appA, token.Any), id); !errors.Is(err, want) {
				t.Errorf("Revoke(%q) = %v, want %v", id, err, want)
			}
		}
		if err := ledger.Revoke(ctx, heldBy(appB, token.Any), "permanent"); !errors.Is(err, token.ErrNotFound) {
			t.Errorf("Revoke for another app = %v, want ErrNotFound", err)
		}
		for _, subject := range [][2]string{{appA, "another"}, {appB, account}} {
			if n, err := ledger.RevokeSubject(ctx, heldBy(subject[0], subject[1])); n != 0 || err != nil {
				t.Errorf("RevokeSubject(%q) = %d, %v", subject, n, err)
			}
		}
		spend(permanent, nil)
	})
	if err := ledger.Revoke(ctx, heldBy(appA, token.Any), "permanent"); err != nil {
		t.Fatal(err)
	}
	spend(permanent, token.ErrRevoked)
	if err := ledger.Revoke(ctx, heldBy(appA, token.Any), "permanent"); !errors.Is(err, token.ErrNotFound) {
		t.Errorf("Revoke again = %v, want ErrNotFound", err)
	}

	for _, id := range []string{"a", "b", "c"} {
		issue(aRecord(id))
	}
	elsewhere := aRecord("d")
	elsewhere.Subject = "another"
	issue(elsewhere)
	if n, err := ledger.RevokeSubject(ctx, heldBy(appA, account)); n != 3 || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want 3", n, err)
	}
	spend(aRecord("a"), token.ErrRevoked)
	spend(elsewhere, nil)
	if list, _, err := ledger.List(ctx, heldBy(appA, account), token.Position{}, token.MaxPage); len(list) != 0 || list == nil || err != nil {
		t.Errorf("List = %v, %v", list, err)
	}
}

func TestMemoryLedgerAndTheDead(t *testing.T) {
	now, advance := clockAt(someTime)
	ledger := token.NewMemoryLedger(now)
	live, expiring, spent := aRecord("live"), aRecord("expiring"), aRecord("spent")
	expiring.Expires, expiring.MaxUses, spent.MaxUses = someTime.Add(time.Second), 5, 1
	for _, r := range []token.Record{live, expiring, spent} {
		if err := ledger.Issue(t.Context(), r, nil, 10); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Spend(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	advance(time.Second)
	if _, err := ledger.Spend(t.Context(), expiring); !errors.Is(err, token.ErrRevoked) {
		t.Errorf("an expired one with uses left: %v, want ErrRevoked", err)
	}
	if _, err := ledger.Spend(t.Context(), spent); !errors.Is(err, token.ErrExhausted) {
		t.Errorf("a spent one: %v, want ErrExhausted", err)
	}
	if n, err := ledger.RevokeSubject(t.Context(), heldBy(appA, account)); n != 1 || err != nil {
		t.Errorf("RevokeSubject = %d, %v, want the one that was live", n, err)
	}
	for _, r := range []token.Record{live, expiring, spent} {
		if _, err := ledger.Spend(t.Context(), r); !errors.Is(err, token.ErrRevoked) {
			t.Errorf("%s: %v, want ErrRevoked", r.ID, err)
		}
	}
}

// together runs f n times concurrently. It returns how often f succeeded, and the
// errors of the other calls.
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

func TestMemoryLedgerUses(t *testing.T) {
	now, _ := clockAt(someTime)
	ledger := token.NewMemoryLedger(now)
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
			if err := ledger.Issue(t.Context(), r, nil, 10); err != nil {
				t.Fatal(err)
			}
			succeeded, errs := together(c.spends, func(int) error {
				_, err := ledger.Spend(t.Context(), r)
				return err
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

func TestMemoryLedgerRevocation(t *testing.T) {
	now, _ := clockAt(someTime)
	ledger := token.NewMemoryLedger(now)
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	race := func(t *testing.T, r token.Record, revoke func() error) {
		t.Helper()
		if err := ledger.Issue(t.Context(), r, nil, rounds+1); err != nil {
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
				_, err := ledger.Spend(t.Context(), r)
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
			race(t, r, func() error { return ledger.Revoke(t.Context(), heldBy(appA, token.Any), r.ID) })
		}
	})
	t.Run("T20 revoke subject racing requests", func(t *testing.T) {
		for i := range rounds {
			r := aRecord(fmt.Sprint("all-", i))
			race(t, r, func() error { _, err := ledger.RevokeSubject(t.Context(), heldBy(appA, account)); return err })
		}
	})
	t.Run("T20 revoke subject while minting", func(t *testing.T) {
		for i := range rounds / 10 {
			early, late := aRecord(fmt.Sprint("early-", i)), aRecord(fmt.Sprint("late-", i))
			if err := ledger.Issue(t.Context(), early, nil, rounds); err != nil {
				t.Fatal(err)
			}
			_, errs := together(2, func(i int) error {
				if i == 0 {
					_, err := ledger.RevokeSubject(t.Context(), heldBy(appA, account))
					return err
				}
				return ledger.Issue(t.Context(), late, nil, rounds)
			})
			for _, err := range errs {
				t.Fatal(err)
			}
			if _, err := ledger.Spend(t.Context(), early); !errors.Is(err, token.ErrRevoked) {
				t.Fatalf("round %d: spend of what was issued before = %v", i, err)
			}
			// The late token may or may not be revoked, but List and Spend must agree.
			list, _, err := ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
			if err != nil {
				t.Fatal(err)
			}
			_, spent := ledger.Spend(t.Context(), late)
			if (len(list) == 1) != (spent == nil) {
				t.Fatalf("round %d: %d listed, spend = %v", i, len(list), spent)
			}
			if _, err := ledger.RevokeSubject(t.Context(), heldBy(appA, account)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestMemoryLedgerLimit(t *testing.T) {
	now, advance := clockAt(someTime)
	ledger := token.NewMemoryLedger(now)
	keys := &token.MemoryKeys{}
	if err := keys.Put(t.Context(), pairOf(t, 0, appA)); err != nil {
		t.Fatal(err)
	}
	minter := token.Minter{Signers: keys, Ledger: ledger, Now: now}
	claims := wanted()

	t.Run("T21 11 parallel mints at limit 10", func(t *testing.T) {
		minted, errs := together(11, func(int) error {
			_, _, err := minter.Permanent(t.Context(), claims)
			return err
		})
		if minted != 10 || len(errs) != 1 || !errors.Is(errs[0], token.ErrTooMany) {
			t.Errorf("%d minted, errors %v", minted, errs)
		}
	})
	mint := func(c token.Claims, want error) string {
		t.Helper()
		c.MaxUses = 1
		_, minted, err := minter.Limited(t.Context(), c)
		if !errors.Is(err, want) {
			t.Errorf("Limited = %v, want %v", err, want)
		}
		return minted.ID
	}
	t.Run("another subject and another app have limits of their own", func(t *testing.T) {
		other := claims
		other.Subject = "another"
		mint(other, nil)
		if err := keys.Put(t.Context(), pairOf(t, 1, appB)); err != nil {
			t.Fatal(err)
		}
		elsewhere := claims
		elsewhere.Issuer = appB
		mint(elsewhere, nil)
		mint(claims, token.ErrTooMany)
	})
	t.Run("what is dead leaves its place", func(t *testing.T) {
		list, _, err := ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
		if err != nil || len(list) != 10 {
			t.Fatalf("List = %d records, %v", len(list), err)
		}
		if err := ledger.Revoke(t.Context(), heldBy(appA, token.Any), list[0].ID); err != nil {
			t.Fatal(err)
		}
		spent := aRecord(mint(claims, nil))
		mint(claims, token.ErrTooMany)
		spent.KeyID, spent.MaxUses = list[0].KeyID, 1
		if _, err := ledger.Spend(t.Context(), spent); err != nil {
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

func TestMemoryLedgerForgetsTheDead(t *testing.T) {
	now, advance := clockAt(someTime)
	ledger := token.NewMemoryLedger(now)
	for i := range 10_000 {
		r := aRecord(fmt.Sprint(i))
		r.Subject, r.Expires = fmt.Sprint("subject-", i), now().Add(time.Second)
		if err := ledger.Issue(t.Context(), r, nil, 10); err != nil {
			t.Fatal(err)
		}
		advance(10 * time.Millisecond)
	}
	// 100 are live at any time, and a bounded number of dead ones may remain.
	if n, subjects := token.LedgerLen(ledger); n > 400 || subjects > n {
		t.Errorf("%d records of %d subjects kept, of which 100 are live", n, subjects)
	}
}

// TestMemoryLedgerTakesManyOfASubject holds the lock of all apps: the work must not grow with the square.
func TestMemoryLedgerTakesManyOfASubject(t *testing.T) {
	const many, more = 100_000, 100_000
	ledger, of := token.NewMemoryLedger(nil), heldBy(appA, account)
	token.Fill(ledger, of, many)
	start := time.Now()
	for i := range more {
		if err := ledger.Issue(t.Context(), aRecord(fmt.Sprint("more-", i)), nil, 2*many); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := ledger.RevokeSubject(t.Context(), of); n != many+more || err != nil {
		t.Errorf("RevokeSubject = %d, %v", n, err)
	}
	if took := time.Since(start); took > 20*time.Second { // it would be minutes
		t.Errorf("Issue and RevokeSubject took %v", took)
	}
	if records, subjects := token.LedgerLen(ledger); records != 0 || subjects != 0 {
		t.Errorf("%d records of %d subjects are left", records, subjects)
	}
}

func TestMemoryLedgerForgetsReplacedKeys(t *testing.T) {
	ledger := token.NewMemoryLedger(nil)
	var last token.Record
	for key := range 50 {
		for i := range 3 {
			last = aRecord(fmt.Sprint(key, "-", i))
			last.KeyID, last.Issued = fmt.Sprint("key-", key), someTime.Add(time.Duration(key)*20*time.Minute)
			if err := ledger.Issue(t.Context(), last, nil, 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n, _ := token.LedgerLen(ledger); n != 12 {
		t.Errorf("%d records of one subject, want those of the last hour", n)
	}
	// An Issue that still holds the key before it must not drop the latest record.
	late := aRecord("late")
	late.KeyID, late.Issued = "key-48", last.Issued
	if err := ledger.Issue(t.Context(), late, nil, 3); err != nil && !errors.Is(err, token.ErrTooMany) {
		t.Fatal(err)
	}
	for i := range 3 {
		last.ID = fmt.Sprint("49-", i)
		if _, err := ledger.Spend(t.Context(), last); err != nil {
			t.Errorf("the latest key's record: %v", err)
		}
	}
}

// The limit of an Issue may be lower than before.
func TestMemoryLedgerKeepsTheLivingUnderALowerLimit(t *testing.T) {
	ledger := token.NewMemoryLedger(nil)
	mine := aRecord("mine")
	issue := func(r token.Record, limit int) {
		t.Helper()
		if err := ledger.Issue(t.Context(), r, nil, limit); err != nil {
			t.Fatal(err)
		}
	}
	issue(mine, 10)
	for i := range 5 {
		other := aRecord(fmt.Sprint("other-", i))
		other.KeyID = "key-2"
		issue(other, 10)
	}
	issue(aRecord("another"), 3)
	if _, err := ledger.Spend(t.Context(), mine); err != nil {
		t.Errorf("a record of the key that issues: %v", err)
	}
}

func TestMemoryLedgerForgetsTheSpent(t *testing.T) {
	ledger := token.NewMemoryLedger(nil)
	const others = 1000
	for i := range others {
		r := aRecord(fmt.Sprint("other-", i))
		r.Subject = fmt.Sprint("subject-", i)
		if err := ledger.Issue(t.Context(), r, nil, 3); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		r := aRecord(fmt.Sprint(i))
		r.MaxUses = 1
		if err := ledger.Issue(t.Context(), r, nil, 3); err != nil {
			t.Fatal(err)
		}
		if _, err := ledger.Spend(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if n, _ := token.LedgerLen(ledger); n > others+1 {
			t.Fatalf("%d records of spent tokens", n-others)
		}
	}
}
