package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"modernc.org/sqlite"               // the driver "sqlite", too

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/examples/internal/private"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// store keeps the platform's own records in SQL: orgs, apps, accounts, roles and objects. It is
// also the auth.Directory. The library's data is in other tables: see library_stores.go.
type store struct {
	db      *sql.DB // for routes
	guarded *sql.DB // for the Guard and the library, with connections of its own
	objects *sql.DB // for objects: db, except in memory, where it is another database
	pages   *sqlpage.Pages
	dialect sqlpage.Dialect

	library *sqlstore.Store // has the audit log; nil until openStores

	found   *auth.CachedDirectory // the Guard's cache of the records; see locked
	queries *share                // limits the route connections of each caller and org
	changes *share                // likewise, of changes of objects, which wait for each other
	room    int64                 // bytes of objects that one account may store; see storing
	alive   []*sql.Conn           // a database in memory would end with its last connection
	file    string                // of SQLite; "" if there is none
}

// besideSQLite are the ends of the files that SQLite keeps beside a database.
var besideSQLite = []string{"-wal", "-shm", "-journal"}

// The connections of one instance. A route that waits for slow queries must not
// take the connections that the Guard needs to admit requests.
const (
	guardConnections = 10
	routeConnections = 20
)

// openStore opens the database of -db, and creates missing tables.
func openStore(ctx context.Context, name string) (*store, error) {
	s := &store{dialect: sqlpage.SQLite, room: maxStored,
		queries: newShare(queriesEach, queriesPerOrg, queryWait), changes: newShare(changesEach, changesPerOrg, answerTime)}
	driver, source := "sqlite", ""
	switch {
	case name == memoryDB:
		source = memorySource()
	case strings.HasPrefix(name, sqliteDB):
		s.file = strings.TrimPrefix(name, sqliteDB)
		if err := private.Keep(s.file, besideSQLite...); err != nil {
			return nil, fmt.Errorf("-db: %w", err)
		}
		source = sqliteSource(s.file,
			"_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate")
	default:
		driver, s.dialect, source = "pgx", sqlpage.PostgreSQL, name
		if _, err := pgx.ParseConfig(source); err != nil {
			return nil, errors.New("-db: not the address of a database") // the driver's error may show a password
		}
	}
	s.db, s.guarded = openPool(driver, source, routeConnections), openPool(driver, source, guardConnections)
	s.objects = s.db
	if name == memoryDB {
		// Without a write-ahead log, a writer waits for readers and blocks all others. So lists of
		// objects use another database than the Guard.
		s.objects = openPool(driver, memorySource(), routeConnections)
	}
	if err := s.alone(ctx, func() error { return s.migrate(ctx) }); err != nil {
		s.close()
		return nil, fmt.Errorf("-db: %w", err)
	}
	s.pages = &sqlpage.Pages{DB: s.objects, Dialect: s.dialect}
	s.found = auth.Cached(s.forGuard(), staleness)
	return s, nil
}

