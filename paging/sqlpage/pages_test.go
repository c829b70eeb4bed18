package sqlpage_test

import (
	"database/sql"
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
	}
}
