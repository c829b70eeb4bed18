package token_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

func TestMemoryLedgerForgetsTheDead(t *testing.T) {
	now, advance := clockAt(someTime)
	ledger := &token.MemoryLedger{Now: now}
	for i := range 10_000 {
		r := aRecord(fmt.Sprint(i))
		r.Subject, r.Expires = fmt.Sprint("subject-", i), now().Add(time.Second)
		if err := ledger.Issue(t.Context(), r, 10); err != nil {
			t.Fatal(err)
		}
		advance(10 * time.Millisecond)
	}
	// 100 live at any time, and as many as a few looks at each issue let grow.
	if n := ledger.Len(); n > 400 {
		t.Errorf("%d records kept, of which 100 are live", n)
	}
}

func TestMemoryLedgerForgetsReplacedKeys(t *testing.T) {
	ledger := &token.MemoryLedger{}
	var last token.Record
	for key := range 50 {
		for i := range 3 {
			last = aRecord(fmt.Sprint(key, "-", i))
			last.KeyID = fmt.Sprint("key-", key)
			if err := ledger.Issue(t.Context(), last, 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := ledger.Len(); n > 6 {
		t.Errorf("%d records of one subject at limit 3", n)
	}
	// An Issue that still holds the key before it must cost the latest nothing.
	late := aRecord("late")
	late.KeyID = "key-48"
	if err := ledger.Issue(t.Context(), late, 3); err != nil && !errors.Is(err, token.ErrTooMany) {
		t.Fatal(err)
	}
	if err := ledger.Spend(t.Context(), last); err != nil {
		t.Errorf("the latest key's record: %v", err)
	}
}

func TestMemoryLedgerForgetsTheSpent(t *testing.T) {
	ledger := &token.MemoryLedger{}
	const others = 1000
	for i := range others {
		r := aRecord(fmt.Sprint("other-", i))
		r.Subject = fmt.Sprint("subject-", i)
		if err := ledger.Issue(t.Context(), r, 3); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		r := aRecord(fmt.Sprint(i))
		r.MaxUses = 1
		if err := ledger.Issue(t.Context(), r, 3); err != nil {
			t.Fatal(err)
		}
		if err := ledger.Spend(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if n := ledger.Len(); n > others+1 {
			t.Fatalf("%d records of spent tokens", n-others)
		}
	}
}
