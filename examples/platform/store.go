package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
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
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// store keeps the platform's own records in SQL: orgs, apps, accounts, roles
// and objects. It is the auth.Directory, too. What the library keeps lies in
// tables beside these, see stores.go.
type store struct {
	db      *pool // what routes ask for
	guarded *pool // what the Guard and the library ask for, with connections of its own
	objects *pool // the objects: db, and in memory another database
	pages   *sqlpage.Pages
	dialect sqlpage.Dialect

	found   *auth.CachedDirectory // what the Guard remembers of the records; see exec
	queries *share                // of each account and org in the connections of routes
	alive   []*sql.Conn           // keep a database in memory from ending with its last connection
	file    string                // of SQLite, "" if there is none
}

// Connections of one instance. A route that waits for slow queries must not keep
// those from the Guard that let everybody in.
const (
	guardConnections = 10
	routeConnections = 20
)

// openStore opens the database of -db and makes the tables that are not there.
func openStore(ctx context.Context, name string) (*store, error) {
	s := &store{dialect: sqlpage.SQLite, queries: newShare(queriesEach, queriesPerOrg, queryWait)}
	driver, source := "sqlite", ""
	switch {
	case name == memoryDB:
		source = memorySource()
	case strings.HasPrefix(name, sqliteDB):
		s.file = strings.TrimPrefix(name, sqliteDB)
		if err := keepPrivate(s.file); err != nil {
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
	err := s.open(driver, source)
	if err == nil && name == memoryDB {
		// Without a write-ahead log who writes waits for who reads, and keeps all
		// others out meanwhile: lists of objects must not do so to the Guard.
		s.objects, err = openPool(driver, memorySource(), routeConnections)
	}
	if err == nil {
		err = s.alone(ctx, func() error { return s.migrateAll(ctx) })
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("-db: %w", err)
	}
	s.pages = &sqlpage.Pages{DB: s.objects.DB, Dialect: s.dialect}
	s.found = auth.Cached(s.forGuard(), directoryStale, 0)
	return s, nil
}

func (s *store) open(driver, source string) (err error) {
	if s.db, err = openPool(driver, source, routeConnections); err != nil {
		return err
	}
	s.objects = s.db
	s.guarded, err = openPool(driver, source, guardConnections)
	return err
}

// pools are the store's databases, each once.
func (s *store) pools() (all []*pool) {
	for _, db := range []*pool{s.db, s.guarded, s.objects} {
		if db != nil && !slices.Contains(all, db) {
			all = append(all, db)
		}
	}
	return all
}

// forGuard is the store with the Guard's connections.
func (s *store) forGuard() *store {
	guarded := *s
	guarded.db = s.guarded
	return &guarded
}

// memorySource names a database in memory that nobody else has.
func memorySource() string {
	return "file:/" + rand.Text() + "?vfs=memdb&_pragma=busy_timeout(5000)&_txlock=immediate"
}

// sqliteSource names a file and settings to the driver, whatever the file's name.
func sqliteSource(file, settings string) string {
	address := &url.URL{Scheme: "file", Opaque: url.PathEscape(file)}
	return strings.ReplaceAll(address.String(), "%2F", "/") + "?" + settings
}

func (s *store) close() (err error) {
	for _, conn := range s.alive {
		err = errors.Join(err, conn.Close())
	}
	for _, db := range s.pools() {
		err = errors.Join(err, db.Close())
	}
	return err
}

// engine is what the library's own tables are opened with.
func (s *store) engine() sqlstore.Dialect {
	if s.dialect == sqlpage.PostgreSQL {
		return sqlstore.PostgreSQL
	}
	return sqlstore.SQLite
}

// tables are in the SQL that both engines read. Text is ordered by its bytes,
// as lists are; times are Unix milliseconds.
var tables = []string{
	`CREATE TABLE IF NOT EXISTS platform_orgs (code TEXT PRIMARY KEY, record TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS platform_apps (client_key TEXT PRIMARY KEY, org TEXT NOT NULL, record TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS platform_accounts (
		org TEXT NOT NULL, id TEXT NOT NULL, email TEXT NOT NULL, password TEXT NOT NULL, record TEXT NOT NULL,
		PRIMARY KEY (org, id), UNIQUE (org, email))`,
	`CREATE TABLE IF NOT EXISTS platform_roles (
		org TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (org, name))`,
	`CREATE TABLE IF NOT EXISTS platform_objects (
		org TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL,
		version BIGINT NOT NULL, doc {json} NOT NULL, PRIMARY KEY (org, type, id))`,
	`CREATE TABLE IF NOT EXISTS platform_readiness (id SMALLINT PRIMARY KEY, checked BIGINT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS platform_demo (org TEXT PRIMARY KEY, client_key TEXT NOT NULL, seeded SMALLINT NOT NULL DEFAULT 0)`,
}

// alone runs do while no other instance is in it. In PostgreSQL not even IF NOT
// EXISTS is safe without. A database in memory has one instance.
func (s *store) alone(ctx context.Context, do func() error) error {
	switch {
	case s.file != "":
		return aloneBy(ctx, s.file+".lock", do)
	case s.dialect == sqlpage.SQLite:
		return do()
	}
	const lock = "(7305808869229538421)" // any number that is not another program's
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return storeFailed(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock"+lock); err != nil {
		return storeFailed(err)
	}
	err = do()
	_, failed := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock"+lock)
	return errors.Join(err, storeFailed(failed))
}

// aloneBy runs do while no other process holds the file, an SQLite database in
// which nothing is ever written: its lock ends with the process, however that ends.
// A lock on the database itself would keep do out.
func aloneBy(ctx context.Context, file string, do func() error) error {
	if err := keepPrivate(file); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", sqliteSource(file, "_pragma=busy_timeout(250)&_txlock=exclusive"))
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := begin(ctx, db)
	if err != nil {
		return storeFailed(err)
	}
	defer tx.Rollback()
	return do()
}

// begin begins a transaction, for as long as it takes while another connection
// has an SQLite database locked.
func begin(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	for {
		tx, err := db.BeginTx(ctx, nil)
		if err == nil || !isBusy(err) || ctx.Err() != nil {
			return tx, err
		}
	}
}

// isBusy tells of an SQLite database that another connection has locked.
func isBusy(err error) bool {
	const busy = 5 // SQLITE_BUSY, which is the low byte of its kinds
	failed, ok := errors.AsType[*sqlite.Error](err)
	return ok && failed.Code()&0xff == busy
}

// migrateAll makes the tables where they are used.
func (s *store) migrateAll(ctx context.Context) error {
	for _, db := range slices.Compact([]*pool{s.db, s.objects}) {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		s.alive = append(s.alive, conn)
		if err := s.migrate(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// migrate makes the tables of a database.
func (s *store) migrate(ctx context.Context, db *pool) error {
	tx, err := begin(ctx, db.DB) // the library may be making its own tables, for another instance
	if err != nil {
		return err
	}
	defer tx.Rollback()
	kind := "TEXT"
	if s.dialect == sqlpage.PostgreSQL {
		kind = "jsonb"
	}
	statements, err := s.indexes()
	if err != nil {
		return err
	}
	for _, statement := range append(tables[:len(tables):len(tables)], statements...) {
		if _, err := tx.ExecContext(ctx, strings.ReplaceAll(statement, "{json}", kind)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// find reads one record, which is JSON, or returns auth.ErrNotFound.
func find[T any](ctx context.Context, s *store, query string, args ...any) (*T, error) {
	var text []byte
	err := s.db.QueryRowContext(ctx, query, args...).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, auth.ErrNotFound
	case err != nil:
		return nil, storeFailed(err)
	}
	record := new(T)
	return record, json.Unmarshal(text, record)
}

// findAll reads the records that a query selects, which are JSON.
func findAll[T any](ctx context.Context, s *store, query string, args ...any) (all []*T, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, storeFailed(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text []byte
		record := new(T)
		if err := errors.Join(rows.Scan(&text), json.Unmarshal(text, record)); err != nil {
			return nil, storeFailed(err)
		}
		all = append(all, record)
	}
	return all, storeFailed(rows.Err())
}

// exec runs a statement that has to change a row of an org. One that changes none
// answers otherwise. Everything that the Guard looks up is written here or by
// changeAccount, so that it remembers nothing that has changed: also where the
// statement failed, which may have been done.
func (s *store) exec(ctx context.Context, org string, otherwise error, statement string, args ...any) error {
	defer s.found.Invalidate(org)
	return execIn(ctx, s.db, otherwise, statement, args...)
}

func execIn(ctx context.Context, db *pool, otherwise error, statement string, args ...any) error {
	result, err := db.ExecContext(ctx, statement, args...)
	if err != nil {
		return storeFailed(err)
	}
	n, err := result.RowsAffected()
	switch {
	case err != nil:
		return storeFailed(err)
	case n == 0:
		return otherwise
	}
	return nil
}

// storeFailed makes a 503 of what a store reports beside "not found": nobody
// knows.
func storeFailed(err error) error {
	if err == nil || auth.IsNotFound(err) {
		return err
	}
	return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
}

// record is the text of a record.
func record(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a type of ours that JSON cannot hold
	}
	return string(text)
}
