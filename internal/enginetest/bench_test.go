package enginetest

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// rows is 1000000 for quoted figures:
//
//	go test -run '^$' -bench . -rows 1000000 ./internal/enginetest
var rows = flag.Int("rows", 0, "rows of the tables of benchmarks, which are skipped without")

var benchTable = sqlpage.Table{
	Name:   "bench",
	Select: []string{"id"},
	Properties: map[string]sqlpage.Column{
		"_id":    {Name: "id", Type: paging.String, NotNull: true},
		"likes":  {Name: "likes", Type: paging.Integer, NotNull: true}, // a thousand values
		"rating": {Name: "rating", Type: paging.Integer},               // four values, and many NULLs
		"c_size": {Name: "doc"},
	},
	SharedByAllTenants: true,
}

// everyRow is what a caller may see where a test is not about that.
var everyRow = sqlpage.RowScope{AllIDs: true}

var benchSchema = paging.Schema{Properties: []paging.Property{
	{Path: "likes", Type: paging.Integer, Sort: true},
	{Path: "rating", Type: paging.Integer, Sort: true, Null: true},
	{Path: "c_size", Type: paging.Integer, Sort: true},
}}

// benchEngine is a table of that many rows; row i has the _id idOf(i).
func benchEngine(b *testing.B, dialect sqlpage.Dialect) *engine {
	b.Helper()
	if *rows == 0 {
		b.Skip("without -rows")
	}
	if dialect == sqlpage.PostgreSQL {
		db := postgres(b)
		e := &engine{name: "PostgreSQL", db: db, dialect: dialect, table: benchTable, pages: &sqlpage.Pages{DB: db, Dialect: dialect}}
		e.load(b, `CREATE TABLE bench (id text COLLATE "C" PRIMARY KEY, likes integer NOT NULL, rating integer, doc jsonb NOT NULL)`,
			`INSERT INTO bench SELECT lpad(i::text, 9, '0'), i::bigint * 7919 % 1000, nullif(i % 5, 0), json_build_object('c_size', i * 31 % 5000)
			FROM generate_series(0, $1::int - 1) AS i`, "VACUUM ANALYZE bench")
		return e
	}
	db, err := sql.Open("sqlite", filepath.Join(b.TempDir(), "bench"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	e := &engine{name: "SQLite", db: db, dialect: dialect, table: benchTable, pages: &sqlpage.Pages{DB: db, Dialect: dialect}}
	e.load(b, "CREATE TABLE bench (id TEXT PRIMARY KEY, likes INTEGER NOT NULL, rating INTEGER, doc TEXT NOT NULL) STRICT",
		`WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < $1 - 1)
		INSERT INTO bench SELECT printf('%09d', i), i * 7919 % 1000, nullif(i % 5, 0), json_object('c_size', i * 31 % 5000) FROM s`, "ANALYZE")
	return e
}

func (e *engine) load(b *testing.B, create, insert, analyse string) {
	b.Helper()
	e.exec(b, create)
	b.Cleanup(func() { e.exec(b, "DROP TABLE bench") })
	e.exec(b, insert, *rows)
	indexes, err := sqlpage.Indexes(benchSchema, benchTable, e.dialect)
	if err != nil {
		b.Fatal(err)
	}
	for _, index := range indexes {
		e.exec(b, index)
	}
	e.exec(b, analyse)
}

func idOf(row int) string { return fmt.Sprintf("%09d", row) }

// position returns the sort keys of the row at a depth of the sort.
func (e *engine) position(b *testing.B, sort []paging.Key, deep int) item {
	b.Helper()
	q := paging.Query{Sort: sort, Skip: deep, Limit: 1}
	ids, _ := e.page(b, q)
	i, err := strconv.Atoi(ids[0])
	if err != nil {
		b.Fatal(err)
	}
	number := func(n int) json.Number { return json.Number(strconv.Itoa(n)) }
	at := item{"_id": ids[0], "likes": number(i * 7919 % 1000), "rating": number(i % 5), "c_size": number(i * 31 % 5000)}
	if i%5 == 0 {
		at["rating"] = nil
	}
	return at
}

// beside runs two functions in turns, and reports how much longer the second one takes.
func beside(b *testing.B, bare, ours func()) {
	var bares, all []time.Duration
	for b.Loop() {
		start := time.Now()
		bare()
		between := time.Now()
		ours()
		bares, all = append(bares, between.Sub(start)), append(all, time.Since(between))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(median(bares).Nanoseconds()), "ns/bare")
	b.ReportMetric(float64(median(all))/float64(median(bares)), "ratio")
	b.ReportMetric(float64(slices.Min(all))/float64(slices.Min(bares)), "ratio-of-minima")
}
