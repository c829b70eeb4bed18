package sqlpage_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// TestTheTenantCannotBeForgotten is P25.
func TestTheTenantCannotBeForgotten(t *testing.T) {
	for name, visible := range map[string]sqlpage.RowScope{
		"no tenant":                     {},
		"no tenant, but all ids":        {AllIDs: true},
		"no tenant, but ids":            {IDs: []string{"n7"}},
		"a tenant with NUL":             {Tenant: "acme\x00", AllIDs: true},
		"a tenant that is not UTF-8":    {Tenant: "acme\xff", AllIDs: true},
		"an id that no database stores": {Tenant: "acme", IDs: []string{"n7\x00"}},
	} {
		t.Run("P25 "+name, func(t *testing.T) {
			for _, dialect := range dialects {
				if text, _, err := sqlpage.Statement(paging.Query{Limit: 1}, notes, visible, dialect); err == nil {
					t.Error("accepted: ", text)
				}
			}
		})
	}
}

// TestVisible has the conditions of a Visible for a query whose filter and cursor are
// compiled to a union.
func TestVisible(t *testing.T) {
	shared := notes
	shared.Tenant, shared.SharedByAllTenants = "", true
	q := withCursor(query(t, `{"$or":[{"$nor":[{"likes":{"$gte":5}}]},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":-1}`))
	for name, tc := range map[string]struct {
		table   sqlpage.Table
		visible sqlpage.RowScope
		where   string // of each part
	}{
		"all of a tenant":      {notes, acme, `r."org" COLLATE BINARY = ?1 AND `},
		"some of a tenant":     {notes, sqlpage.RowScope{Tenant: "acme", IDs: []string{"a", "b"}}, `r."org" COLLATE BINARY = ?1 AND r."id" COLLATE BINARY IN (?2, ?3) AND `},
		"none of a tenant":     {notes, sqlpage.RowScope{Tenant: "acme"}, `r."org" COLLATE BINARY = ?1 AND FALSE AND `},
		"all of a shared one":  {shared, sqlpage.RowScope{AllIDs: true}, ``},
		"some of a shared one": {shared, sqlpage.RowScope{IDs: []string{"a"}}, `r."id" COLLATE BINARY IN (?1) AND `},
		"none of a shared one": {shared, sqlpage.RowScope{}, `FALSE AND `},
		"shared by a tenant":   {shared, acme, ``},
	} {
		t.Run(name, func(t *testing.T) {
			text, _, err := sqlpage.Statement(q, tc.table, tc.visible, sqlpage.SQLite)
			if err != nil {
				t.Fatal(err)
			}
			after, equal := " WHERE "+tc.where+`r."likes" < `, " WHERE "+tc.where+`(r."likes" = `
			if strings.Count(text, " WHERE ") != 2 || !strings.Contains(text, after) || !strings.Contains(text, equal) {
				t.Error(text)
			}
		})
	}
}
