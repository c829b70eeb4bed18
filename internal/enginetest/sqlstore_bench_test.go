package enginetest

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// BenchmarkStore compares a request with a bare durable INSERT and a bare SELECT of one row by its
// key, each one round trip:
//
//	go test -run '^$' -bench Store ./internal/enginetest
func BenchmarkStore(b *testing.B) {
	for _, h := range homes(b) {
		b.Run(h.name, func(b *testing.B) {
			db := h.open(b)
			db.SetMaxOpenConns(1)
			s := h.storeIn(b, db)
			b.Run("bare INSERT", func(b *testing.B) { benchInsert(b, db) })
			b.Run("claim", func(b *testing.B) {
				for b.Loop() {
					if err := s.Replays().Claim(b.Context(), aUse()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("spend", func(b *testing.B) { benchSpend(b, s, 1<<40) })
			b.Run("bare SELECT", func(b *testing.B) { benchSelect(b, db) })
			b.Run("permanent token", func(b *testing.B) { benchSpend(b, s, 0) })
			b.Run("session", func(b *testing.B) { benchSession(b, s) })
		})
	}
}

// BenchmarkClaimBesideInsert alternates with an INSERT, so that other load on the machine affects
// both, and reports medians. Target: 1.3 times an INSERT.
//
// In PostgreSQL a claim took 1.25 to 1.37 times as long, and longer on a fast disk. The parts were
// measured over 1500 turns. Two rows instead of one, with one index more, take 1.12. With the
// look-up of the engine's identity it is 1.17. The rest is the epoch and the conditions.
//
// In SQLite a claim took 1.6 to 1.8 times as long on busy cores. Two rows instead of one take 1.0
// to 1.1 of an INSERT, because they are prepared and the INSERT is not. Three parts take 0.2 each:
// the conditions, the look-up, and the goroutines that the driver and database/sql start for a
// context that can end.
func BenchmarkClaimBesideInsert(b *testing.B) {
	for _, h := range homes(b) {
		b.Run(h.name, func(b *testing.B) {
			db := h.open(b)
			db.SetMaxOpenConns(1)
			replays := h.storeIn(b, db).Replays()
			run(b, db, "CREATE TABLE bare (id varchar(32) PRIMARY KEY, n bigint NOT NULL)")
			b.Cleanup(func() { run(b, db, "DROP TABLE bare") })
			var inserts, claims []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := db.Exec("INSERT INTO bare VALUES ($1, $2)", rand.Text(), 1); err != nil {
					b.Fatal(err)
				}
				between := time.Now()
				if err := replays.Claim(b.Context(), aUse()); err != nil {
					b.Fatal(err)
				}
				inserts, claims = append(inserts, between.Sub(start)), append(claims, time.Since(between))
			}
			insert, claim := median(inserts), median(claims)
			b.ReportMetric(float64(insert.Microseconds()), "µs/insert")
			b.ReportMetric(float64(claim.Microseconds()), "µs/claim")
			b.ReportMetric(float64(claim)/float64(insert), "claims/insert")
		})
	}
}

// BenchmarkReadBesideSelect alternates with a SELECT of the same columns by the same key, prepared
// by hand. Target: 1.3 times that, in SQLite.
func BenchmarkReadBesideSelect(b *testing.B) {
	for _, h := range homes(b) {
		db := h.open(b)
		db.SetMaxOpenConns(1)
		s := h.storeIn(b, db)
		b.Run(h.name+"/session", func(b *testing.B) {
			n := session.Session{ID: rand.Text(), Org: "acme", Account: "jane", Created: time.Now(), Expires: time.Now().Add(time.Hour)}
			rand.Read(n.Hash[:])
			if err := s.Sessions().Create(b.Context(), n, 0); err != nil {
				b.Fatal(err)
			}
			besideSelect(b, db, `SELECT hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, replaced
				FROM `+h.prefix+`sessions WHERE hash = $1`, []any{n.Hash[:]}, func() error {
				_, err := s.Sessions().Get(b.Context(), n.Org, n.Hash)
				return err
			})
		})
		b.Run(h.name+"/token", func(b *testing.B) {
			r := aToken()
			if err := s.Ledger().Issue(b.Context(), r, nil, 1); err != nil {
				b.Fatal(err)
			}
			besideSelect(b, db, `SELECT maker, maker_app, parent, subject, key_id, max_uses, uses, expires
				FROM `+h.prefix+`ledger WHERE client_key = $1 AND id = $2`, []any{r.ClientKey, r.ID},
				func() error { return spend(b.Context(), s.Ledger(), r) })
		})
		b.Run(h.name+"/key", func(b *testing.B) {
			keys, err := s.Keys()
			if err != nil {
				b.Fatal(err)
			}
			key, err := keys.Generate(b.Context(), "acme", rand.Text())
			if err != nil {
				b.Fatal(err)
			}
			besideSelect(b, db, `SELECT client_key, org, key_id, exposed, public FROM `+h.prefix+`keys WHERE key_id = $1`, []any{key.KeyID},
				func() error {
					_, err := keys.Public(b.Context(), key.KeyID)
					return err
				})
		})
		for _, formers := range []int{0, 2} {
			b.Run(fmt.Sprint(h.name, "/credential with ", formers, " former secrets"), func(b *testing.B) {
				credentials, err := s.Credentials()
				if err != nil {
					b.Fatal(err)
				}
				clientKey, _, err := credentials.Create(b.Context(), "acme", signature.Credential{})
				if err != nil {
					b.Fatal(err)
				}
				for range formers {
					if _, err := credentials.Rotate(b.Context(), "acme", clientKey, time.Hour); err != nil {
						b.Fatal(err)
					}
				}
				besideSelect(b, db, `SELECT client_key, org, version, sealed, restrictions FROM `+h.prefix+`credentials WHERE client_key = $1`,
					[]any{clientKey}, func() error {
						_, err := credentials.Credential(b.Context(), clientKey)
						return err
					})
			})
		}
	}
}

func besideSelect(b *testing.B, db *sql.DB, text string, args []any, ours func() error) {
	byHand, err := db.Prepare(text)
	if err != nil {
		b.Fatal(err)
	}
	defer byHand.Close()
	beside(b, func() {
		rows, err := byHand.QueryContext(b.Context(), args...)
		if err != nil {
			b.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil || !rows.Next() {
			b.Fatal("no row", err)
		}
		into := make([]any, len(columns))
		for i := range into {
			into[i] = new(any)
		}
		if err := rows.Scan(into...); err != nil {
			b.Fatal(err)
		}
	}, func() {
		if err := ours(); err != nil {
			b.Fatal(err)
		}
	})
}

func benchInsert(b *testing.B, db *sql.DB) {
	run(b, db, "CREATE TABLE bare (id varchar(32) PRIMARY KEY, n bigint NOT NULL)")
	b.Cleanup(func() { run(b, db, "DROP TABLE bare") })
	for b.Loop() {
		if _, err := db.Exec("INSERT INTO bare VALUES ($1, $2)", rand.Text(), 1); err != nil {
			b.Fatal(err)
		}
	}
}

func benchSelect(b *testing.B, db *sql.DB) {
	run(b, db, "CREATE TABLE bare (id varchar(32) PRIMARY KEY, n bigint NOT NULL)")
	b.Cleanup(func() { run(b, db, "DROP TABLE bare") })
	run(b, db, "INSERT INTO bare VALUES ('a', 1)")
	for b.Loop() {
		var n int
		if err := db.QueryRow("SELECT n FROM bare WHERE id = $1", "a").Scan(&n); err != nil {
			b.Fatal(err)
		}
	}
}

func run(b testing.TB, db *sql.DB, statement string, args ...any) {
	b.Helper()
	if _, err := db.Exec(statement, args...); err != nil {
		b.Fatal(err)
	}
}

func benchSpend(b *testing.B, s *sqlstore.Store, uses int64) {
	r := aToken()
	r.MaxUses = uses
	if err := s.Ledger().Issue(b.Context(), r, nil, 1); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := spend(b.Context(), s.Ledger(), r); err != nil {
			b.Fatal(err)
		}
	}
}

func benchSession(b *testing.B, s *sqlstore.Store) {
	n := session.Session{ID: rand.Text(), Org: "acme", Account: "jane", Created: time.Now(), Expires: time.Now().Add(time.Hour)}
	rand.Read(n.Hash[:])
	if err := s.Sessions().Create(b.Context(), n, 0); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Sessions().Get(b.Context(), n.Org, n.Hash); err != nil {
			b.Fatal(err)
		}
	}
}
