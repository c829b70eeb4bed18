package sqlpage_test

import (
	"database/sql"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

var answers = sqlpage.Table{
	Name:   "answers",
	Select: []string{"id"},
	Properties: map[string]sqlpage.Column{
		"_id":      {Name: "id", Type: paging.String, NotNull: true},
		"tenant":   {Name: "tenant", Type: paging.String, NotNull: true},
		"question": {Name: "question", Type: paging.String, NotNull: true},
		"likes":    {Name: "likes", Type: paging.Integer},
		"c_text":   {Name: "doc"},
	},
	Tenant: "tenant",
}

// The tenant cannot be forgotten, and only a column of texts can hold a parent.
func TestPagesOfParentsThatCannotBe(t *testing.T) {
	documents := answers
	documents.Properties = map[string]sqlpage.Column{"_id": {Name: "doc"}, "tenant": answers.Properties["tenant"], "question": answers.Properties["question"]}
	for _, dialect := range []sqlpage.Dialect{sqlpage.PostgreSQL, sqlpage.SQLite} {
		pages := &sqlpage.Pages{DB: sql.OpenDB(&database{}), Dialect: dialect}
		for _, test := range []struct {
			name    string
			table   sqlpage.Table
			visible sqlpage.RowScope
			parent  string
			want    string
		}{
			{"no tenant", answers, sqlpage.RowScope{AllIDs: true}, "question", `"" is no value for "tenant"`},
			{"an unknown parent", answers, sqlpage.RowScope{Tenant: "acme"}, "ticket", `has no property "ticket"`},
			{"a parent that is a number", answers, sqlpage.RowScope{Tenant: "acme"}, "likes", "holds no parent"},
			{"a parent in a document", answers, sqlpage.RowScope{Tenant: "acme"}, "c_text", "holds no parent"},
			{"an _id in a document", documents, sqlpage.RowScope{Tenant: "acme"}, "question", "holds no parent"},
		} {
			rows, err := pages.QueryEach(t.Context(), paging.Query{Limit: 1}, test.table, test.visible, test.parent, []string{"q1"})
			if err == nil {
				rows.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, not %q", test.name, err, test.want)
			}
		}
	}
}

// TestGoldenPagesOfParents has expressions in the filter, which no column of the parents can meet.
func TestGoldenPagesOfParents(t *testing.T) {
	table := answers
	table.Properties = maps.Clone(answers.Properties)
	table.Properties["question"] = sqlpage.Column{Name: "question", Type: paging.String, NotNull: true, Storage: sqlpage.UUID}
	table.Properties["value"] = sqlpage.Column{UnsafeExpression: "lower(value)", Type: paging.String}
	table.Properties["tags[]"] = sqlpage.Column{Name: "tags", Type: paging.String, Storage: sqlpage.Array}
	const id, none = "0e984725-c51c-4bf4-9960-e1c80e27aba0", "0E984725"
	for name, dialect := range dialects {
		var got strings.Builder
		for _, g := range []struct{ where, sort string }{
			{`{}`, ``},
			{`{"value":"a","tags[]":"x","c_text":5}`, `{"likes":1}`},
			{`{"$or":[{"$nor":[{"likes":{"$gte":5}}]},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":-1}`},
		} {
			text, args, err := sqlpage.EachStatement(query(t, g.where, g.sort), table, acme, dialect, "question", []string{id, none, id + "\x00"})
			if err != nil {
				t.Fatal(err)
			}
			checkPlaceholders(t, text, args, dialect)
			fmt.Fprintf(&got, "-- %s\n%s;\n-- %#v\n\n", g.where, text, args)
		}
		compareGolden(t, name+"_each.sql", got.String())
	}
}
