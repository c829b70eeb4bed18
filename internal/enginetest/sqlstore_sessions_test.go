package enginetest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// TestLimitWhileTokensChange opens sessions where one is allowed, while the
// one there is gets another token: whichever is first, one is left.
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
					return sessions.Replace(t.Context(), old.Hash, changed)
				}, auth.ErrNotFound)
				list, err := sessions.List(t.Context(), "acme", account)
				if err != nil || len(list) != 1 || list[0].ID != next.ID {
					t.Fatalf("round %d: %d sessions, %v", round, len(list), err)
				}
				if _, err := sessions.Get(t.Context(), old.Hash); !errors.Is(err, auth.ErrNotFound) && !errors.Is(err, session.ErrReplaced) {
					t.Fatalf("round %d: the old token: %v", round, err)
				}
			}
		})
	}
}

func aSession(account string) session.Session {
	now := time.Now().UTC().Truncate(time.Millisecond)
	n := session.Session{ID: rand.Text(), Org: "acme", Account: account, Created: now, Authenticated: now, Seen: now, Expires: now.Add(time.Hour)}
	rand.Read(n.Hash[:])
	return n
}
