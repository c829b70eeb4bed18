package sqlpage_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// wide returns a table of documents with n sort keys, and a query with a cursor for a
// sort by them.
func wide(n int) (sqlpage.Table, paging.Query) {
	table := sqlpage.Table{Name: "t", Select: []string{"id"}, Properties: map[string]sqlpage.Column{
		"_id": {Name: "id", Type: paging.String, NotNull: true},
	}, SharedByAllTenants: true}
	q := paging.Query{Limit: 10}
	var values []any
	for i := range n {
		path := fmt.Sprintf("c_%d", i)
		table.Properties[path] = sqlpage.Column{Name: "doc"}
		q.Sort = append(q.Sort, paging.Key{Path: path, Desc: true})
		values = append(values, json.Number("5"))
	}
	q, err := q.After(append(values, "n")...)
	if err != nil {
		panic(err)
	}
	return table, q
}

// filterOf returns a where of n conditions.
func filterOf(n int, path string) paging.Filter {
	var parts []paging.Filter
	for i := range n {
		parts = append(parts, paging.Gte(path, i))
	}
	return paging.Not(paging.Or(parts...))
}

// TestRangesAreBounded has a cursor with two ranges for each of eight keys, before
// null values and among them.
func TestRangesAreBounded(t *testing.T) {
	table, q := wide(8)
	for _, key := range q.Sort {
		table.Properties[key.Path] = sqlpage.Column{Name: key.Path, Type: paging.Integer}
	}
	for name, dialect := range dialects {
		text, args, err := sqlpage.Statement(q, table, acme, dialect)
		if err != nil {
			t.Fatal(err)
		}
		checkPlaceholders(t, text, args, dialect)
		if n := strings.Count(text, "UNION ALL"); n != 16 { // and one for _id
			t.Errorf("%s: a union of %d", name, n+1)
		}
	}
}

func TestLengthIsBounded(t *testing.T) {
	long := strings.TrimSuffix(strings.Repeat(strings.Repeat("x", 30)+".", 16), ".")
	tests := map[string]struct {
		keys, conditions int
		path             string
		union            bool
	}{
		"one key":                               {1, 0, "c_0", true},
		"one key and a filter":                  {1, 10, "c_0", true},
		"eight keys":                            {8, 0, "c_0", false},
		"one key and the largest filter":        {1, 200, "c_0", false},
		"three keys and the largest filter":     {3, 200, "c_0", false},
		"eight keys and the largest filter":     {8, 200, "c_0", false},
		"one key and the longest filter":        {1, 15, long, false},
		"a filter that no caller can have sent": {1, 200, long, false},
	}
	for name, tc := range tests {
		for dialectName, dialect := range dialects {
			t.Run(name+" in "+dialectName, func(t *testing.T) {
				table, q := wide(tc.keys)
				table.Properties[long] = sqlpage.Column{Name: "doc"}
				text, args, err := sqlpage.Statement(q.And(filterOf(tc.conditions, tc.path)), table, acme, dialect)
				if strings.HasPrefix(name, "a filter that no") {
					if !errors.As(err, new(*paging.Error)) {
						t.Errorf("%d bytes, %v", len(text), err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				checkPlaceholders(t, text, args, dialect)
				if union := strings.Contains(text, "UNION ALL"); union != tc.union || union && len(text) > 64<<10 || len(text) > 256<<10 {
					t.Errorf("%d bytes, a union %t", len(text), union)
				}
				t.Log(len(text))
			})
		}
	}
}
