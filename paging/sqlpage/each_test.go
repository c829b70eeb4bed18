package sqlpage_test

import (
	"database/sql"
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
			visible sqlpage.Visible
			parent  string
			want    string
		}{
			{"no tenant", answers, sqlpage.Visible{AllIDs: true}, "question", "is no tenant"},
			{"an unknown parent", answers, sqlpage.Visible{Tenant: "acme"}, "ticket", `has no property "ticket"`},
			{"a parent that is a number", answers, sqlpage.Visible{Tenant: "acme"}, "likes", "holds no parent"},
			{"a parent in a document", answers, sqlpage.Visible{Tenant: "acme"}, "c_text", "holds no parent"},
			{"an _id in a document", documents, sqlpage.Visible{Tenant: "acme"}, "question", "holds no parent"},
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
