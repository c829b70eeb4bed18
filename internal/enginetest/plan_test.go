package enginetest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// TestPlanOfTheLastValue has a sort key of few values. SQLite expected hardly any row after the
// greatest value, so it sorted all of them.
func TestPlanOfTheLastValue(t *testing.T) {
	e := &engine{name: "SQLite", db: sqlite(t), dialect: sqlpage.SQLite, table: benchTable}
	e.exec(t, "CREATE TABLE bench (id TEXT PRIMARY KEY, likes INTEGER NOT NULL, rating INTEGER, doc TEXT NOT NULL) STRICT")
	e.exec(t, `WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 9999)
		INSERT INTO bench SELECT printf('%09d', i), i * 7919 % 1000, nullif(i % 5, 0), '{}' FROM s`)
	indexes, err := sqlpage.Indexes(benchSchema, benchTable, e.dialect)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range indexes {
		e.exec(t, index)
	}
	e.exec(t, "ANALYZE")
	keys := []paging.Key{{Path: "rating"}, {Path: "_id"}}
	for _, rating := range numbers("1", "3", "4") {
		q := paging.Query{Sort: keys, Limit: 100}
		plan := e.plan(t, goOn(q, item{"_id": idOf(5000), "rating": rating}))
		if strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "bench_rating__id ((rating,id)>(?,?))") {
			t.Errorf("behind a rating of %s: %s", rating, plan)
		}
	}
}

// TestPlanOfDecimals has decimals in documents, which SQLite converts itself.
func TestPlanOfDecimals(t *testing.T) {
	e := &engine{name: "SQLite", db: sqlite(t), dialect: sqlpage.SQLite, table: benchTable}
	e.exec(t, "CREATE TABLE bench (id TEXT PRIMARY KEY, likes INTEGER NOT NULL, rating INTEGER, doc TEXT NOT NULL) STRICT")
	indexes, err := sqlpage.Indexes(benchSchema, benchTable, e.dialect)
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range indexes {
		e.exec(t, index)
	}
	q := goOn(paging.Query{Sort: []paging.Key{{Path: "c_size"}}, Limit: 100}, item{"_id": idOf(5000), "c_size": json.Number("0.5")})
	whole := json.Number("5")
	want := e.plan(t, goOn(q, item{"_id": idOf(5000), "c_size": whole}))
	if plan := e.plan(t, q); plan != want || !strings.Contains(plan, "bench_c_size") {
		t.Errorf("%s, and for a whole number %s", plan, want)
	}
}

// plan returns SQLite's query plan for a page.
func (e *engine) plan(t *testing.T, q paging.Query) string {
	t.Helper()
	text, args, err := sqlpage.Statement(q, e.table, everyRow, e.dialect)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := e.db.Query("EXPLAIN QUERY PLAN "+text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "; ")
}
