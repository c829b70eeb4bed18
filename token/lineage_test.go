package token_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

// madeBy returns a minter whose tokens descend from a token.
func (w *world) madeBy(parent string) *token.Minter {
	return w.minter().MadeBy(token.Lineage{Maker: "ann", MakerApp: appB, Parent: parent}, "")
}

func TestMintedLineage(t *testing.T) {
	w := newWorld(t)
	var parent, first string
	for i := range token.MaxAncestors + 1 {
		_, c, err := w.madeBy(parent).Limited(t.Context(), limited(5))
		if err != nil {
			t.Fatalf("%d ancestors: %v", i, err)
		}
		list, _, err := w.ledger.List(t.Context(), heldBy(appA, account), token.Position{}, token.MaxPage)
		if err != nil || len(list) != i+1 {
			t.Fatal(list, err)
		}
		for _, r := range list {
			if r.ID == c.ID && r.Lineage != (token.Lineage{Maker: "ann", MakerApp: appB, Parent: parent}) {
				t.Errorf("%d ancestors: recorded %+v", i, r.Lineage)
			}
		}
		if parent = c.ID; first == "" {
			first = c.ID
		}
	}
	t.Run("M08 five makers in a row", func(t *testing.T) {
		if minted, c, err := w.madeBy(parent).Permanent(t.Context(), wanted()); minted != "" || c.ID != "" || !errors.Is(err, token.ErrTooDeep) {
			t.Errorf("Issue = %v, want ErrTooDeep", err)
		}
	})
	t.Run("M07 a token made by a revoked one", func(t *testing.T) {
		if err := w.ledger.Revoke(t.Context(), heldBy(appA, token.Any), first); err != nil {
			t.Fatal(err)
		}
		if minted, c, err := w.madeBy(parent).Permanent(t.Context(), wanted()); minted != "" || c.ID != "" || !errors.Is(err, token.ErrRevoked) {
			t.Errorf("Issue = %v, want ErrRevoked", err)
		}
	})
	t.Run("an ephemeral token has no record", func(t *testing.T) {
		if _, _, err := w.madeBy(parent).Ephemeral(t.Context(), wanted(), 0); err != nil {
			t.Error(err)
		}
	})
}

func TestSpentHasTheLastWord(t *testing.T) {
	w := newWorld(t)
	minted, _, err := w.minter().Limited(t.Context(), limited(3))
	if err != nil {
		t.Fatal(err)
	}
	parent, pc, err := w.minter().Permanent(t.Context(), wanted())
	if err != nil {
		t.Fatal(err)
	}
	child, _, err := w.madeBy(pc.ID).Permanent(t.Context(), wanted())
	if err != nil {
		t.Fatal(err)
	}
	ephemeral, _, err := w.minter().Ephemeral(t.Context(), wanted(), 0)
	if err != nil {
		t.Fatal(err)
	}

	var asked []string
	var answer error
	w.spent = func(_ context.Context, v *token.Verified, l token.Lineage) error {
		asked = append(asked, fmt.Sprintf("%d %s %v", v.MaxUses(), v.Subject(), l))
		return answer
	}
	accepted(t, w, string(minted))
	accepted(t, w, string(parent))
	accepted(t, w, string(child))
	accepted(t, w, string(child)) // from the cache
	accepted(t, w, string(ephemeral))
	none, made := token.Lineage{}, token.Lineage{Maker: "ann", MakerApp: appB, Parent: pc.ID}
	want := []string{
		fmt.Sprintf("3 %s %v", account, none), fmt.Sprintf("0 %s %v", account, none),
		fmt.Sprintf("0 %s %v", account, made), fmt.Sprintf("0 %s %v", account, made),
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Error(diff)
	}

	answer = errors.New("the maker is disabled")
	if got, err := w.verify(t, string(minted)); got != nil || err != answer {
		t.Errorf("Verify = %v, %v, want what Spent says", got, err)
	}
	answer = nil
	accepted(t, w, string(minted)) // the third use of three: the refused one is spent
	asked = nil
	refused(t, w, string(minted), token.ErrExhausted)
	if err := w.ledger.Revoke(t.Context(), heldBy(appA, token.Any), pc.ID); err != nil {
		t.Fatal(err)
	}
	refused(t, w, string(child), token.ErrRevoked)
	if asked != nil {
		t.Errorf("asked about tokens that were refused: %q", asked)
	}
}

