package enginetest

import (
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// ledgerOf is a ledger whose records a test can read and damage.
type ledgerOf struct {
	token.Ledger
	setParent func(t *testing.T, r token.Record, parent string)
	uses      func(t *testing.T, r token.Record) (n int)
}

// eachLedger runs a test over a ledger in each engine.
func eachLedger(t *testing.T, test func(t *testing.T, l ledgerOf)) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			test(t, h.ledger(t, h.store(t)))
		})
	}
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		s := startRedis(t)
		key := func(r token.Record) string {
			return fmt.Sprint("tenantkit:t:", len(r.ClientKey), ":", r.ClientKey, r.ID)
		}
		test(t, ledgerOf{
			Ledger:    storesAt(t, s.addr()).ledger,
			setParent: func(t *testing.T, r token.Record, parent string) { s.command(t, "HSET", key(r), "p", parent) },
			uses: func(t *testing.T, r token.Record) (n int) {
				fmt.Sscan(fmt.Sprint(s.command(t, "HGET", key(r), "n")), &n)
				return n
			},
		})
	})
}

func (h home) ledger(t *testing.T, s *sqlstore.Store) ledgerOf {
	db, where := h.open(t), " WHERE client_key = $1 AND id = $2"
	return ledgerOf{
		Ledger: s.Ledger(),
		setParent: func(t *testing.T, r token.Record, parent string) {
			if _, err := db.Exec("UPDATE "+h.prefix+"ledger SET parent = $3"+where, r.ClientKey, r.ID, parent); err != nil {
				t.Fatal(err)
			}
		},
		uses: func(t *testing.T, r token.Record) (n int) {
			if err := db.QueryRow("SELECT uses FROM "+h.prefix+"ledger"+where, r.ClientKey, r.ID).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
	}
}

// row issues a record of the app and its descendants, n records in all. Each is the parent of the
// next one, and each has its own subject.
func (l ledgerOf) row(t *testing.T, app string, n int) (row []token.Record) {
	t.Helper()
	parent := ""
	for range n {
		r := aToken()
		r.ClientKey, r.Subject, r.MaxUses, r.Parent = app, rand.Text(), 100, parent
		if err := l.Issue(t.Context(), r, nil, 10); err != nil {
			t.Fatal(err)
		}
		row, parent = append(row, r), r.ID
	}
	return row
}

// TestM07NoUseIsDebited reads the count, which the contract cannot see.
func TestM07NoUseIsDebited(t *testing.T) {
	eachLedger(t, func(t *testing.T, l ledgerOf) {
		row := l.row(t, rand.Text(), 3)
		child := row[2]
		expect(t, "before", spend(t.Context(), l, child), nil)
		expect(t, "Revoke", l.Revoke(t.Context(), heldBy(child.ClientKey, token.Any), row[0].ID), nil)
		for range 3 {
			expect(t, "M07 afterwards", spend(t.Context(), l, child), token.ErrRevoked)
		}
		if n := l.uses(t, child); n != 1 {
			t.Errorf("M07 %d uses are counted, want 1", n)
		}
	})
}

// TestSpentTokensAreSaidToBe checks the error for a token without uses left. The contract leaves it
// open; these ledgers know the reason for a while.
func TestSpentTokensAreSaidToBe(t *testing.T) {
	eachLedger(t, func(t *testing.T, l ledgerOf) {
		r := aToken()
		r.MaxUses = 2
		expect(t, "Issue", l.Issue(t.Context(), r, nil, 10), nil)
		for _, want := range []error{nil, nil, token.ErrExhausted, token.ErrExhausted} {
			expect(t, "Spend", spend(t.Context(), l, r), want)
		}
		expect(t, "Revoke", l.Revoke(t.Context(), r.Holder(), r.ID), token.ErrNotFound)
	})
}

// TestM08DamagedLineage writes what no ledger writes: cycles, and more ancestors than allowed.
func TestM08DamagedLineage(t *testing.T) {
	eachLedger(t, func(t *testing.T, l ledgerOf) {
		ctx, app := t.Context(), rand.Text()
		dead := func(what string, r token.Record) {
			t.Helper()
			expect(t, what, spend(ctx, l, r), token.ErrRevoked)
			if list, _, err := l.List(ctx, heldBy(app, r.Subject), token.Position{}, token.MaxPage); len(list) != 0 || err != nil {
				t.Errorf("%s: List = %v, %v", what, list, err)
			}
			child := aToken()
			child.ClientKey, child.Parent = app, r.ID
			expect(t, what+", Issue of a child", l.Issue(ctx, child, nil, 10), token.ErrRevoked)
			if n := l.uses(t, r); n != 0 {
				t.Errorf("%s: %d uses", what, n)
			}
		}
		for n := range token.MaxAncestors + 1 {
			circle := l.row(t, app, n+1)
			l.setParent(t, circle[0], circle[n].ID)
			for i, r := range circle {
				dead(fmt.Sprintf("M08 %d in a circle of %d", i, n+1), r)
			}
			expect(t, "Revoke", l.Revoke(ctx, heldBy(app, token.Any), circle[0].ID), token.ErrNotFound)
			if n, err := l.RevokeSubject(ctx, heldBy(app, circle[n].Subject)); n != 0 || err != nil {
				t.Errorf("RevokeSubject = %d, %v", n, err)
			}
		}
		top, row := l.row(t, app, 2), l.row(t, app, token.MaxAncestors+1)
		l.setParent(t, row[0], top[1].ID)
		for i, r := range row {
			if i+2 <= token.MaxAncestors {
				expect(t, fmt.Sprintf("%d ancestors", i+2), spend(ctx, l, r), nil)
				continue
			}
			dead(fmt.Sprintf("M08 %d ancestors", i+2), r)
		}
	})
}

// TestRedisForgetsDescendants has records whose own expiry is later than their parent's, and a
// subject whose records are dead because of their parent.
func TestRedisForgetsDescendants(t *testing.T) {
	s := startRedis(t)
	ledger, ctx := storesAt(t, s.addr()).ledger, t.Context()
	soon := time.Now().Add(time.Hour).Truncate(time.Second)
	parent, child, grandchild := tokenOf("parent", 0), tokenOf("child", 0), tokenOf("grandchild", 0)
	parent.Expires, child.Parent = soon, parent.ID
	grandchild.Expires, grandchild.Parent = soon.Add(time.Hour), child.ID
	for _, r := range []token.Record{parent, child, grandchild} {
		expect(t, "Issue", ledger.Issue(ctx, r, nil, 10), nil)
		if end := s.command(t, "PEXPIRETIME", "tenantkit:t:3:app"+r.ID).(int64); end < 0 || end > soon.UnixMilli() {
			t.Errorf("%s is kept until %d, and its parent ends at %d", r.ID, end, soon.UnixMilli())
		}
	}
	list, _, err := ledger.List(ctx, heldBy("app", "ann"), token.Position{}, token.MaxPage)
	endless := func(r token.Record) bool { return r.Expires.IsZero() }
	if err != nil || len(list) != 3 || !slices.ContainsFunc(list, endless) {
		t.Errorf("List = %+v, %v, want that the child never expires by itself", list, err)
	}
	s.command(t, "FLUSHALL")

	parent.Expires = time.Time{}
	expect(t, "Issue", ledger.Issue(ctx, parent, nil, 10), nil)
	for i := range 5 {
		r := tokenOf(fmt.Sprint("child", i), 0)
		r.Subject, r.Parent = "bob", parent.ID
		expect(t, "Issue", ledger.Issue(ctx, r, nil, 10), nil)
	}
	expect(t, "Revoke", ledger.Revoke(ctx, heldBy("app", token.Any), parent.ID), nil)
	next := tokenOf("next", 0)
	next.Subject = "bob"
	expect(t, "Issue", ledger.Issue(ctx, next, nil, 1), nil)
	if keys := s.keys(t); len(keys) != 4 {
		t.Errorf("%d keys, want a record and its three indexes: %s", len(keys), keys)
	}
	if n := s.command(t, "ZCARD", "tenantkit:l:app"); n != int64(1) {
		t.Errorf("the index of the app names %v", n)
	}
}

// TestRecordsOfReplacedKeysAreBounded issues with one key, and then with the next. The order of ids
// and keys differs from the order of issue.
func TestRecordsOfReplacedKeysAreBounded(t *testing.T) {
	ledgers := map[string]token.Ledger{}
	for _, h := range homes(t) {
		ledgers[h.name] = h.store(t).Ledger()
	}
	ledgers["Redis"] = storesAt(t, startRedis(t).addr()).ledger
	for name, ledger := range ledgers {
		t.Run(name, func(t *testing.T) {
			r := aToken()
			begin := time.Now().Add(-2 * time.Hour).Truncate(time.Second)
			issue := func(key string, i int) {
				t.Helper()
				r.KeyID, r.ID, r.Issued = key, fmt.Sprint(key, 99-i), begin.Add(time.Duration(i)*4*time.Minute)
				if err := ledger.Issue(t.Context(), r, nil, 3); err != nil {
					t.Fatal(err)
				}
			}
			for key, n := range []int{3, 3, 2} {
				for i := range n {
					issue(fmt.Sprint("key", 2-key, "-"), 10*key+i)
				}
			}
			list, _, err := ledger.List(t.Context(), heldBy(r.ClientKey, r.Subject), token.Position{}, token.MaxPage)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, r := range list {
				ids = append(ids, r.ID)
			}
			if diff := cmp.Diff([]string{"key1-89", "key1-88", "key1-87", "key0-79", "key0-78"}, ids); diff != "" {
				t.Errorf("those of replaced keys of the last hour (-want +got):\n%s", diff)
			}
		})
	}
}
