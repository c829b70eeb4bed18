package enginetest

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func TestSweep(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			db, table := h.open(t), h.prefix+"replays"
			for range 1100 {
				claims(t, "first", s, aUse(), nil)
			}
			// As when their time is over. The epoch has no uses.
			if _, err := db.Exec("UPDATE " + table + " SET keep = 1 WHERE uses > 0"); err != nil {
				t.Fatal(err)
			}
			lasting := aUse()
			claims(t, "what lasts", s, lasting, nil)
			count := func() (rows int) {
				if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&rows); err != nil {
					t.Fatal(err)
				}
				return rows
			}
			before := count()
			// Two at once, each of which leaves to the other what that is at.
			succeed(t, 2, func(int) error { return s.Sweep(t.Context()) })
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rows := count(); rows != 3 || before < 1000 {
				t.Errorf("%d rows were %d, want the epoch, a nonce and a signature", rows, before)
			}
			claims(t, "what lasts", s, lasting, signing.ErrReplayed)
		})
	}
}

// TestSweepTakesTheDeadAlone has one dead row and one living in each table.
func TestSweepTakesTheDeadAlone(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, ctx, now := h.store(t), t.Context(), time.Now().UTC().Truncate(time.Second)
			token := func(expires time.Time) token.Record {
				r := aToken()
				r.Expires = expires
				if err := s.Ledger().Issue(ctx, r, 10); err != nil {
					t.Fatal(err)
				}
				return r
			}
			open := func(expires time.Time) (hash [32]byte) {
				rand.Read(hash[:])
				err := s.Sessions().Create(ctx, session.Session{Hash: hash, ID: rand.Text(), Org: "acme", Account: "ann", Expires: expires}, 0)
				if err != nil {
					t.Fatal(err)
				}
				return hash
			}
			try := func(key string, at time.Time) (count int) {
				count, _, err := s.Attempts().Try(ctx, key, at, 10)
				if err != nil {
					t.Fatal(err)
				}
				return count
			}
			soon, past := now.Add(time.Minute), now.Add(-time.Second)
			permanent, lasting, spoken := token(time.Time{}), token(soon), open(soon)
			token(past)
			open(past)
			try("recent", now.Add(time.Minute-24*time.Hour))
			try("old", now.Add(-time.Second-24*time.Hour))
			if err := s.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			for table, want := range map[string]int{"ledger": 2, "sessions": 1, "attempts": 1} {
				var rows int
				if err := h.open(t).QueryRow("SELECT count(*) FROM " + h.prefix + table).Scan(&rows); err != nil || rows != want {
					t.Errorf("%s: %d rows, want %d; %v", table, rows, want, err)
				}
			}
			_, err := s.Sessions().Get(ctx, spoken)
			if err := errors.Join(err, s.Ledger().Spend(ctx, permanent), s.Ledger().Spend(ctx, lasting)); err != nil {
				t.Error(err)
			}
			if n := try("recent", now); n != 2 {
				t.Errorf("try %d, want the second", n)
			}
		})
	}
}
