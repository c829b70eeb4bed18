package main

import (
	"context"
	"database/sql"
	_ "embed"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	_ "modernc.org/sqlite"             // the driver "sqlite"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

//go:embed tables.sql
var tables string

//go:embed demo.sql
var demo string

var forSQLite = strings.NewReplacer(" uuid ", " TEXT ", " boolean ", " INTEGER ", " bigint ", " INTEGER ", "\n);", "\n) STRICT;")

// openDB opens PostgreSQL by its URL, or a file of SQLite.
func openDB(source string) (*sql.DB, sqlstore.Dialect, error) {
	if strings.HasPrefix(source, "postgres") {
		db, err := sql.Open("pgx", source)
		return db, sqlstore.PostgreSQL, err
	}
	db, err := sql.Open("sqlite", "file:"+source+
		"?_txlock=immediate&_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)")
	return db, sqlstore.SQLite, err
}

// createDemo creates the tables and the indexes of lists, with two tenants.
func createDemo(ctx context.Context, db *sql.DB, dialect sqlstore.Dialect) error {
	create := tables
	if dialect == sqlstore.SQLite {
		create = forSQLite.Replace(create)
	}
	indexes, err := notes.Indexes(dialect)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, create+demo+strings.Join(indexes, ";\n"))
	return err
}
