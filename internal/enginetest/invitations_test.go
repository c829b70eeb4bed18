package enginetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/scope"
)

// withEnd is what the join of an Accept gets.
type withEnd = func(context.Context, session.Ending) error

// invitedWorld has an administrator, and invites and joins in requests.
type invitedWorld struct {
	manager *session.Manager
	guard   *auth.Guard
}

func newInvitedWorld(store session.Store, attempts session.Attempts) *invitedWorld {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"administrator"}})
	m := &session.Manager{Store: store, Attempts: attempts, Administrator: func(p auth.Principal) bool { return p.HasRole("administrator") }}
	return &invitedWorld{m, &auth.Guard{BaseURL: "http://localhost:8080", Directory: directory, Roles: auth.RolesDoNotLimit, Timeout: patience,
		Mechanisms: []auth.Mechanism{m, authtest.As(auth.Principal{Account: "ann", Roles: []string{"administrator"},
			Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: time.Now()})}}}
}

func (w *invitedWorld) request(by bool, do func(r *http.Request) error) (err error) {
	need := auth.Public
	if by {
		need = auth.Authenticated
	}
	mux := w.guard.Mux()
	mux.HandleFunc("POST /x", need, func(_ http.ResponseWriter, r *http.Request) { err = do(r) })
	err = errors.New("the handler did not run")
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/acme/v2/x", nil))
	return err
}

func (w *invitedWorld) invite(t *testing.T, address string) (ticket string) {
	t.Helper()
	expect(t, "invite", w.request(true, func(r *http.Request) error {
		made, err := w.manager.Mail().Invite(r, session.Invitation{Address: address, Roles: []string{"reader"}})
		ticket = string(made)
		return err
	}), nil)
	return ticket
}

// acceptsAtOnce returns how many of 16 concurrent accepts return nil. Others return ErrCode.
func (w *invitedWorld) acceptsAtOnce(t *testing.T, ticket string, join func(ctx context.Context, i session.Invitation, end withEnd) error) int {
	t.Helper()
	var passed atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			err := w.request(false, func(r *http.Request) error { return w.manager.Mail().Accept(r, ticket, join) })
			if err == nil {
				passed.Add(1)
			} else if !errors.Is(err, session.ErrCode) {
				t.Errorf("Accept: %v", err)
			}
		})
	}
	all.Wait()
	return int(passed.Load())
}

// Of concurrent accepts of one invitation, in transactions of the application, one makes a membership.
func TestF43AcceptsInTransactions(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			w := newInvitedWorld(e.Sessions(), e.Attempts())
			ticket := w.invite(t, "eve@new.example")
			var made atomic.Int32
			join := func(commit bool) func(context.Context, session.Invitation, withEnd) error {
				return func(ctx context.Context, i session.Invitation, end withEnd) error {
					tx, err := e.db.BeginTx(ctx, nil)
					if err != nil {
						return err
					}
					defer tx.Rollback()
					in, err := e.In(ctx, tx)
					if err != nil {
						return err
					}
					if err := end(ctx, in.Sessions()); err != nil {
						return err
					}
					if _, err := tx.ExecContext(ctx, "INSERT INTO "+e.prefix+"app (id) VALUES ($1)", fmt.Sprint(i.Address, made.Add(1))); err != nil || !commit {
						return errors.Join(err, session.ErrCode)
					}
					return tx.Commit()
				}
			}
			accept := func(r *http.Request) error { return w.manager.Mail().Accept(r, ticket, join(false)) }
			if err := w.request(false, accept); !errors.Is(err, session.ErrCode) {
				t.Errorf("rolled back: %v", err)
			}
			made.Store(0)
			if n := w.acceptsAtOnce(t, ticket, join(true)); n != 1 {
				t.Errorf("F43: %d accepts", n)
			}
			if !e.has(t, "eve@new.example1") || e.has(t, "eve@new.example2") || made.Load() != 1 {
				t.Errorf("F43: %d memberships", made.Load())
			}
		})
	}
}

// The same without a transaction, where the ticket ends first.
func TestF43AcceptsInRedis(t *testing.T) {
	t.Parallel()
	stores := storesAt(t, startRedis(t).addr())
	w := newInvitedWorld(stores.sessions, stores.attempts)
	var made atomic.Int32
	n := w.acceptsAtOnce(t, w.invite(t, "eve@new.example"), func(ctx context.Context, _ session.Invitation, end withEnd) error {
		err := end(ctx, nil)
		if err == nil {
			made.Add(1)
		}
		return err
	})
	if n != 1 || made.Load() != 1 {
		t.Errorf("F43: %d accepts, %d memberships", n, made.Load())
	}
}
