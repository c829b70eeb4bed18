package sqltenants

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// View adds the property object, which every item has and the table has not.
const View = `
CREATE VIEW user_items AS SELECT id, CAST('user' AS TEXT) AS object, company, name, email FROM users WHERE active;`

// schema is what callers may ask for. The company is not part of it.
var schema = paging.Schema{Object: "user", Properties: []paging.Property{
	{Path: "name", Type: paging.String, Filter: true, Sort: true},
	{Path: "email", Type: paging.String, Filter: true, Null: true},
}}

// Table maps each property to its column.
var Table = sqlpage.Table{
	Name:   "user_items",
	Select: []string{"id", "object", "name", "email"},
	Properties: map[string]sqlpage.Column{
		"_id":     {Name: "id", Type: paging.String, NotNull: true},
		"object":  {Name: "object", Type: paging.String, NotNull: true},
		"company": {Name: "company", Type: paging.String, NotNull: true},
		"name":    {Name: "name", Type: paging.String, NotNull: true},
		"email":   {Name: "email", Type: paging.String},
	},
	Tenant: "company",
}

// Indexes returns the statements of the indexes. With them, the last page costs as
// much as the first. They are on the table below the view. They begin with the
// company, because every statement compares it.
func Indexes() ([]string, error) {
	below := Table
	below.Name = "users"
	return sqlpage.Indexes(schema, below, sqlpage.SQLite)
}

type user struct {
	envelope.Item
	Name  string  `json:"name"`
	Email *string `json:"email"`
}

// users answers GET /users: the caller's colleagues.
type users struct{ pages *sqlpage.Pages }

func (u users) list(w http.ResponseWriter, r *http.Request, may scope.Part) {
	p := auth.From(r.Context())
	// A filter reveals the values that it compares. So a caller may filter only by
	// what it may read.
	q, err := schema.Parse(r.URL.RawQuery, may.Property)
	if err != nil {
		auth.Fail(w, r, err)
		return
	}
	// The caller's own filter, sort and cursor reach no other row.
	ids, all := may.IDs()
	visible := sqlpage.RowScope{Tenant: string(p.Org), IDs: ids, AllIDs: all}
	ctx, cancel := auth.TenantFrom(r.Context()).Bound(r.Context())
	defer cancel()
	page, more, err := u.page(ctx, q, visible)
	if err != nil {
		auth.Fail(w, r, auth.Unavailable(fmt.Errorf("users: %w", err)))
		return
	}
	items := make([]json.RawMessage, len(page))
	for i, item := range page {
		readable := may.Of(item.ID)
		items[i], err = envelope.Select(item, func(path string) bool { return q.Wants(path) && readable(path) })
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
	}
	auth.Reply(w, r, envelope.List[json.RawMessage]{Data: items, HasMore: more})
}

func (u users) page(ctx context.Context, q paging.Query, visible sqlpage.RowScope) (page []user, more bool, err error) {
	rows, err := u.pages.Query(ctx, q, Table, visible)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		var item user
		if err := rows.Scan(&item.ID, &item.Object, &item.Name, &item.Email); err != nil {
			return nil, false, err
		}
		page = append(page, item)
	}
	return page, rows.More(), rows.Err()
}
