package sqlpage_test

import (
	"fmt"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// A program that runs the statement itself limits its time, too: Pages.Count does.
func ExampleCountStatement() {
	table := sqlpage.Table{
		Name:   "messages",
		Select: []string{"id", "body"},
		Properties: map[string]sqlpage.Column{
			"_id": {Name: "id", Type: paging.String, NotNull: true},
			"org": {Name: "org", Type: paging.String, NotNull: true},
		},
		Tenant: "org",
	}
	q := paging.Query{Where: paging.Prefix("_id", "m"), Count: 100}
	text, args, err := sqlpage.CountStatement(q, table, sqlpage.Visible{Tenant: "acme", AllIDs: true}, sqlpage.SQLite)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(text)
	fmt.Println(args)
	// Output:
	// SELECT count(*) FROM (SELECT 1 FROM "messages" AS r WHERE r."org" COLLATE BINARY = ?1 AND (r."id" COLLATE BINARY >= ?2 AND r."id" COLLATE BINARY < ?3) LIMIT ?4) AS counted
	// [acme m n 101]
}
