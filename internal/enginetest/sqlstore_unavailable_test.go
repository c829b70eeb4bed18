package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	driver "modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// verbsOf returns calls of all stores that ask the database.
func verbsOf(t *testing.T, s *sqlstore.Store) map[string]func(context.Context) error {
	t.Helper()
	keys, credentials, factors := must(s.Keys())(t), must(s.Credentials())(t), must(s.Factors())(t)
	ledger, sessions, attempts := s.Ledger(), s.Sessions(), s.Attempts()
	const org = "acme"
	key, secret := signing.Generate()
	r, n := aToken(), aSession("ann")
	last := func(_ any, err error) error { return err }
	return map[string]func(context.Context) error{
		"Claim": func(ctx context.Context) error { return s.Replays().Claim(ctx, aUse()) },
		"Used": func(ctx context.Context) error {
			return last(s.Replays().(signing.UsedNonces).Used(ctx, "key", aUse().Nonce))
		},

		"Issue":         func(ctx context.Context) error { return ledger.Issue(ctx, r, nil, 10) },
		"Spend":         func(ctx context.Context) error { return spend(ctx, ledger, r) },
		"Renew":         func(ctx context.Context) error { return ledger.Renew(ctx, r, r, time.Minute) },
		"Revoke":        func(ctx context.Context) error { return ledger.Revoke(ctx, r.Holder(), r.ID) },
		"RevokeSubject": func(ctx context.Context) error { return last(ledger.RevokeSubject(ctx, r.Holder())) },
		"List": func(ctx context.Context) error {
			_, _, err := ledger.List(ctx, r.Holder(), token.Position{}, 1)
			return err
		},

		"Create":           func(ctx context.Context) error { return sessions.Create(ctx, n, 5) },
		"Get":              func(ctx context.Context) error { return last(sessions.Get(ctx, n.Org, n.Hash)) },
		"Touch":            func(ctx context.Context) error { return sessions.Touch(ctx, n.Org, n.Hash, time.Now()) },
		"Replace":          func(ctx context.Context) error { return sessions.Replace(ctx, n.Org, n.Hash, n) },
		"Delete":           func(ctx context.Context) error { return sessions.Delete(ctx, n.Org, n.Hash) },
		"DeleteID":         func(ctx context.Context) error { return sessions.DeleteID(ctx, org, "ann", n.ID) },
		"DeleteAll":        func(ctx context.Context) error { return last(sessions.DeleteAll(ctx, org, "ann", "")) },
		"List of sessions": func(ctx context.Context) error { return last(sessions.List(ctx, org, "ann")) },

		"Public":      func(ctx context.Context) error { return last(keys.Public(ctx, "kid")) },
		"Signer":      func(ctx context.Context) error { return last(keys.Signer(ctx, key)) },
		"Exposed":     func(ctx context.Context) error { return last(keys.Exposed(ctx, org)) },
		"Expose":      func(ctx context.Context) error { return keys.Expose(ctx, org, key, true) },
		"Delete keys": func(ctx context.Context) error { return keys.Delete(ctx, org, key) },

		"Put":        func(ctx context.Context) error { return credentials.Put(ctx, org, key, secret, signature.Credential{}) },
		"Credential": func(ctx context.Context) error { return last(credentials.Credential(ctx, key)) },
		"Rotate":     func(ctx context.Context) error { return last(credentials.Rotate(ctx, org, key, 0)) },
		"Restrict": func(ctx context.Context) error {
			return credentials.Restrict(ctx, org, key, func(*signature.Credential) error { return nil })
		},
		"Delete a credential": func(ctx context.Context) error { return credentials.Delete(ctx, org, key) },
		"List of credentials": func(ctx context.Context) error { return last(credentials.List(ctx, org, "", 10)) },

		"Factor": func(ctx context.Context) error { return last(factors.Factor(ctx, org, "ann")) },
		"Save":   func(ctx context.Context) error { return factors.Save(ctx, org, "ann", session.Factor{}) },

		"Load": func(ctx context.Context) error { return last(attempts.Load(ctx, org, "key")) },
		"Swap": func(ctx context.Context) error { return last(attempts.Swap(ctx, org, "key", "", "1")) },

		"Sweep":     s.Sweep,
		"Reseal":    s.Reseal,
		"DeleteOrg": func(ctx context.Context) error { return s.DeleteOrg(ctx, org) },
	}
}

