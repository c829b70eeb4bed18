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

// TestIssuedAndRevokedInTurn has an app whose latest token is issued and revoked again and again,
// with one id and with many. Each Issue would look at all that were revoked before.
func TestIssuedAndRevokedInTurn(t *testing.T) {
	const records = 1000
	for name, id := range map[string]func(i int) string{
		"one id":   func(int) string { return "new" },
		"many ids": func(i int) string { return fmt.Sprintf("new-%06d", i) },
	} {
		var ledger token.MemoryLedger
		for i := range records {
			expectNil(t, ledger.Issue(t.Context(), aRecord(fmt.Sprint("filled-", i)), nil, 2*records))
		}
		for i := range records / 2 {
			r := aRecord(id(i))
			expectNil(t, ledger.Issue(t.Context(), r, nil, 2*records))
			expectNil(t, ledger.Revoke(t.Context(), r.Holder(), r.ID))
		}
		if n := ledger.Slots(appA); n > records+1 {
			t.Errorf("%s: %d slots for %d records", name, n, records)
		}
	}
}

func expectNil(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
