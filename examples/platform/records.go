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

// row names the row of a record: its table, and a condition that only this row meets.
type row struct {
	table, where string
	args         []any      // of the condition
	changed      auth.Event // of a change
}

func orgRow(code string) row {
	return row{"platform_orgs", "code = $1", []any{code}, auth.Event{Verb: "org.changed", Org: auth.OrgKey(code)}}
}

func appRow(org auth.OrgKey, clientKey string) row {
	return row{"platform_apps", "org = $1 AND client_key = $2", []any{org, clientKey}, auth.Event{Verb: "app.changed", Org: org, App: clientKey}}
}

func accountRow(org auth.OrgKey, id string) row {
	return row{"platform_accounts", "org = $1 AND id = $2", []any{org, id}, auth.Event{}}
}

func roleRow(org auth.OrgKey, name string) row {
	return row{"platform_roles", "org = $1 AND name = $2", []any{org, name}, auth.Event{Verb: "role.changed", Org: org, Reason: name}}
}

type reader interface {
	QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row
}

func find[T any](ctx context.Context, db reader, at row) (*T, error) {
	var text []byte
	if err := db.QueryRowContext(ctx, "SELECT record FROM "+at.table+" WHERE "+at.where, at.args...).Scan(&text); err != nil {
		return nil, storeFailed(err)
	}
	record := new(T)
	return record, json.Unmarshal(text, record)
}

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

func alter[T any](ctx context.Context, s *store, at row, change func(*T) error) (record *T, err error) {
	err = s.reported(ctx, at.changed, func(tx *sql.Tx) (err error) {
		record, err = alterIn(ctx, tx, at, change)
		return err
	})
	return record, err
}

func alterIn[T any](ctx context.Context, tx *sql.Tx, at row, change func(*T) error) (*T, error) {
	record, err := find[T](ctx, tx, at)
	if err == nil {
		err = change(record)
	}
	if err != nil {
		return nil, err
	}
	statement := fmt.Sprintf("UPDATE %s SET record = $%d WHERE %s", at.table, len(at.args)+1, at.where)
	return record, execIn(ctx, tx, auth.ErrNotFound, statement, append(at.args, asJSON(record))...)
}

func putOrg(ctx context.Context, db writer, o auth.Org) error {
	return execIn(ctx, db, nil, `INSERT INTO platform_orgs (code, record) VALUES ($1, $2)
		ON CONFLICT (code) DO UPDATE SET record = excluded.record`, o.Code, asJSON(o))
}

func putRole(ctx context.Context, db writer, org auth.OrgKey, r auth.Role) error {
	return execIn(ctx, db, &auth.Error{Detail: auth.DetailConflict, Path: "name"},
		"INSERT INTO platform_roles (org, name, record) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", org, r.Name, asJSON(r))
}

func (s *store) remove(ctx context.Context, at row) error {
	return s.reported(ctx, at.changed, func(tx *sql.Tx) error {
		return execIn(ctx, tx, auth.ErrNotFound, "DELETE FROM "+at.table+" WHERE "+at.where, at.args...)
	})
}

// reported is locked for a change that is an event: the audit log has it, and those who watch the org.
func (s *store) reported(ctx context.Context, e auth.Event, change func(*sql.Tx) error) error {
	err := s.locked(ctx, e.Org, func(tx *sql.Tx) error {
		if err := change(tx); err != nil {
			return err
		}
		return s.audited(ctx, tx, e, "")
	})
	if err == nil {
		auth.Emit(ctx, e)
	}
	return err
}

// locked changes records of an org in one transaction. Such changes of one org are made
// one after the other, also by other instances. All changes of what the Guard looks up go through locked.
// So the Guard's cache forgets the org after each change. It does so after an error, too, because the
// change may have succeeded.
func (s *store) locked(ctx context.Context, org auth.OrgKey, change func(*sql.Tx) error) error {
	leave, err := s.queries.enter(ctx) // who waits for the lock holds a connection
	if err != nil {
		return err
	}
	defer leave()
	defer s.found.Invalidate(org)
	return inTx(ctx, s.db, func(tx *sql.Tx) error {
		if err := execIn(ctx, tx, nil, "UPDATE platform_orgs SET record = record WHERE code = $1", org); err != nil {
			return err
		}
		return change(tx)
	})
}

// inTx runs do in a transaction, which ends with it.
func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := begin(ctx, db)
	if err != nil {
		return storeFailed(err)
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return err
	}
	return storeFailed(tx.Commit())
}

type writer interface {
	ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error)
}

// execIn runs a statement that has to change a row. If it changes none, it returns otherwise.
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
// known. "Not found" stays as it is, and so no row is not found.
func storeFailed(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return auth.ErrNotFound
	}
	if auth.IsNotFound(err) {
		return err
	}
	return auth.Unavailable(err)
}

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
	return pageOf(r, object, show)(findAll[R](r.Context(), s.db, query, auth.From(r.Context()).Org))
}

// The store is the Guard's auth.Directory. The Guard asks store.found, which remembers a
// result for staleness.
var _ auth.Directory = (*store)(nil)

func (s *store) Org(ctx context.Context, code string) (*auth.Org, error) {
	return find[auth.Org](ctx, s.db, orgRow(code))
}

func (s *store) App(ctx context.Context, clientKey string) (*auth.App, error) {
	return find[auth.App](ctx, s.db, row{table: "platform_apps", where: "client_key = $1", args: []any{clientKey}})
}

func (s *store) Account(ctx context.Context, org auth.OrgKey, id string) (*auth.Account, error) {
	return find[auth.Account](ctx, s.db, accountRow(org, id))
}

func (s *store) Roles(ctx context.Context, org auth.OrgKey, names []string) (roles []auth.Role, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	args := []any{org}
	found, err := findAll[auth.Role](ctx, s.db, "SELECT record FROM platform_roles WHERE org = $1 AND name IN "+oneOf(names, &args), args...)
	return each(found, valueOf), err
}

func valueOf[T any](p *T) T { return *p }
