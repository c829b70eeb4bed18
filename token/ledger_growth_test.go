package token_test

import (
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/token"
)

// BenchmarkIssue has the same number of records, of many subjects or of few.
func BenchmarkIssue(b *testing.B) {
	const records, batch = 20_000, 500
	for _, each := range []int{10, 100, 1000, 10_000} {
		var ledger token.MemoryLedger
		issue := func(i int, id string) {
			r := aRecord(id)
			r.Subject = fmt.Sprint("subject-", i%(records/each))
			if err := ledger.Issue(b.Context(), r, nil, 2*records); err != nil {
				b.Fatal(err)
			}
		}
		for i := range records {
			issue(i, fmt.Sprint("filled-", i))
		}
		var ids []string
		for i := range batch {
			ids = append(ids, fmt.Sprint("new-", i))
		}
		b.Run(fmt.Sprint(each, " of the subject"), func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				issue(i, ids[i%batch])
				if i%batch == batch-1 || i == b.N-1 {
					b.StopTimer()
					for _, id := range ids[:i%batch+1] {
						ledger.Revoke(b.Context(), heldBy(appA, token.AnySubject), id)
					}
					b.StartTimer()
				}
			}
		})
	}
}
