package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// Orgs, apps, accounts and roles are records. Each is a row of a table, and its
// column record holds all of it as JSON. The other columns are for conditions.

// row names the row of a record: its table, and a condition that only this row
// meets.
type row struct {
	org          auth.OrgKey
	table, where string
	args         []any // of the condition
}

func orgRow(code string) row {
	return row{auth.OrgKey(code), "platform_orgs", "code = $1", []any{code}}
}

func appRow(org auth.OrgKey, clientKey string) row {
	return row{org, "platform_apps", "org = $1 AND client_key = $2", []any{org, clientKey}}
}

func accountRow(org auth.OrgKey, id string) row {
	return row{org, "platform_accounts", "org = $1 AND id = $2", []any{org, id}}
}

func roleRow(org auth.OrgKey, name string) row {
	return row{org, "platform_roles", "org = $1 AND name = $2", []any{org, name}}
}

// reader is a *sql.DB or a transaction.
type reader interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

// find reads a record, or returns auth.ErrNotFound.
func find[T any](ctx context.Context, db reader, at row) (*T, error) {
	record, _, err := findText[T](ctx, db, at)
	return record, err
}

// findText is find, and also returns the record's text as it is stored.
func findText[T any](ctx context.Context, db reader, at row) (record *T, text string, err error) {
	err = db.QueryRowContext(ctx, "SELECT record FROM "+at.table+" WHERE "+at.where, at.args...).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, "", auth.ErrNotFound
	case err != nil:
		return nil, "", storeFailed(err)
	}
	record = new(T)
	return record, text, json.Unmarshal([]byte(text), record)
}

// findAll reads the records that a query selects.
func findAll[T any](ctx context.Context, db reader, query string, args ...any) (all []*T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
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

// alter changes an existing record, and returns the new state. It starts again if
// another request has changed the record first. It compares the stored text, because
// another release may have written the record with other fields.
func alter[T any](ctx context.Context, s *store, at row, change func(*T) error) (*T, error) {
	n := len(at.args)
	statement := fmt.Sprintf("UPDATE %s SET record = $%d WHERE %s AND record = $%d", at.table, n+1, at.where, n+2)
	for {
		now, before, err := findText[T](ctx, s.db, at)
		if err != nil {
			return nil, err
		}
		if err := change(now); err != nil {
			return nil, err
		}
		err = s.exec(ctx, at.org, errChanged, statement, append(at.args[:n:n], asJSON(now), before)...)
		if !errors.Is(err, errChanged) {
			return now, err
		}
	}
}

func putOrg(ctx context.Context, db writer, o auth.Org) error {
	return execIn(ctx, db, nil, `INSERT INTO platform_orgs (code, record) VALUES ($1, $2)
		ON CONFLICT (code) DO UPDATE SET record = excluded.record`, o.Code, asJSON(o))
}

func putRole(ctx context.Context, db writer, org auth.OrgKey, r auth.Role) error {
	return execIn(ctx, db, nil, `INSERT INTO platform_roles (org, name, record) VALUES ($1, $2, $3)
		ON CONFLICT (org, name) DO UPDATE SET record = excluded.record`, org, r.Name, asJSON(r))
}

// remove deletes a record. If there is none, it returns otherwise.
func (s *store) remove(ctx context.Context, at row, otherwise error) error {
	return s.exec(ctx, at.org, otherwise, "DELETE FROM "+at.table+" WHERE "+at.where, at.args...)
}

// exec runs a statement that has to change a row of an org. If it changes none,
// exec returns otherwise. All changes of what the Guard looks up go through exec or
// locked. So the Guard's cache forgets the org after each change. It does so after an
// error, too, because the statement may have succeeded.
func (s *store) exec(ctx context.Context, org auth.OrgKey, otherwise error, statement string, args ...any) error {
	defer s.found.Invalidate(org)
	return execIn(ctx, s.db, otherwise, statement, args...)
}

// locked changes records of an org in one transaction. Such changes of one org are made
// one after the other, also by other instances.
func (s *store) locked(ctx context.Context, org auth.OrgKey, change func(*sql.Tx) error) error {
	leave, err := s.queries.enter(ctx) // who waits for the lock holds a connection
	if err != nil {
		return err
	}
	defer leave()
	tx, err := begin(ctx, s.db)
	if err != nil {
		return storeFailed(err)
	}
	defer tx.Rollback()
	if err := execIn(ctx, tx, nil, "UPDATE platform_orgs SET record = record WHERE code = $1", org); err != nil {
		return err
	}
	defer s.found.Invalidate(org) // see exec
	if err := change(tx); err != nil {
		return err
	}
	return storeFailed(tx.Commit())
}

// writer is a *sql.DB or a transaction.
type writer interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
}

func execIn(ctx context.Context, db writer, otherwise error, statement string, args ...any) error {
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

// storeFailed turns an error of a store into a 503, because the result is not
// known. "Not found" stays as it is.
func storeFailed(err error) error {
	if auth.IsNotFound(err) {
		return err
	}
	return auth.Unavailable(err)
}

// asJSON returns the JSON of v.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // a type of this program that JSON cannot hold
	}
	return string(text)
}

// recordPage answers a list call on the records of the org that a query selects.
func recordPage[R any, T interface{ ItemID() string }](r *http.Request, s *store, object, query string, show func(*R) T) (page envelope.List[T], err error) {
	if err := s.queries.hold(r.Context()); err != nil {
		return page, err
	}
	all, err := findAll[R](r.Context(), s.db, query, auth.From(r.Context()).Org)
	if err != nil {
		return page, err
	}
	return ownPage(r, object, each(all, show))
}
