package sqlpage_test

import (
	"testing"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

func BenchmarkStatement(b *testing.B) {
	keyset, err := paging.ParseFilter(`{"$or":[{"likes":{"$gt":5}},{"likes":5,"_id":{"$gt":"n7"}}]}`)
	if err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]paging.Query{
		"by _id": {Where: paging.Gt("_id", "n7"), Sort: []paging.Key{{Path: "_id"}}, Limit: 100},
		"keyset": withCursor(paging.Query{Where: keyset, Sort: []paging.Key{{Path: "likes"}, {Path: "_id"}}, Limit: 100}),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := sqlpage.Statement(q, notes, acme, sqlpage.PostgreSQL); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
