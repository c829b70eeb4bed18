package enginetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// TestSameCount is P27: a total is how many of the visible items match, whatever the filter, cursor,
// skip and limit. Other tenants' rows do not count.
func TestSameCount(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "same_count") {
		e.table.Tenant, e.table.SharedByAllTenants = "name", false
		t.Run("P27 "+e.name, func(t *testing.T) {
			for seed := range rounds(30) {
				r := newRandom(seed)
				items := r.mixed(60)
				for _, i := range items {
					i["name"] = one(r, []any{"acme", "ACME", "globex"})
				}
				e.fill(t, items)
				for range 40 {
					r.countsWithin(t, e, items)
				}
			}
		})
	}
}

// countsWithin compares a random count of random visible items.
func (r random) countsWithin(t *testing.T, e *engine, items []item) {
	t.Helper()
	visible := r.visible(items)
	q := paging.Query{Where: r.filter(3), Sort: r.sort(paths), Limit: r.IntN(9), Skip: r.IntN(20), CountTo: 1 + r.IntN(20)}
	switch r.IntN(3) {
	case 0:
		q.Where = paging.Or(q.Where, paging.Ne("name", visible.Tenant))
	case 1:
		q = r.resume(q)
	}
	got, err := e.pages.Count(t.Context(), q, e.table, visible)
	for range 10 {
		if !errors.Is(err, paging.ErrSlowCount) { // of a busy machine
			break
		}
		got, err = e.pages.Count(t.Context(), q, e.table, visible)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mempage.Count(seenBy(visible, items), q, get), got); diff != "" {
		t.Fatalf("%+v: where %s:\n%s", visible, q.Where, diff)
	}
}

// TestSlowCounts is P28: a count that takes too long ends with a fault, in the database, too. A page
// after it is served by the same pool.
func TestSlowCounts(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "slow_count") {
		t.Run("P28 "+e.name, func(t *testing.T) {
			endless := "WITH RECURSIVE s (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s) SELECT 'a' AS id FROM s WHERE i < 0"
			if e.dialect == sqlpage.PostgreSQL {
				endless = "SELECT 'a'::text AS id FROM generate_series(1, 1000000000000) AS i WHERE i < 0"
			}
			e.exec(t, "CREATE VIEW endless_count AS "+endless)
			defer e.exec(t, "DROP VIEW endless_count")
			table := sqlpage.Table{Name: "endless_count", Select: []string{"id"}, SharedByAllTenants: true,
				Properties: map[string]sqlpage.Column{"_id": {Name: "id", Type: paging.String, NotNull: true}}}
			pages := &sqlpage.Pages{DB: e.db, Dialect: e.dialect, CountTime: 100 * time.Millisecond}
			for range 3 {
				began := time.Now()
				total, err := pages.Count(t.Context(), paging.Query{CountTo: 10}, table, everyRow)
				if total != nil || !errors.Is(err, paging.ErrSlowCount) {
					t.Fatalf("%v, %v", total, err)
				}
				if took := time.Since(began); took > 20*time.Second {
					t.Errorf("it took %s", took)
				}
			}
			short, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer stop()
			if _, err := pages.Count(short, paging.Query{CountTo: 10}, table, everyRow); err == nil || errors.Is(err, paging.ErrSlowCount) {
				t.Errorf("a request that ends before: %v", err)
			}
			e.page(t, paging.Query{Limit: 1})
			if e.dialect == sqlpage.PostgreSQL {
				e.stopsWithin(t, "endless_count", 10*time.Second)
			}
		})
	}
}

// stopsWithin waits until PostgreSQL runs no statement with that word.
func (e *engine) stopsWithin(t *testing.T, word string, most time.Duration) {
	t.Helper()
	var running int
	for deadline := time.Now().Add(most); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		text := fmt.Sprintf("SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE '%%%s%%'", word)
		if err := e.db.QueryRow(text).Scan(&running); err != nil {
			t.Fatal(err)
		}
		if running == 0 {
			return
		}
	}
	t.Errorf("%d statements still run", running)
}
