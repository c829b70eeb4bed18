package enginetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// durable is a PostgreSQL that writes to the disk, as the stores require.
var durable struct {
	once   sync.Once
	server *server
	err    error
}

// durablePostgres returns the data source name of it, or STORES_POSTGRES if that is set.
func durablePostgres(t testing.TB) string {
	t.Helper()
	if source := os.Getenv("STORES_POSTGRES"); source != "" {
		return source
	}
	durable.once.Do(func() {
		durable.server, durable.err = startPostgres("-c", "fsync=on", "-c", "max_connections=300")
	})
	skipUninstalled(t, durable.err)
	return durable.server.source
}

// home is the location of a store: a database that can be opened any number of times.
type home struct {
	name     string
	dialect  sqlstore.Dialect
	open     func(t testing.TB) *sql.DB
	prefix   string // of the names of all tables but that of the version
	sealer   *sqlstore.Sealer
	unsealed bool // without a sealer
	audited  bool // with an audit log; AUDIT=1 has one in all homes
}

// homes returns a new home in each engine, or in the one that ENGINE names.
func homes(t testing.TB) []home {
	t.Helper()
	switch os.Getenv("ENGINE") {
	case "SQLite":
		return []home{newSQLiteHome(t)}
	case "PostgreSQL":
		return []home{newPostgresHome(t)}
	case "Redis":
		return nil
	}
	return []home{newSQLiteHome(t), newPostgresHome(t)}
}

func newSQLiteHome(t testing.TB) home {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	return home{name: "SQLite", sealer: sealer(t), dialect: sqlstore.SQLite, prefix: tablesOf("tenantkit_"), audited: os.Getenv("AUDIT") != "",
		open: func(t testing.TB) *sql.DB { return openSQLite(t, path, "") }}
}

// openSQLite opens a file as an instance would, with additional pragmas.
func openSQLite(t testing.TB, path, pragmas string) *sql.DB {
	t.Helper()
	return openDB(t, "sqlite", "file:"+path+"?_pragma=busy_timeout(100)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"+pragmas)
}

var prefixes atomic.Int64

// newPostgresHome shares the server with all other homes, and has its own prefix.
func newPostgresHome(t testing.TB) home {
	t.Helper()
	at := durablePostgres(t)
	prefix := tablesOf(fmt.Sprintf("t%d_", prefixes.Add(1)))
	return home{name: "PostgreSQL", sealer: sealer(t), dialect: sqlstore.PostgreSQL, prefix: prefix, audited: os.Getenv("AUDIT") != "",
		open: func(t testing.TB) *sql.DB { return openDB(t, "pgx", at) }}
}

func openDB(t testing.TB, driver, source string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	t.Cleanup(func() { db.Close() })
	return db
}

// store opens the home as one more instance.
func (h home) store(t testing.TB) *sqlstore.Store {
	t.Helper()
	return h.storeIn(t, h.open(t))
}

// tablesOf returns what begins the names of the tables for Options.Prefix, and prefixOf the reverse.
func tablesOf(prefix string) string {
	const table = "ledger ("
	before, _, _ := strings.Cut(migration(sqlstore.SQLite, prefix), table)
	return before[strings.LastIndexByte(before, ' ')+1:]
}

func prefixOf(tables string) string {
	return tables[:strings.LastIndexByte(tables[:len(tables)-1], '_')+1]
}

func (h home) options() sqlstore.Options {
	if h.unsealed {
		return sqlstore.Options{Prefix: prefixOf(h.prefix), UnsafeUnsealed: true, Audit: h.audited}
	}
	return sqlstore.Options{Prefix: prefixOf(h.prefix), Sealer: h.sealer, Audit: h.audited}
}

func (h home) storeIn(t testing.TB, db *sql.DB) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), db, h.dialect, h.options())
	if err != nil {
		t.Fatal(err)
	}
	afterEpoch()
	return s
}

// held counts the rows of some tables.
func (h home) held(t testing.TB, db *sql.DB, tables ...string) (n int) {
	t.Helper()
	var counts []string
	for _, table := range tables {
		counts = append(counts, "(SELECT count(*) FROM "+h.prefix+table+")")
	}
	if err := db.QueryRow("SELECT " + strings.Join(counts, " + ")).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// spend spends a use and ignores the lineage.
func spend(ctx context.Context, ledger token.Spender, r token.Record) error {
	_, err := ledger.Spend(ctx, r)
	return err
}

// afterEpoch waits until new signatures are later than the epoch of a store opened before. In the
// first millisecond of an epoch every request is stale.
func afterEpoch() { time.Sleep(2 * time.Millisecond) }

// sealer returns a Sealer with a test key.
func sealer(t testing.TB) *sqlstore.Sealer {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	s, err := sqlstore.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// homeLike returns a new home in the same engine.
func homeLike(t *testing.T, h home) home {
	t.Helper()
	if h.dialect == sqlstore.SQLite {
		return newSQLiteHome(t)
	}
	return newPostgresHome(t)
}
