package sqlpage_test

import (
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
