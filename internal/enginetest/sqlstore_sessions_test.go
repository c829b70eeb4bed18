package enginetest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// TestLimitWhileTokensChange opens a session with a limit of one, while the present session gets a
// new token. Whichever comes first, one session is left.
func TestLimitWhileTokensChange(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			sessions := h.store(t).Sessions()
			for round := range 100 {
				account := fmt.Sprint("jane", round)
				old, next := aSession(account), aSession(account)
				if err := sessions.Create(t.Context(), old, 1); err != nil {
					t.Fatal(err)
				}
				succeed(t, 2, func(i int) error {
					if i == 0 {
						return sessions.Create(t.Context(), next, 1)
					}
					changed := old
					rand.Read(changed.Hash[:])
					return sessions.Replace(t.Context(), old.Org, old.Hash, changed)
				}, auth.ErrNotFound)
				list, err := sessions.List(t.Context(), "acme", account)
				if err != nil || len(list) != 1 || list[0].ID != next.ID {
					t.Fatalf("round %d: %d sessions, %v", round, len(list), err)
				}
				if _, err := sessions.Get(t.Context(), old.Org, old.Hash); !errors.Is(err, auth.ErrNotFound) && !errors.Is(err, session.ErrEvicted) {
					t.Fatalf("round %d: the old token: %v", round, err)
				}
			}
		})
	}
}

// TestDeadlock provokes a deadlock: a statement of the store locks the row of one session and waits
// for the other, and another transaction does the opposite. PostgreSQL must end the store's
// statement.
func TestDeadlock(t *testing.T) {
	h := newPostgresHome(t)
	sessions, db := h.store(t).Sessions(), h.open(t)
	// The engine chooses in which order the statement locks the rows.
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		two := []session.Session{aSession("jane"), aSession("jane")}
		for _, n := range two {
			if err := sessions.Create(t.Context(), n, 0); err != nil {
				t.Fatal(err)
			}
		}
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback()
		take := func(i int) {
			t.Helper()
			// The store's statement must detect the deadlock and be ended.
			text := "SET LOCAL deadlock_timeout = '1h'; UPDATE " + h.prefix + "sessions SET address = 'held' WHERE id = '" + two[i].ID + "'"
			if _, err := tx.ExecContext(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		take(order[0])
		ended := make(chan error)
		go func() {
			n, err := sessions.DeleteAll(t.Context(), "acme", "jane", "")
			if err == nil && n != 2 {
				err = fmt.Errorf("%d ended", n)
			}
			ended <- err
		}()
		waits := "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%DELETE FROM " + h.prefix + "sessions%'"
		if !until(func() (yes bool) { return db.QueryRowContext(t.Context(), waits).Scan(&yes) == nil && yes }) {
			t.Fatal("the statement does not wait")
		}
		take(order[1])
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("%v: %v", order, err)
		}
	}
}

func aSession(account string) session.Session {
	now := time.Now().UTC().Truncate(time.Millisecond)
	n := session.Session{ID: rand.Text(), Org: "acme", Account: account, Created: now, Authenticated: now, Seen: now, Expires: now.Add(time.Hour)}
	rand.Read(n.Hash[:])
	return n
}

// TestF20MadeUpSessionsWaitForNoLock holds SQLite's lock while unknown sessions are deleted. A
// client that logs out with invented cookies must not need the lock.
func TestF20MadeUpSessionsWaitForNoLock(t *testing.T) {
	h := newSQLiteHome(t)
	s := h.store(t)
	other := must(h.open(t).Conn(t.Context()))(t)
	defer other.Close()
	must(other.ExecContext(t.Context(), "BEGIN IMMEDIATE"))(t)
	defer other.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.Sessions().Delete(ctx, "acme", sha256.Sum256([]byte("made up"))); err != nil {
		t.Error(err)
	}
}
