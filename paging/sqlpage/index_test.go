package sqlpage_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

func TestIndexes(t *testing.T) {
	schema := paging.Schema{Properties: []paging.Property{
		{Path: "likes", Type: paging.Integer, Sort: true},
		{Path: "title", Type: paging.String, Sort: true, Null: true},
		{Path: "c_b.c-d", Type: paging.Number, Sort: true},
		{Path: "rank", Type: paging.Integer, Filter: true},
		{Path: "moment", Type: paging.Date, Sort: true, Null: true},
		{Path: "day", Type: paging.Date, Sort: true},
		{Path: "by", Type: paging.String, Sort: true},
		{Path: "meta.po", Type: paging.String, Sort: true},
		{Path: "email", Type: paging.String, Sort: true},
		{Path: "price", Type: paging.Number, Sort: true, Hidden: true},
	}}
	for name, dialect := range dialects {
		t.Run(name, func(t *testing.T) {
			indexes, err := sqlpage.Indexes(schema, notes, dialect, "open")
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, name+"_indexes.sql", strings.Join(indexes, ";\n")+";\n")
		})
	}
	if _, err := sqlpage.Indexes(schema, notes, sqlpage.SQLite, "nosuch"); err == nil {
		t.Error("a leading property that is not there was accepted")
	}
	schema.Properties = append(schema.Properties, paging.Property{Path: "state", Type: paging.String, Sort: true})
	if _, err := sqlpage.Indexes(schema, notes, sqlpage.PostgreSQL); err == nil {
		t.Error("an index on the texts of an enum was accepted")
	}
	if _, err := sqlpage.Indexes(schema, notes, sqlpage.SQLite); err != nil {
		t.Error(err)
	}
}

func TestIndexNamesDiffer(t *testing.T) {
	long := strings.Repeat("long", 9) + "."
	table := sqlpage.Table{Name: "t", Select: []string{"a"}, Properties: map[string]sqlpage.Column{"_id": {Name: "a"}}, SharedByAllTenants: true}
	schema := paging.Schema{}
	for _, path := range []string{"a-b", "a_b", "a.b", long + long + "a", long + long + "b"} {
		table.Properties[path] = sqlpage.Column{Name: "doc"}
		schema.Properties = append(schema.Properties, paging.Property{Path: path, Type: paging.String, Sort: true})
	}
	indexes, err := sqlpage.Indexes(schema, table, sqlpage.PostgreSQL)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, index := range indexes {
		name := strings.Split(index, `"`)[1]
		if names[name] || len(name) > 63 {
			t.Errorf("%s is too long or was there before", name)
		}
		names[name] = true
	}
	if len(names) != 11 {
		t.Errorf("%d indexes", len(names))
	}
}
