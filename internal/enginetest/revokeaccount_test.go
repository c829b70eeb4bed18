package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// whole is a store of everything that an account is let in by.
type whole interface {
	RevokeAccount(ctx context.Context, org auth.OrgKey, account string) error
	DeleteOrg(ctx context.Context, org auth.OrgKey) error
}

// admitted are sessions, a ticket and tokens of an account, and what stays of others.
type admitted struct {
	sessions session.Store
	ledger   token.Ledger
	gone     []session.Session
	stay     []session.Session
	dead     []token.Record
	live     []token.Record
}

func newAdmitted(t *testing.T, sessions session.Store, ledger token.Ledger) *admitted {
	e := &admitted{sessions: sessions, ledger: ledger}
	open := func(org auth.OrgKey, account string, ticket string) session.Session {
		s := sessionOf(newClientKey())
		s.Org, s.Account, s.Ticket = org, account, ticket
		expect(t, "Create", sessions.Create(t.Context(), s, 0), nil)
		return s
	}
	issue := func(org auth.OrgKey, app, account, parent string) token.Record {
		r := token.Record{ID: newClientKey(), Org: org, ClientKey: app, Subject: account, KeyID: "kid", Issued: time.Now().Truncate(time.Second)}
		r.Parent = parent
		expect(t, "Issue", ledger.Issue(t.Context(), r, nil, 10), nil)
		return r
	}
	e.gone = []session.Session{open("acme", "ann", ""), open("acme", "ann", "enrol")}
	e.stay = []session.Session{open("acme", "bob", ""), open("globex", "ann", "")}
	first := issue("acme", "one", "ann", "")
	e.dead = []token.Record{first, issue("acme", "two", "ann", ""), issue("acme", "one", "bob", first.ID)}
	e.live = []token.Record{issue("acme", "one", "bob", ""), issue("globex", "three", "ann", "")}
	return e
}

// check fails unless the sessions and tokens are there, or have ended.
func (e *admitted) check(t *testing.T, sessions []session.Session, records []token.Record, ended bool) {
	t.Helper()
	var noSession, noToken error
	if ended {
		noSession, noToken = auth.ErrNotFound, token.ErrRevoked
	}
	for _, s := range sessions {
		_, err := e.sessions.Get(t.Context(), s.Org, s.Hash)
		expect(t, "session of "+string(s.Org)+" "+s.Account, err, noSession)
	}
	for _, r := range records {
		expect(t, "token of "+string(r.Org)+" "+r.Subject, spend(t.Context(), e.ledger, r), noToken)
	}
}

// TestRevokeAccount ends an account in each engine, and then its org.
func TestRevokeAccount(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, s whole, e *admitted) {
		ctx := t.Context()
		for _, none := range [][2]string{{"", "ann"}, {"acme", ""}} {
			if err := s.RevokeAccount(ctx, auth.OrgKey(none[0]), none[1]); err == nil {
				t.Errorf("%q: no error", none)
			}
		}
		for _, none := range [][2]string{{"acme", "\x00any"}, {"acme", "\xff"}, {"ac", "meann"}, {"acme", "an"}} {
			expect(t, "another account", s.RevokeAccount(ctx, auth.OrgKey(none[0]), none[1]), nil)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.RevokeAccount(ended, "acme", "ann"); err == nil {
			t.Error("no error after the context has ended")
		}
		e.check(t, e.gone, e.dead, false)
		for range 2 { // which may be called again
			expect(t, "RevokeAccount", s.RevokeAccount(ctx, "acme", "ann"), nil)
		}
		e.check(t, e.gone, e.dead, true)
		e.check(t, e.stay, e.live, false)

		for range 2 {
			expect(t, "DeleteOrg", s.DeleteOrg(ctx, "acme"), nil)
		}
		if s.DeleteOrg(ctx, "") == nil {
			t.Error("DeleteOrg without an org: no error")
		}
		e.check(t, e.stay[:1], e.live[:1], true)
		e.check(t, e.stay[1:], e.live[1:], false)
	}
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			run(t, s, newAdmitted(t, s.Sessions(), s.Ledger()))
		})
	}
	t.Run("Redis", func(t *testing.T) {
		server := startRedis(t)
		stores := storesOf(t, server.open(t))
		e := newAdmitted(t, stores.sessions, stores.ledger)
		run(t, server.open(t), e)
		expect(t, "DeleteOrg", server.open(t).DeleteOrg(t.Context(), "globex"), nil)
		if left := server.command(t, "DBSIZE"); left != int64(2) {
			t.Errorf("%v keys are left beside the epoch and the version: %v", left, server.command(t, "KEYS", "*"))
		}
	})
}

// TestRevokeAccountAndItsCredentials has credentials of an account with former secrets, of others, and
// of an org of the same account id.
func TestRevokeAccountAndItsCredentials(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s, db, ctx := h.store(t), h.open(t), t.Context()
			credentials := must(s.Credentials())(t)
			put := func(org auth.OrgKey, c signature.Credential) string {
				key, _ := must2(credentials.Create(ctx, org, c))(t)
				must(credentials.Rotate(ctx, org, key, time.Hour))(t)
				return key
			}
			account := `a"nn<ü`
			mine := put("acme", signature.Credential{Account: account, Accounts: []string{"bob"}})
			shared := put("acme", signature.Credential{Account: "bob", Accounts: []string{"carl", account}, Scope: []string{account}})
			alike := put("acme", signature.Credential{Account: account + "a", Scope: []string{account}})
			other := put("globex", signature.Credential{Account: account})
			must(credentials.Credential(ctx, mine))(t)
			rotated := make(chan error)
			go func() { // until the client key is gone
				var err error
				for err == nil {
					_, err = credentials.Rotate(ctx, "acme", mine, time.Hour)
				}
				rotated <- err
			}()
			for range 2 {
				expect(t, "RevokeAccount", s.RevokeAccount(ctx, "acme", account), nil)
			}
			expect(t, "a concurrent rotation", <-rotated, auth.ErrNotFound)
			_, err := credentials.Credential(ctx, mine)
			expect(t, "its own", err, auth.ErrNotFound)
			if n := len(formersOf(t, db, h.prefix, mine)); n != 0 {
				t.Errorf("%d former secrets are left", n)
			}
			left := must(credentials.Credential(ctx, shared))(t)
			if diff := cmp.Diff([]string{"carl"}, left.Accounts); diff != "" || left.Account != "bob" || len(left.Key.Secrets()) != 2 {
				t.Errorf("the shared one is of %q, with %d secrets (-want +got):\n%s", left.Account, len(left.Key.Secrets()), diff)
			}
			for what, key := range map[string]string{"a name that is alike": alike, "another org": other} {
				if c := must(credentials.Credential(ctx, key))(t); len(c.Key.Secrets()) != 2 {
					t.Errorf("%s: %d secrets", what, len(c.Key.Secrets()))
				}
			}
		})
	}
}

func must2(clientKey string, secret signing.Secret, err error) func(*testing.T) (string, signing.Secret) {
	return func(t *testing.T) (string, signing.Secret) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return clientKey, secret
	}
}
