// Package pgxtx lets sqlstore.In run in a pgx.Tx. It is a module of its own, so that pgx is a
// dependency of those alone who use it.
//
//	tx, err := pool.Begin(ctx)
//	…
//	in, err := store.In(ctx, pgxtx.Of(tx))
package pgxtx

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// Of returns pgxTx as a sqlstore.Tx. It holds nothing that must be closed. Like pgxTx, it must not be
// used concurrently.
func Of(pgxTx pgx.Tx) sqlstore.Tx {
	db := sql.OpenDB(connector{pgxTx})
	defer db.Close()                         // which ends its goroutine, and not the one connection that is in use
	conn, _ := db.Conn(context.Background()) // Connect returns no error
	return tx{conn, pgxTx}
}

type tx struct {
	*sql.Conn
	pgx pgx.Tx
}

func (t tx) Commit() error { return t.pgx.Commit(context.Background()) }

type connector struct{ tx pgx.Tx }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c connector) Driver() driver.Driver                        { return nil }
func (c connector) Close() error                                 { return nil }
func (c connector) Begin() (driver.Tx, error)                    { return nil, errNested }
func (c connector) Prepare(string) (driver.Stmt, error)          { return nil, errNested }

var errNested = errors.New("pgxtx: inside a transaction there are only statements")

func (c connector) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	tag, err := c.tx.Exec(ctx, query, values(args)...)
	return driver.RowsAffected(tag.RowsAffected()), err
}

func (c connector) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	found, err := c.tx.Query(ctx, query, values(args)...)
	return rows{found}, err
}

func values(args []driver.NamedValue) []any {
	plain := make([]any, len(args))
	for i, arg := range args {
		plain[i] = arg.Value
	}
	return plain
}

type rows struct{ pgx.Rows }

func (r rows) Columns() []string { return make([]string, len(r.FieldDescriptions())) }
func (r rows) Close() error      { r.Rows.Close(); return r.Err() }

func (r rows) Next(into []driver.Value) error {
	if !r.Rows.Next() {
		return cmp.Or(r.Err(), io.EOF)
	}
	found, err := r.Values()
	for i, value := range found {
		if into[i] = value; err == nil {
			into[i], err = driver.DefaultParameterConverter.ConvertValue(value)
		}
	}
	return err
}