// isDrivers reports whether an error wraps one of the driver's own type.
func isDrivers(d sqlstore.Dialect, err error) bool {
	if d == sqlstore.PostgreSQL {
		_, ok := errors.AsType[*pgconn.PgError](err)
		return ok
	}
	_, ok := errors.AsType[*driver.Error](err)
	return ok
}

// answeredBy returns the status that a handler answers an error with.
func answeredBy(err error) int {
	w := httptest.NewRecorder()
	auth.Fail(w, httptest.NewRequest(http.MethodGet, "/", nil), err)
	return w.Code
}

// TestErrorsOfADriverAreUnavailable breaks the database in three ways.
func TestErrorsOfADriverAreUnavailable(t *testing.T) {
	tables := []string{"replays", "ledger", "keys", "former_keys", "credentials", "formers", "sessions", "attempts", "factors"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for i, h := range homes(t) {
		for name, broken := range map[string]struct {
			ctx context.Context
			by  func(home, *sql.DB) error
			is  func(error) bool // beside auth.ErrUnavailable
		}{
			"tables that are gone": {t.Context(), func(h home, db *sql.DB) (err error) {
				for _, table := range tables {
					_, failed := db.Exec("DROP TABLE " + h.prefix + table)
					err = errors.Join(err, failed)
				}
				return err
			}, func(err error) bool { return isDrivers(h.dialect, err) }},
			"a pool that is closed": {t.Context(), func(_ home, db *sql.DB) error { return db.Close() }, func(error) bool { return true }},
			"a context that has ended": {ended, func(home, *sql.DB) error { return nil },
				func(err error) bool { return errors.Is(err, context.Canceled) }},
		} {
			t.Run(h.name+" "+name, func(t *testing.T) {
				h := homes(t)[i] // one of its own
				db := h.open(t)
				verbs := verbsOf(t, h.storeIn(t, db))
				if err := broken.by(h, db); err != nil {
					t.Fatal(err)
				}
				for verb, call := range verbs {
					err := call(broken.ctx)
					if !errors.Is(err, auth.ErrUnavailable) || !broken.is(err) || answeredBy(err) != http.StatusServiceUnavailable {
						t.Errorf("%s = %v, answered with %d", verb, err, answeredBy(err))
					}
				}
			})
		}
	}
}

// TestAnswersAreNotUnavailable asks for what is not there, and for what cannot be.
func TestAnswersAreNotUnavailable(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			verbs := verbsOf(t, s)
			for verb, want := range map[string]error{
				"Spend": token.ErrRevoked, "Revoke": token.ErrNotFound,
				"Get": auth.ErrNotFound, "Touch": auth.ErrNotFound, "Replace": auth.ErrNotFound, "DeleteID": auth.ErrNotFound,
				"Public": token.ErrNotFound, "Signer": token.ErrNoKeyPair, "Expose": token.ErrNotFound, "Delete keys": token.ErrNotFound,
				"Credential": auth.ErrNotFound, "Rotate": auth.ErrNotFound, "Restrict": auth.ErrNotFound, "Delete a credential": auth.ErrNotFound,
			} {
				err := verbs[verb](t.Context())
				if !errors.Is(err, want) || errors.Is(err, auth.ErrUnavailable) {
					t.Errorf("%s = %v, want %v alone", verb, err, want)
				}
			}
			factors, u := must(s.Factors())(t), aUse()
			expect(t, "Save", factors.Save(t.Context(), "acme", "ann", session.Factor{}), nil)
			claims(t, "first", s, u, nil)
			for what, c := range map[string]struct{ err, want error }{
				"Save of an old version": {factors.Save(t.Context(), "acme", "ann", session.Factor{}), auth.ErrConflict},
				"Claim again":            {s.Replays().Claim(t.Context(), u), signing.ErrReplayed},
				"Issue beyond the limit": {s.Ledger().Issue(t.Context(), aToken(), nil, 0), token.ErrTooMany},
			} {
				if !errors.Is(c.err, c.want) || errors.Is(c.err, auth.ErrUnavailable) {
					t.Errorf("%s = %v, want %v alone", what, c.err, c.want)
				}
			}
		})
	}
}
