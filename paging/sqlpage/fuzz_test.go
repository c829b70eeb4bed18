package sqlpage_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// FuzzStatement compiles any filter and sort twice, for both databases.
func FuzzStatement(f *testing.F) {
	for _, g := range golden {
		f.Add(g.where, g.sort, uint16(3))
	}
	f.Fuzz(func(t *testing.T, where, sort string, skip uint16) {
		filter, err := paging.ParseFilter(where)
		if err != nil {
			return
		}
		q := paging.Query{Where: filter, Sort: sortKeys(sort), Skip: int(skip), Limit: 10}
		for _, dialect := range dialects {
			text, args, err := sqlpage.Statement(q, notes, acme, dialect)
			if err != nil {
				return
			}
			checkPlaceholders(t, text, args, dialect)
			again, argsAgain, err := sqlpage.Statement(q, notes, acme, dialect)
			if err != nil || again != text || !cmp.Equal(args, argsAgain) {
				t.Fatalf("%s became\n%s\n%s", q.Where, text, again)
			}
			if strings.ContainsAny(text, ";\\%") || strings.Count(text, `"`)%2 != 0 || strings.Count(text, "(") != strings.Count(text, ")") {
				t.Fatalf("%s became %s", q.Where, text)
			}
		}
	})
}
