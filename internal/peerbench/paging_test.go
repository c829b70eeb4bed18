package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"gorm.io/gorm"
	"gorm.io/gorm/utils/tests"
	_ "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

var tableRows = flag.Int("rows", 100_000, "rows of the table that is paged")

const pageLimit = 100

func TestPaging(t *testing.T) {
	for _, d := range depths {
		t.Run(d.perMille, func(t *testing.T) { check(t, pagingPrefix+d.perMille, pagers(t, d)) })
	}
}

func BenchmarkPaging(b *testing.B) {
	for _, d := range depths {
		b.Run(d.perMille, func(b *testing.B) { race(b, pagers(b, d)) })
	}
}

// note is a row of the table.
type note struct {
	id    string
	likes int64
}

func noteAt(i int) note { return note{fmt.Sprintf("%09d", i), int64(i) * 7919 % 1000} }

var notesTable = sqlpage.Table{
	Name:   "notes",
	Select: []string{"id"},
	Properties: map[string]sqlpage.Column{
		"_id":   {Name: "id", Type: paging.String, NotNull: true},
		"likes": {Name: "likes", Type: paging.Integer, NotNull: true},
	},
	SharedByAllTenants: true,
}

// notes holds the table, in the memory of the process, with the indexes that
// sqlpage.Indexes returns. It also holds the same rows in order.
var notes = sync.OnceValues(func() (*sql.DB, []note) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	db, err := sql.Open("sqlite", ":memory:")
	must(err)
	db.SetMaxOpenConns(1) // in memory, each connection would have its own table
	schema := paging.Schema{Properties: []paging.Property{{Path: "likes", Type: paging.Integer, Sort: true}}}
	indexes, err := sqlpage.Indexes(schema, notesTable, sqlpage.SQLite)
	must(err)
	_, err = db.Exec("CREATE TABLE notes (id TEXT PRIMARY KEY, likes INTEGER NOT NULL) STRICT")
	must(err)
	_, err = db.Exec(`WITH RECURSIVE s (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < $1 - 1)
		INSERT INTO notes SELECT printf('%09d', i), i * 7919 % 1000 FROM s`, *tableRows)
	must(err)
	for _, statement := range append(indexes, "ANALYZE") {
		_, err := db.Exec(statement)
		must(err)
	}
	all := make([]note, *tableRows)
	for i := range all {
		all[i] = noteAt(i)
	}
	slices.SortFunc(all, func(a, b note) int { return cmp.Or(cmp.Compare(a.likes, b.likes), cmp.Compare(a.id, b.id)) })
	return db, all
})

// position is the start of a page and its expected rows.
type position struct {
	skip int
	last note // the row before the page; unset if skip is 0
	want []string
	db   *sql.DB
}

func positionOf(t testing.TB, d depth) position {
	perMille, err := strconv.Atoi(d.perMille)
	if err != nil {
		t.Fatal(err)
	}
	db, all := notes()
	p := position{db: db, skip: min(len(all)*perMille/1000, len(all)-pageLimit)}
	if p.skip > 0 {
		p.last = all[p.skip-1]
	}
	for _, n := range all[p.skip : p.skip+pageLimit] {
		p.want = append(p.want, n.id)
	}
	return p
}

// read reads the page that a query returns and compares it with the expected rows.
func (p position) read(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	got := make([]string, 0, pageLimit+1)
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		got = append(got, id)
	}
	return p.compare(got, rows.Err())
}

// compare compares identifiers with the expected rows.
func (p position) compare(got []string, err error) error {
	if got = got[:min(len(got), pageLimit)]; err == nil && !slices.Equal(got, p.want) {
		return errRefused
	}
	return err
}

// byHand runs a statement that was written by hand and prepared once.
func (p position) byHand(t testing.TB, text string, args ...any) func() error {
	statement, err := p.db.Prepare(text)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { statement.Close() })
	return func() error { return p.read(statement.Query(args...)) }
}

func pagers(t testing.TB, d depth) []contender {
	p := positionOf(t, d)
	return []contender{
		{name: "row comparison", good: p.rowComparison(t)},
		{name: ours, good: p.ours(t)},
		{name: "OFFSET", good: p.byHand(t, "SELECT id FROM notes ORDER BY likes, id LIMIT $1 OFFSET $2", pageLimit+1, p.skip)},
		{name: "OR expansion", good: p.expansion(t)},
		{name: "bun", good: p.bun()},
		{name: "gorm", good: p.gorm(t)},
	}
}

const firstPage = "SELECT id FROM notes ORDER BY likes, id LIMIT $1"

func (p position) rowComparison(t testing.TB) func() error {
	if p.skip == 0 {
		return p.byHand(t, firstPage, pageLimit+1)
	}
	return p.byHand(t, "SELECT id FROM notes WHERE (likes, id) > ($1, $2) ORDER BY likes, id LIMIT $3",
		p.last.likes, p.last.id, pageLimit+1)
}

func (p position) expansion(t testing.TB) func() error {
	if p.skip == 0 {
		return p.rowComparison(t)
	}
	return p.byHand(t, "SELECT id FROM notes WHERE likes > $1 OR (likes = $1 AND id > $2) ORDER BY likes, id LIMIT $3",
		p.last.likes, p.last.id, pageLimit+1)
}

// bun writes the statement anew, with the values in its text, and compares rows.
func (p position) bun() func() error {
	db := bun.NewDB(p.db, sqlitedialect.New())
	return func() error {
		got := make([]string, 0, pageLimit+1)
		q := db.NewSelect().Table("notes").Column("id").Order("likes", "id").Limit(pageLimit + 1)
		if p.skip > 0 {
			q = q.Where("(likes, id) > (?, ?)", p.last.likes, p.last.id)
		}
		err := q.Scan(context.Background(), &got)
		return p.compare(got, err)
	}
}

// gorm sends the condition of gorm-cursor-paginator. The dialect of gorm's own tests writes what
// SQLite reads.
func (p position) gorm(t testing.TB) func() error {
	db, err := gorm.Open(tests.DummyDialector{}, &gorm.Config{ConnPool: p.db, PrepareStmt: true, SkipDefaultTransaction: true})
	if err != nil {
		t.Fatal(err)
	}
	return func() error {
		got := make([]string, 0, pageLimit+1)
		q := db.Table("notes").Order("likes").Order("id").Limit(pageLimit + 1)
		if p.skip > 0 {
			q = q.Where("likes > ? OR (likes = ? AND id > ?)", p.last.likes, p.last.likes, p.last.id)
		}
		err := q.Pluck("id", &got).Error
		return p.compare(got, err)
	}
}

// ours writes the statement anew for each page, as a server does, and runs it by Pages.
func (p position) ours(t testing.TB) func() error {
	q := paging.Query{Sort: []paging.Key{{Path: "likes"}, {Path: "_id"}}, Limit: pageLimit}
	if p.skip > 0 {
		var err error
		if q, err = q.After(json.Number(strconv.FormatInt(p.last.likes, 10)), p.last.id); err != nil {
			t.Fatal(err)
		}
	}
	pages := &sqlpage.Pages{DB: p.db, Dialect: sqlpage.SQLite}
	return func() error {
		rows, err := pages.Query(context.Background(), q, notesTable, sqlpage.RowScope{AllIDs: true})
		if err != nil {
			return err
		}
		defer rows.Close()
		got := make([]string, 0, pageLimit+1) // as in read, but of another type: an interface would allocate for each row
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			got = append(got, id)
		}
		return p.compare(got, rows.Err())
	}
}
