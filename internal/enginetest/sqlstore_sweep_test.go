package enginetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
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
			// As after their expiry. Only the epoch lives for ever.
			if _, err := db.Exec("UPDATE " + table + " SET keep = 1 WHERE keep < 9223372036854775807"); err != nil {
				t.Fatal(err)
			}
			lasting := aUse()
			lasting.Siblings, lasting.Window = 2, time.Minute
			claims(t, "what lasts", s, lasting, nil)
			count := func() (rows int) {
				if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&rows); err != nil {
					t.Fatal(err)
				}
				return rows
			}
			before := count()
			// Two concurrent calls, each of which skips the rows that the other has locked.
			succeed(t, 2, func(int) error { return s.Sweep(t.Context()) })
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rows := count(); rows != 3 || before < 1000 {
				t.Errorf("%d rows were %d, want the epoch, a nonce and a signature", rows, before)
			}
			claims(t, "what lasts", s, lasting, signing.ErrReplayed)
			lasting.Nonce = aUse().Nonce
			claims(t, "a sibling, whose signature was counted before the sweep", s, lasting, nil)
		})
	}
}

// TestSweepTakesTheDeadAlone has one dead row and one live row in each table.
func TestSweepTakesTheDeadAlone(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, ctx, now := h.store(t), t.Context(), time.Now().UTC().Truncate(time.Second)
			token := func(expires time.Time) token.Record {
				r := aToken()
				r.Expires = expires
				if err := s.Ledger().Issue(ctx, r, nil, 10); err != nil {
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
			try := func(key string) (count int) {
				count, err := countUp(ctx, s.Attempts(), key)
				if err != nil {
					t.Fatal(err)
				}
				return count
			}
			soon, past := now.Add(time.Minute), now.Add(-time.Second)
			permanent, lasting, spoken := token(time.Time{}), token(soon), open(soon)
			token(past)
			open(past)
			try("recent")
			try("old")
			try("old, and again now")
			if _, err := h.open(t).Exec("UPDATE " + h.prefix + "attempts SET swapped = swapped - 86400000 WHERE key LIKE 'old%'"); err != nil {
				t.Fatal(err)
			}
			try("old, and again now")
			credentials := must(s.Credentials())(t)
			clientKey, _, err := credentials.Create(ctx, "acme", signature.Credential{})
			if err != nil {
				t.Fatal(err)
			}
			rotate(t, credentials, clientKey, time.Minute)
			rotate(t, credentials, clientKey, time.Hour)
			age(t, h.open(t), h.prefix, clientKey, time.Minute)
			if err := s.Sweep(ctx); err != nil {
				t.Fatal(err)
			}
			for table, want := range map[string]int{"ledger": 2, "sessions": 1, "attempts": 2, "formers": 1} {
				var rows int
				if err := h.open(t).QueryRow("SELECT count(*) FROM " + h.prefix + table).Scan(&rows); err != nil || rows != want {
					t.Errorf("%s: %d rows, want %d; %v", table, rows, want, err)
				}
			}
			_, err = s.Sessions().Get(ctx, "acme", spoken)
			if err := errors.Join(err, spend(ctx, s.Ledger(), permanent), spend(ctx, s.Ledger(), lasting)); err != nil {
				t.Error(err)
			}
			if recent, again := try("recent"), try("old, and again now"); recent != 2 || again != 3 {
				t.Errorf("tries %d and %d, want the second and the third", recent, again)
			}
		})
	}
}

// TestIssueTakesDescendants revokes the maker of records whose subjects are never used again, and
// never sweeps.
func TestIssueTakesDescendants(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, db := h.store(t), h.open(t)
			l := h.ledger(t, s)
			for range 100 {
				row := l.row(t, "app", 4)
				expect(t, "Revoke", s.Ledger().Revoke(t.Context(), heldBy("app", token.Any), row[0].ID), nil)
			}
			if n := h.held(t, db, "ledger"); n > 100 {
				t.Errorf("%d records, all of them dead", n)
			}
		})
	}
}

// TestDeadDescendantsDoNotAddUp revokes what has made a token for each of 20 subjects, again and again, beside
// a family that lives.
func TestDeadDescendantsDoNotAddUp(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, ctx := h.store(t), t.Context()
			l := h.ledger(t, s)
			issue := func(subject, parent string) token.Record {
				r := aToken()
				r.ClientKey, r.Subject, r.Parent = "app", subject, parent
				expect(t, "Issue", l.Issue(ctx, r, nil, 30), nil)
				return r
			}
			for i := range 11 {
				maker := issue("admin", "")
				for n := range 20 {
					issue(fmt.Sprint("subject ", n), maker.ID)
				}
				if i > 0 {
					expect(t, "Revoke", l.Revoke(ctx, heldBy("app", token.Any), maker.ID), nil)
				}
			}
			if n := h.held(t, h.open(t), "ledger"); n > 21+20 {
				t.Errorf("%d records, of which 21 live", n)
			}
		})
	}
}

// TestIssueTakesTheSubjectsDead has records that are dead because of their parent, and a spent
// record.
func TestIssueTakesTheSubjectsDead(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, ctx := h.store(t), t.Context()
			l := h.ledger(t, s)
			row := l.row(t, "app", 2)
			issue := func(parent string, uses int64, limit int) token.Record {
				r := aToken()
				r.ClientKey, r.Subject, r.MaxUses, r.Parent = "app", "bob", uses, parent
				expect(t, "Issue", l.Issue(ctx, r, nil, limit), nil)
				return r
			}
			expect(t, "the one use", spend(ctx, l, issue("", 1, 10)), nil)
			issue(row[0].ID, 0, 10)
			issue(row[1].ID, 0, 10)
			expect(t, "Revoke", l.Revoke(ctx, heldBy("app", token.Any), row[1].ID), nil)
			issue("", 0, 2)
			if n := h.held(t, h.open(t), "ledger"); n != 3 {
				t.Errorf("%d records, want the parent and two of the subject", n)
			}
		})
	}
}
