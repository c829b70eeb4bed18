package enginetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"sync/atomic"
	"testing"

	sqlitedriver "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// handles is a SQLite driver that counts open statements.
type handles struct {
	source string
	open   atomic.Int64
}

func (h *handles) Driver() driver.Driver { return nil }

func (h *handles) Connect(context.Context) (driver.Conn, error) {
	conn, err := (&sqlitedriver.Driver{}).Open(h.source)
	return handled{conn, h}, err
}

type handled struct {
	driver.Conn
	*handles
}

func (c handled) Prepare(text string) (driver.Stmt, error) {
	s, err := c.Conn.Prepare(text)
	if err == nil {
		c.open.Add(1)
	}
	return handle{s, c.handles}, err
}

type handle struct {
	driver.Stmt
	*handles
}

func (s handle) Close() error {
	s.open.Add(-1)
	return s.Stmt.Close()
}

// differentFilter returns one of 5⁸ filters. No two of them have the same statement text.
func differentFilter(n int) paging.Filter {
	var parts []paging.Filter
	for i := range 8 {
		of := [...]func(string, int) paging.Filter{paging.Eq[int], paging.Gt[int], paging.Gte[int], paging.Lt[int], paging.Lte[int]}
		parts = append(parts, of[n%5]("likes", i))
		n /= 5
	}
	return paging.And(parts...)
}

// TestStatementsOfManyFilters sends filters that are all different.
func TestStatementsOfManyFilters(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	h := &handles{source: ":memory:"}
	db := sql.OpenDB(h)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.SQLite}
	makeBench(t, db)
	for i := range rounds(100_000) {
		askBench(t, pages, differentFilter(i))
		if n := h.open.Load(); n > 128 {
			t.Fatalf("%d statements are open after %d filters", n, i+1)
		}
	}
	if h.open.Load() == 0 {
		t.Error("no statement is kept, or none was counted")
	}
}

// TestStatementsOfManyFiltersInPostgres counts the server's statements, which the driver keeps:
// 512, and one that it closes with the next statement.
func TestStatementsOfManyFiltersInPostgres(t *testing.T) {
	db := openDB(t, "pgx", durablePostgres(t))
	db.SetMaxOpenConns(1)
	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.PostgreSQL}
	makeBench(t, db)
	for i := range 1000 {
		askBench(t, pages, differentFilter(i))
	}
	var n int
	if err := db.QueryRow("SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%bench%'").Scan(&n); err != nil || n == 0 || n > 513 {
		t.Errorf("the server has %d statements of one connection, error %v", n, err)
	}
}

func makeBench(t *testing.T, db *sql.DB) {
	t.Helper()
	run(t, db, "CREATE TABLE bench (id varchar(9) PRIMARY KEY, likes integer NOT NULL)")
	t.Cleanup(func() { run(t, db, "DROP TABLE bench") })
}

func askBench(t *testing.T, pages *sqlpage.Pages, f paging.Filter) (ids []string) {
	t.Helper()
	rows, err := pages.Query(t.Context(), paging.Query{Where: f, Limit: 10}, benchTable, everyRow)
	if err != nil {
		t.Fatal(err)
	}
	return readIDs(t, rows)
}

// TestPagesWhileTheTableChanges prepares a statement, and then creates the table again with other
// columns and other types.
func TestPagesWhileTheTableChanges(t *testing.T) {
	for name, e := range map[string]struct {
		db      *sql.DB
		dialect sqlpage.Dialect
		change  []string
	}{
		"SQLite": {openSQLite(t, filepath.Join(t.TempDir(), "table"), ""), sqlpage.SQLite, []string{
			"ALTER TABLE bench ADD COLUMN more TEXT", "CREATE INDEX bench_likes ON bench (likes)",
			"DROP TABLE bench; CREATE TABLE bench (likes INTEGER NOT NULL, id TEXT NOT NULL)",
		}},
		"PostgreSQL": {openDB(t, "pgx", durablePostgres(t)), sqlpage.PostgreSQL, []string{
			"ALTER TABLE bench ADD COLUMN more text", "CREATE INDEX bench_likes ON bench (likes)",
			"ALTER TABLE bench ALTER COLUMN id TYPE text", "ALTER TABLE bench ALTER COLUMN likes TYPE bigint",
			"DROP TABLE bench; CREATE TABLE bench (likes bigint NOT NULL, id text NOT NULL)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pages := &sqlpage.Pages{DB: e.db, Dialect: e.dialect}
			makeBench(t, e.db)
			for _, change := range append(e.change, "INSERT INTO bench (id, likes) VALUES ('a', 7)") {
				askBench(t, pages, paging.Gt("likes", 5))
				run(t, e.db, change)
				if e.dialect == sqlpage.PostgreSQL {
					// Each connection may refuse its statement once, because it was planned for the old
					// table. The driver then prepares it again.
					for range 8 {
						rows, err := pages.Query(t.Context(), paging.Query{Where: paging.Gt("likes", 5), Limit: 10}, benchTable, everyRow)
						if err == nil {
							rows.Close()
						}
					}
				}
			}
			if ids := askBench(t, pages, paging.Gt("likes", 5)); len(ids) != 1 {
				t.Errorf("the page has %q", ids)
			}
		})
	}
}
