package sqlpage_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

func TestPagesPrepareInSQLiteAlone(t *testing.T) {
	for dialect, want := range map[sqlpage.Dialect]int{sqlpage.SQLite: 1, sqlpage.PostgreSQL: 0} {
		d := &database{}
		db := sql.OpenDB(d)
		defer db.Close()
		pages := &sqlpage.Pages{DB: db, Dialect: dialect}
		for range 3 {
			rows, err := pages.Query(t.Context(), paging.Query{Limit: 2}, messages, acme)
			if err != nil {
				t.Fatal(err)
			}
			rows.Close()
		}
		if d.prepared != want || d.run != 3 {
			t.Errorf("dialect %d: %d statements prepared, %d run", dialect, d.prepared, d.run)
		}
	}
}

func TestPagesThatCannotBe(t *testing.T) {
	db := sql.OpenDB(&database{})
	defer db.Close()
	for want, c := range map[string]struct {
		pages *sqlpage.Pages
		table sqlpage.Table
	}{
		"no database":   {&sqlpage.Pages{Dialect: sqlpage.SQLite}, messages},
		"no dialect":    {&sqlpage.Pages{DB: db}, messages},
		"no table name": {&sqlpage.Pages{DB: db, Dialect: sqlpage.SQLite}, sqlpage.Table{}},
	} {
		rows, err := c.pages.Query(t.Context(), paging.Query{Limit: 2}, c.table, acme)
		if err == nil {
			rows.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, not %q", err, want)
		}
		if total, err := c.pages.Count(t.Context(), paging.Query{CountTo: 2}, c.table, acme); total != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error of a count is %v, not %q", err, want)
		}
	}
}

// TestCountsThatAreRefused is P27: no tenant, no count. Nobody asked, no statement.
func TestCountsThatAreRefused(t *testing.T) {
	d := &database{}
	db := sql.OpenDB(d)
	defer db.Close()
	pages := &sqlpage.Pages{DB: db, Dialect: sqlpage.PostgreSQL}
	if total, err := pages.Count(t.Context(), paging.Query{CountTo: 5}, messages, sqlpage.RowScope{AllIDs: true}); total != nil || err == nil {
		t.Errorf("P27 %v without a tenant", total)
	}
	if total, err := pages.Count(t.Context(), paging.Query{Limit: 5}, messages, acme); total != nil || err != nil {
		t.Errorf("%v, %v, which nobody asked for", total, err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := pages.Count(ended, paging.Query{CountTo: 5}, messages, acme); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that has ended: %v", err)
	}
	if d.run != 0 {
		t.Errorf("%d statements", d.run)
	}
}
