package enginetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// TestNoQueryReachesAnotherTenant is P25: a page is what the query makes of the visible items
// alone, whatever its filter, sort, cursor and skip. The tenant is a property that the queries
// compare, too. Tenants differ by case alone, in a column whose collation ignores case in SQLite.
func TestNoQueryReachesAnotherTenant(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "of_tenants") {
		e.table.Tenant, e.table.SharedByAllTenants = "name", false
		t.Run("P25 "+e.name, func(t *testing.T) {
			for seed := range rounds(40) {
				r := newRandom(seed)
				items := r.mixed(60)
				for _, i := range items {
					i["name"] = one(r, []any{"acme", "ACME", "acme ", "globex", "\u212acme"})
				}
				e.fill(t, items)
				for range 50 {
					r.asksWithin(t, e, items)
				}
			}
		})
	}
}

func (r random) visible(items []item) sqlpage.RowScope {
	visible := sqlpage.RowScope{Tenant: one(r, []string{"acme", "ACME", "globex"}), AllIDs: r.IntN(3) > 0}
	for range r.IntN(20) {
		visible.IDs = append(visible.IDs, one(r, items).id())
	}
	return visible
}

func seenBy(visible sqlpage.RowScope, items []item) []item {
	return slices.DeleteFunc(slices.Clone(items), func(i item) bool {
		return i["name"] != visible.Tenant || !visible.AllIDs && !slices.Contains(visible.IDs, i.id())
	})
}

// asksWithin compares a random page of random visible items.
func (r random) asksWithin(t *testing.T, e *engine, items []item) {
	t.Helper()
	visible := r.visible(items)
	q := paging.Query{Sort: r.sort(paths), Limit: 1 + r.IntN(60), Skip: max(r.IntN(20)-10, 0)}
	if r.IntN(3) > 0 {
		q.Where = r.filter(3)
	}
	switch r.IntN(3) {
	case 0:
		q.Where = paging.Or(q.Where, paging.Filter{}, paging.Ne("name", visible.Tenant))
	case 1:
		q = r.resume(q)
	}
	rows, err := e.pages.Query(t.Context(), q, e.table, visible)
	if err != nil {
		t.Fatal(err)
	}
	got := readIDs(t, rows)
	more := rows.More()
	want, wantMore := inMemory(seenBy(visible, items), q)
	if diff := cmp.Diff(want, got); diff != "" || more != wantMore {
		t.Fatalf("%+v: where %s sort %v skip %d limit %d: more %t\n%s", visible, q.Where, q.Sort, q.Skip, q.Limit, more, diff)
	}
}

// TestTenantsFirst has a deep page of one tenant read a range of an index of Indexes.
func TestTenantsFirst(t *testing.T) {
	for _, e := range engines(t, "tenants_first") {
		t.Run(e.name, func(t *testing.T) {
			e.table.Tenant, e.table.SharedByAllTenants = "name", false
			indexes, err := sqlpage.Indexes(schema, e.table, e.dialect)
			if err != nil {
				t.Fatal(err)
			}
			for _, index := range indexes {
				e.exec(t, index)
			}
			for _, desc := range []bool{false, true} {
				q := paging.Query{Sort: []paging.Key{{Path: "count", Desc: desc}}, Limit: 9}
				q = goOn(q, item{"_id": "a", "count": numbers("5")[0]})
				e.readsIndex(t, q, sqlpage.RowScope{Tenant: "acme", AllIDs: true}, map[bool]string{
					false: "tenants_first_name_count__id", true: "tenants_first_name_count_desc__id"}[desc])
			}
		})
	}
}

// readsIndex checks that a page reads ranges of an index and no other rows.
func (e *engine) readsIndex(t *testing.T, q paging.Query, visible sqlpage.RowScope, index string) {
	t.Helper()
	text, args, err := sqlpage.Statement(q, e.table, visible, e.dialect)
	if err != nil {
		t.Fatal(err)
	}
	plan := e.explain(t, text, args)
	parts := strings.Count(text, " FROM "+`"`+e.table.Name+`"`)
	used := strings.Count(plan, " "+index+" (") // with the columns of the range
	if e.dialect == sqlpage.PostgreSQL {
		used = min(strings.Count(plan, " using "+index+" on "), strings.Count(plan, "Index Cond"))
	}
	if used != parts {
		t.Errorf("%d of %d parts use %s:\n%s\n%s", used, parts, index, text, plan)
	}
}

// explain returns the plan of a statement, in PostgreSQL as for a table with many rows.
func (e *engine) explain(t *testing.T, text string, args []any) (plan string) {
	t.Helper()
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	explain, before := "EXPLAIN QUERY PLAN ", make([]any, 3)
	if e.dialect == sqlpage.PostgreSQL {
		explain, before = "EXPLAIN ", nil
		if _, err := tx.Exec("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range before {
		before[i] = new(any)
	}
	rows, err := tx.Query(explain+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var step string
		if err := rows.Scan(append(before, &step)...); err != nil {
			t.Fatal(err)
		}
		plan += step + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return plan
}