// rowOf issues a chain of n records, each the parent of the next.
func rowOf(t *testing.T, ledger token.Ledger, name string, n int) (row []token.Record) {
	t.Helper()
	parent := ""
	for i := range n {
		r := aRecord(fmt.Sprint(name, "-", i))
		r.Subject, r.Parent = r.ID, parent
		if err := ledger.Issue(t.Context(), r, nil, 10); err != nil {
			t.Fatal(err)
		}
		row, parent = append(row, r), r.ID
	}
	return row
}

// TestMemoryLedgerDamaged has circles, and more ancestors than allowed.
func TestMemoryLedgerDamaged(t *testing.T) {
	ledger := token.NewMemoryLedger(nil)
	dead := func(what string, r token.Record) {
		t.Helper()
		if _, err := ledger.Spend(t.Context(), r); !errors.Is(err, token.ErrRevoked) {
			t.Errorf("%s: Spend = %v, want ErrRevoked", what, err)
		}
	}
	for n := range token.MaxAncestors + 1 {
		circle := rowOf(t, ledger, fmt.Sprint("circle-", n), n+1)
		token.SetParent(ledger, circle[0], circle[n].ID)
		for i, r := range circle {
			dead(fmt.Sprintf("M08 %d in a circle of %d", i, n+1), r)
		}
	}
	top, row := rowOf(t, ledger, "top", 2), rowOf(t, ledger, "row", token.MaxAncestors+1)
	token.SetParent(ledger, row[0], top[1].ID)
	for i, r := range row {
		if i+2 > token.MaxAncestors {
			dead(fmt.Sprintf("M08 %d ancestors", i+2), r)
		} else if _, err := ledger.Spend(t.Context(), r); err != nil {
			t.Errorf("%d ancestors: %v", i+2, err)
		}
	}
}

// TestMemoryLedgerSpendsWithoutMemory spends a record with MaxAncestors ancestors.
func TestMemoryLedgerSpendsWithoutMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ledger := token.NewMemoryLedger(nil)
	r := rowOf(t, ledger, "record", token.MaxAncestors+1)[token.MaxAncestors]
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		if l, err := ledger.Spend(ctx, r); err != nil || l.Parent == "" {
			t.Fatal(l, err)
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// TestMemoryLedgerForgetsDescendants revokes the maker of records whose subjects
// are never seen again.
func TestMemoryLedgerForgetsDescendants(t *testing.T) {
	ledger := token.NewMemoryLedger(nil)
	for i := range 2000 {
		parent := aRecord(fmt.Sprint("parent-", i))
		if err := ledger.Issue(t.Context(), parent, nil, 10); err != nil {
			t.Fatal(err)
		}
		for j := range 3 {
			child := aRecord(fmt.Sprint("child-", i, "-", j))
			child.Subject, child.Parent = child.ID, parent.ID
			if err := ledger.Issue(t.Context(), child, nil, 10); err != nil {
				t.Fatal(err)
			}
		}
		if err := ledger.Revoke(t.Context(), heldBy(appA, token.Any), parent.ID); err != nil {
			t.Fatal(err)
		}
	}
	if n, subjects := token.LedgerLen(ledger); n > 100 || subjects > n {
		t.Errorf("%d records of %d subjects, all of them dead", n, subjects)
	}
}

// TestMemoryLedgerPrunesDescendants checks that the next Issue for a subject drops
// records whose ancestors are dead.
func TestMemoryLedgerPrunesDescendants(t *testing.T) {
	ledger := token.NewMemoryLedger(nil)
	parent := aRecord("parent")
	parent.Subject = "maker"
	if err := ledger.Issue(t.Context(), parent, nil, 10); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		child := aRecord(fmt.Sprint("child-", i))
		child.Parent, child.Expires = parent.ID, someTime.Add(100*365*24*time.Hour)
		if err := ledger.Issue(t.Context(), child, nil, 50); err != nil {
			t.Fatal(err)
		}
	}
	if err := ledger.Revoke(t.Context(), heldBy(appA, token.Any), parent.ID); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Issue(t.Context(), aRecord("next"), nil, 1); err != nil {
		t.Fatal(err)
	}
	if n, _ := token.LedgerLen(ledger); n != 1 {
		t.Errorf("%d records, want the one that is live", n)
	}
}
