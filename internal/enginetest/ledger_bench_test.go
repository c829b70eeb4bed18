package enginetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// BenchmarkLedgerList lists from an app of 100,000 live tokens, with ten of each subject. A page
// must cost the same wherever it begins. Its records are inserted directly, to save time.
//
//	go test -run '^$' -bench LedgerList ./internal/enginetest
func BenchmarkLedgerList(b *testing.B) {
	const tokens, subjects, page = 100_000, 10_000, 100
	for _, h := range homes(b) {
		db := h.open(b)
		ledger := h.storeIn(b, db).Ledger()
		begin := time.Now().Add(-time.Hour).Truncate(time.Second)
		issued := func(i int) time.Time { return begin.Add(time.Duration(i/100) * time.Second) }
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		for i := range tokens {
			_, err := tx.Exec("INSERT INTO "+h.prefix+`ledger (client_key, id, subject, key_id, uses, max_uses, issued, org)
				VALUES ('app', $1, $2, 'key', 0, 0, $3, 'acme')`, fmt.Sprintf("%016x", uint64(i)*0x9E3779B97F4A7C15), fmt.Sprint(i%subjects), issued(i).Unix())
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
		if h.dialect == sqlstore.PostgreSQL { // as its autovacuum does
			run(b, db, "ANALYZE "+h.prefix+"ledger")
		}
		list := func(name string, want int, of func(i int) token.Holder, after func(i int) token.Position, limit int) {
			b.Run(h.name+"/"+name, func(b *testing.B) {
				for i := 0; b.Loop(); i++ {
					if page, _, err := ledger.List(b.Context(), of(i), after(i), limit); len(page) != want || err != nil {
						b.Fatal(len(page), err)
					}
				}
			})
		}
		fromStart := func(int) token.Position { return token.Position{} }
		app := func(int) token.Holder { return heldBy("app", token.Any) }
		list("of a subject", tokens/subjects, func(i int) token.Holder { return heldBy("app", fmt.Sprint(i%subjects)) }, fromStart, token.MaxPage)
		list("the first page of an app", page, app, fromStart, page)
		list("any page of an app", page, app, func(i int) token.Position { return token.Position{Issued: issued(i * 7919 % 90_000)} }, page)
		list("the largest page of an app", token.MaxPage, app, fromStart, token.MaxPage)
		b.Run(h.name+"/Issue", func(b *testing.B) {
			for b.Loop() {
				r := aToken()
				r.ClientKey, r.Subject = "app", r.ID
				if err := ledger.Issue(b.Context(), r, nil, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
