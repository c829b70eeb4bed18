package sqlpage

import (
	"fmt"

	"github.com/tenantkit/tenantkit/paging"
)

// RowScope says which rows a statement can return at most. The zero RowScope makes no
// statement for a table of several tenants, or with a Where. Without IDs and AllIDs no row is visible.
//
//	ids, all := grant.IDs() // a scope.Grant
//	visible := sqlpage.RowScope{Tenant: string(principal.Org), IDs: ids, AllIDs: all}
type RowScope struct {
	Tenant string   // whose rows; required unless the table is SharedByAllTenants, which ignores it
	IDs    []string // the only _ids of rows
	AllIDs bool     // each _id of the tenant; IDs is ignored

	Where map[string]string // the value of each property of Table.Where, and of no other
}

// visible returns the condition for the rows that v allows.
func (s *statement) visible(v RowScope) string {
	condition := "TRUE"
	if !s.table.SharedByAllTenants {
		condition = s.filter(paging.Eq(s.table.Tenant, v.Tenant))
	}
	// An error, not an empty page: the server names the tenant, not the client.
	if condition == "FALSE" || v.Tenant == "" && !s.table.SharedByAllTenants {
		s.check(fmt.Errorf("sqlpage: table %s: %q is no tenant", s.table.Name, v.Tenant))
	}
	for _, path := range s.table.Where {
		own := s.filter(paging.Eq(path, v.Where[path]))
		if own == "FALSE" || v.Where[path] == "" {
			s.check(fmt.Errorf("sqlpage: table %s: %q is no value for %q of Where", s.table.Name, v.Where[path], path))
		}
		condition = and(condition, own)
	}
	if len(v.Where) > len(s.table.Where) {
		s.check(fmt.Errorf("sqlpage: table %s: a value for a property that its Where does not have", s.table.Name))
	}
	if v.AllIDs {
		return condition
	}
	return and(condition, s.filter(paging.In("_id", v.IDs...)))
}