func openPool(driver, source string, connections int) *sql.DB {
	db, err := sql.Open(driver, source)
	if err != nil {
		panic(err) // no such driver: neither of the two reads the source before it connects
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db
}

// forGuard returns the store with the Guard's connections.
func (s *store) forGuard() *store {
	guarded := *s
	guarded.db = s.guarded
	return &guarded
}

// memorySource returns the address of a new database in memory.
func memorySource() string {
	return "file:/" + rand.Text() + "?vfs=memdb&_pragma=busy_timeout(5000)&_txlock=immediate"
}

// sqliteSource returns the driver's address of a file with settings. The file may have any name.
func sqliteSource(file, settings string) string {
	address := &url.URL{Scheme: "file", Opaque: url.PathEscape(file)}
	return strings.ReplaceAll(address.String(), "%2F", "/") + "?" + settings
}

func (s *store) close() (err error) {
	for _, conn := range s.alive {
		err = errors.Join(err, conn.Close())
	}
	for _, db := range []*sql.DB{s.db, s.guarded, s.objects} { // the last may be the first, too
		err = errors.Join(err, db.Close())
	}
	return err
}

// tables are those beside the objects', in SQL that both engines read. Times are Unix milliseconds.
var tables = []string{
	`CREATE TABLE IF NOT EXISTS platform_orgs (code TEXT PRIMARY KEY, record TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS platform_apps (client_key TEXT PRIMARY KEY, org TEXT NOT NULL, record TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS platform_accounts (
		org TEXT NOT NULL, id TEXT NOT NULL, email TEXT NOT NULL, password TEXT NOT NULL, record TEXT NOT NULL,
		PRIMARY KEY (org, id), UNIQUE (org, email))`,
	`CREATE TABLE IF NOT EXISTS platform_people (
		person TEXT NOT NULL, org TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (person, org))`,
	`CREATE TABLE IF NOT EXISTS platform_roles (
		org TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (org, name))`,
	`CREATE TABLE IF NOT EXISTS platform_token_scopes (
		org TEXT NOT NULL, client_key TEXT NOT NULL, id TEXT NOT NULL, subject TEXT NOT NULL, minted BIGINT NOT NULL, record TEXT NOT NULL,
		PRIMARY KEY (org, client_key, id))`,
	`CREATE INDEX IF NOT EXISTS platform_token_scopes_subject ON platform_token_scopes (org, client_key, subject)`,
	`CREATE TABLE IF NOT EXISTS platform_usage (
		org TEXT NOT NULL, owner TEXT NOT NULL, bytes BIGINT NOT NULL, PRIMARY KEY (org, owner))`,
	`CREATE TABLE IF NOT EXISTS platform_readiness (id SMALLINT PRIMARY KEY, checked BIGINT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS platform_demo (name TEXT PRIMARY KEY, client_key TEXT NOT NULL)`,
}

// alone runs do while no other instance runs it. PostgreSQL needs this even for IF
// NOT EXISTS. A database in memory has only one instance.
func (s *store) alone(ctx context.Context, do func() error) error {
	switch {
	case s.file != "":
		return aloneBy(ctx, s.file+".lock", do)
	case s.dialect == sqlpage.SQLite:
		return do()
	}
	return inTx(ctx, s.db, func(tx *sql.Tx) error {
		// The number is one that no other program uses. The limit ends the lock of a host that
		// vanishes here, which would otherwise keep all others from starting.
		const lock = "SELECT set_config('idle_in_transaction_session_timeout', '1min', true), pg_advisory_xact_lock(7305808869229538421)"
		if _, err := tx.ExecContext(ctx, lock); err != nil {
			return storeFailed(err)
		}
		return do()
	})
}

// aloneBy runs do while it holds the lock of file, an SQLite database that is never
// written to. The lock ends with the process, however the process ends. A lock on
// the database itself would block do.
func aloneBy(ctx context.Context, file string, do func() error) error {
	if err := private.Keep(file, besideSQLite...); err != nil {
		return err
	}
	db := openPool("sqlite", sqliteSource(file, "_pragma=busy_timeout(250)&_txlock=exclusive"), 1)
	defer db.Close()
	return inTx(ctx, db, func(*sql.Tx) error { return do() })
}

// begin begins a transaction. It waits until no other connection has the SQLite
// database locked, or ctx ends.
func begin(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err == nil || !isBusy(err) || ctx.Err() != nil {
			return tx, err
		}
	}
}

// isBusy reports whether another connection has the SQLite database locked.
func isBusy(err error) bool {
	const busy = 5 // SQLITE_BUSY, the low byte of its extended codes
	failed, ok := errors.AsType[*sqlite.Error](err)
	return ok && failed.Code()&0xff == busy
}

// migrate creates the tables in each database that uses them.
func (s *store) migrate(ctx context.Context) error {
	words := strings.NewReplacer("{json}", "TEXT", "{integer}", "INTEGER", "{boolean}", "INTEGER", "{date}", "TEXT", "{strict}", "STRICT")
	if s.dialect == sqlpage.PostgreSQL {
		words = strings.NewReplacer("{json}", "jsonb", "{integer}", "BIGINT", "{boolean}", "BOOLEAN", "{date}", "timestamptz(3)", "{strict}", "")
	}
	indexes, err := s.indexes()
	if err != nil {
		return err
	}
	statements := words.Replace(strings.Join(slices.Concat(tables, each(schemas, schema.create), indexes), ";\n"))
	for _, db := range slices.Compact([]*sql.DB{s.db, s.objects}) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		s.alive = append(s.alive, conn)
		// The transaction waits for another instance, for which the library may be creating its tables.
		err = inTx(ctx, db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, statements)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
