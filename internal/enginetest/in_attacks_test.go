package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
)

// cutOff is a transaction whose caller's context ends before a statement about a table.
type cutOff struct {
	*sql.Tx
	before string
	end    context.CancelFunc
}

func (c cutOff) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if strings.Contains(query, c.before) {
		c.end()
	}
	return c.Tx.ExecContext(ctx, query, args...)
}

// TestDeleteOrgThatIsCutOff: who commits in spite of the error deletes nothing of the org.
func TestDeleteOrgThatIsCutOff(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			app := populate(t, e.Store, "acme", newClientKey()).app
			before := e.rowsOf(t, e.db, "acme", app)
			for _, table := range []string{"keys", "ledger", "factors"} {
				ctx, end := context.WithCancel(t.Context())
				tx := e.begin(t)
				in := must(e.In(ctx, cutOff{tx, "DELETE FROM " + e.prefix + table, end}))(t)
				if err := in.DeleteOrg(ctx, "acme"); !errors.Is(err, auth.ErrUnavailable) {
					t.Errorf("cut off before %s: %v", table, err)
				}
				expect(t, "Commit", tx.Commit(), nil)
				for name, n := range e.rowsOf(t, e.db, "acme", app) {
					if n != before[name] {
						t.Errorf("cut off before %s: %d rows of %s, want %d", table, n, name, before[name])
					}
				}
			}
		})
	}
}

// TestRevokeAccountAndReplacedKeys: a holder who replaces a key again and again is left with none.
func TestRevokeAccountAndReplacedKeys(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			keys := s.APIKeys()
			for range 20 {
				now := apiKeyOf("acme", "ann")
				now.ID = newClientKey()
				expect(t, "Add", keys.Add(t.Context(), now, 1000), nil)
				replaced := make(chan error)
				go func() {
					for {
						next, after := now, now
						next.ID = newClientKey()
						after.Successor = next.ID
						if err := keys.Swap(t.Context(), now, after, &next, 1000); err != nil {
							replaced <- err
							return
						}
						now = next
					}
				}()
				time.Sleep(5 * time.Millisecond)
				expect(t, "RevokeAccount", s.RevokeAccount(t.Context(), "acme", "ann"), nil)
				// The replacement that has lost its key ends the loop; one that goes on has kept a key.
				select {
				case err := <-replaced:
					expect(t, "Swap", err, auth.ErrConflict)
				case <-time.After(late):
					t.Error("the account replaces keys after it was revoked")
					s.RevokeAccount(t.Context(), "acme", "ann")
					<-replaced
				}
				if page, _, err := keys.List(t.Context(), apikey.Of{Org: "acme", Account: "ann"}, "", 10); len(page) > 0 || err != nil {
					t.Fatalf("%d keys are left, %v", len(page), err)
				}
			}
		})
	}
}
