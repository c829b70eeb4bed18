package sqlpage_test

import (
	"fmt"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

var messages = sqlpage.Table{
	Name:   "messages",
	Select: []string{"id", "body"},
	Properties: map[string]sqlpage.Column{
		"_id":   {Name: "id", Type: paging.String, NotNull: true},
		"org":   {Name: "org", Type: paging.String, NotNull: true},
		"likes": {Name: "likes", Type: paging.Integer, NotNull: true},
		"c_tag": {Name: "body"}, // in a JSON document
	},
	Tenant: "org",
}

var schema = paging.Schema{
	Object:     "c_message",
	Properties: []paging.Property{{Path: "likes", Type: paging.Integer, Filter: true, Sort: true}},
}

func ExampleStatement() {
	everything := func(string) bool { return true } // or what the caller's scope says
	q, err := schema.Parse(`where={"likes":{"$gte":5}}&limit=2`, everything)
	if err != nil {
		fmt.Println(err)
		return
	}
	visible := sqlpage.RowScope{Tenant: "acme", IDs: []string{"m1", "m2"}} // or AllIDs
	text, args, err := sqlpage.Statement(q, messages, visible, sqlpage.PostgreSQL)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(text)
	fmt.Println(args)
	// Output:
	// SELECT r."id", r."body" FROM "messages" AS r WHERE r."org" COLLATE "C" = $1::text AND r."id" COLLATE "C" IN ($2::text, $3::text) AND r."likes" >= $4::bigint ORDER BY r."id" COLLATE "C" LIMIT 3
	// [acme m1 m2 5]
}

func ExampleIndexes() {
	indexes, err := sqlpage.Indexes(schema, messages, sqlpage.SQLite)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, index := range indexes {
		fmt.Println(index)
	}
	// Output:
	// CREATE INDEX IF NOT EXISTS "messages_org__id" ON "messages" ("org" COLLATE BINARY, "id" COLLATE BINARY)
	// CREATE INDEX IF NOT EXISTS "messages_org_likes__id" ON "messages" ("org" COLLATE BINARY, "likes", "id" COLLATE BINARY)
	// CREATE INDEX IF NOT EXISTS "messages_org_likes_desc__id" ON "messages" ("org" COLLATE BINARY, "likes" DESC, "id" COLLATE BINARY)
}

func ExampleStorage() {
	invoices := sqlpage.Table{
		Name:   "invoices",
		Object: "invoice", // the table has no column of it
		Tenant: "tenant",
		Select: []string{"id", "created_at"},
		Properties: map[string]sqlpage.Column{
			"_id":     {Name: "id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
			"tenant":  {Name: "tenant_id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
			"created": {Name: "created_at", Type: paging.Date, NotNull: true}, // timestamptz
		},
	}
	visible := sqlpage.RowScope{Tenant: "aaaaaaaa-0000-4000-8000-000000000001", AllIDs: true}
	q := paging.Query{Where: paging.Or(paging.Eq("_id", "no uuid"), paging.Eq("object", "invoice")), Limit: 100}
	text, _, err := sqlpage.Statement(q, invoices, visible, sqlpage.PostgreSQL)
	fmt.Println(text, err)

	byTime := paging.Schema{Properties: []paging.Property{{Path: "created", Type: paging.Date, Sort: true}}}
	indexes, err := sqlpage.Indexes(byTime, invoices, sqlpage.PostgreSQL)
	fmt.Println(indexes[1], err)
	// Output:
	// SELECT r."id", r."created_at" FROM "invoices" AS r WHERE r."tenant_id" = $1::uuid AND (FALSE OR 'invoice' COLLATE "C" = $2::text) ORDER BY r."id" LIMIT 101 <nil>
	// CREATE INDEX IF NOT EXISTS "invoices_tenant_created__id" ON "invoices" ("tenant_id", date_trunc('milliseconds', "created_at" AT TIME ZONE 'UTC'), "id") <nil>
}
