package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// A value that no column takes is the caller's to change, and is not repeated.
func TestErrorsOfStatements(t *testing.T) {
	onEachEngine(t, func(t *testing.T, w *world) {
		for _, c := range []struct{ want, sqlite, postgres string }{
			{auth.DetailConflict, "INSERT INTO tenants (id, subdomain) VALUES ('" + anvils + "', 'acme')", ""},
			{auth.DetailConflict, "INSERT INTO tenants (id, subdomain) VALUES ('" + acmeID + "', 'other')", ""},
			{auth.DetailConflict, "INSERT INTO notes (id, tenant_id, title, body) VALUES ('" + doomsday + "x', '" + anvils + "', '', '')",
				"INSERT INTO notes (id, tenant_id, title, body) VALUES ('" + acmeID + "', '" + anvils + "', '', '')"},
			{auth.DetailBody, "UPDATE notes SET title = NULL", ""},
			{auth.DetailBody, "UPDATE users SET changed = 1e300", ""},
			{auth.DetailBody, "UPDATE users SET changed = 'soon'", ""},
			{auth.DetailInternal, "UPDATE nothing SET title = ''", ""},
			{auth.DetailInternal, "UPDATE", ""},
		} {
			statement := c.sqlite
			if w.dialect == sqlpage.PostgreSQL && c.postgres != "" {
				statement = c.postgres
			}
			err := w.change(t.Context(), nil, statement)
			if e, ok := errors.AsType[*auth.Error](err); !ok || e.Detail != c.want {
				t.Errorf("%s: %v, want %s", statement, err, c.want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := w.change(ended, nil, "UPDATE notes SET title = ''"); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("a request that has ended: %v", err)
		}
		w.db.Close()
		if err := w.change(t.Context(), nil, "UPDATE notes SET title = ''"); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("a database that is closed: %v", err)
		}
	})
	for code, want := range map[string]int{"22003": 400, "22P02": 400, "23502": 400, "23514": 400, "23505": 409, "23503": 409, "23P01": 409,
		"40001": 503, "40P01": 503, "53300": 503, "57014": 503, "57P01": 503, "08006": 503, "55P03": 503, "25006": 503, "42601": 500, "42P01": 500, "54000": 400, "": 500} {
		if got := pgStatus(code); got != want {
			t.Errorf("%s: %d, want %d", code, got, want)
		}
	}
	for code, want := range map[int]int{5: 503, 517: 503, 10: 503, 13: 503, 2067: 409, 787: 409, 1299: 400, 275: 400, 18: 400, 1: 500} {
		if got := sqliteStatus(code); got != want {
			t.Errorf("%d: %d, want %d", code, got, want)
		}
	}
	if err := sqlError(&pgconn.ConnectError{}); !errors.Is(err, auth.ErrUnavailable) {
		t.Error(err)
	}
	if err := sqlError(driver.ErrBadConn); !errors.Is(err, auth.ErrUnavailable) {
		t.Error(err)
	}
	if err := sqlError(nil); err != nil {
		t.Error(err)
	}
}
