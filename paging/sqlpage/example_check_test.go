package sqlpage_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

func ExampleCheck() {
	schema := paging.Schema{Object: "note", Properties: []paging.Property{
		{Path: "likes", Type: paging.Integer, Filter: true, Sort: true},
		{Path: "title", Type: paging.String, Filter: true},
	}}
	table := sqlpage.Table{
		Name:   "notes",
		Select: []string{"id", "likes", "title"},
		Properties: map[string]sqlpage.Column{
			"_id":   {Name: "id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
			"org":   {Name: "org_id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
			"likes": {Name: "likes", Type: paging.String},
		},
		Object: "note",
		Tenant: "org",
	}
	db := sql.OpenDB(none{}) // sql.Open("pgx", "postgres://…")
	fmt.Println(sqlpage.Check(context.Background(), db, sqlpage.PostgreSQL, schema, table))
	// Output:
	// sqlpage: table notes: likes: is integer in the Schema and string in the Table
	// sqlpage: table notes: title: callers may filter or sort by it: give it a column in the Table
	// sqlpage: table notes: there is no database
}

// none is a driver without a database.
type none struct{}

func (none) Connect(context.Context) (driver.Conn, error) {
	return nil, errors.New("there is no database")
}
func (none) Driver() driver.Driver { return nil }
