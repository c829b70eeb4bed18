package session_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// The org and the account of the zero principal are empty. A call with them must not
// affect other accounts.
func TestM12EndsOfNobodysSessions(t *testing.T) {
	w := newWorld(t)
	pending, secret, _ := w.pending()
	b := w.browser()
	want(t, b.login("bob", "bob's password"), 200, "")
	asked := func() int { return w.stores.count("DeleteAll") + w.stores.count("DeleteOrg") }
	before := asked()
	for name, end := range map[string]func(*session.Manager, context.Context) (int, error){
		"M12 RevokeAll without an account": func(m *session.Manager, ctx context.Context) (int, error) {
			return m.Sessions().RevokeAll(ctx, "acme", "", "")
		},
		"M12 RevokeAll without an account, but for one session": func(m *session.Manager, ctx context.Context) (int, error) {
			return m.Sessions().RevokeAll(ctx, "acme", "", w.sessions("bob")[0].ID)
		},
		"M12 RevokeAll of the zero principal": func(m *session.Manager, ctx context.Context) (int, error) {
			p := auth.From(ctx)
			return m.Sessions().RevokeAll(ctx, p.Org, p.Account, p.SessionID)
		},
		"M12 RevokeOrg of the zero principal": func(m *session.Manager, ctx context.Context) (int, error) {
			return m.Sessions().RevokeOrg(ctx, auth.From(ctx).Org)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := end(w.manager, t.Context())
			if n != 0 || err == nil || isUnavailable(err) {
				t.Errorf("ended %d, %v", n, err)
			}
			if asked() != before {
				t.Error("the store was asked")
			}
			want(t, b.get("/me"), 200, "")
		})
	}
	want(t, pending.post("/verify", "code", w.code(secret)), 200, "") // tickets stay, too
}

func TestRevokeOrgEndsThoseOfOneOrg(t *testing.T) {
	w := newWorld(t)
	pending, secret, _ := w.pending() // beside the session that enrolled
	b, gus := w.browser(), w.browser()
	want(t, b.login("bob", "bob's password"), 200, "")
	gus.org = "globex"
	want(t, gus.login("gus", "gus's password"), 200, "")
	w.clock.Advance(time.Minute)
	if n := must(w.manager.Sessions().RevokeOrg(t.Context(), "acme")); n != 2 {
		t.Errorf("ended %d sessions", n)
	}
	want(t, b.get("/me"), 401, expired)
	want(t, pending.post("/verify", "code", w.code(secret)), 401, auth.DetailInvalidCode)
	want(t, gus.get("/me"), 200, "")
	if n := must(w.manager.Sessions().RevokeOrg(t.Context(), "acme")); n != 0 {
		t.Errorf("ended %d sessions again", n)
	}
}

// A session without an account is neither found nor ended, and no store is called.
func TestM12VerbsOnNobodysSessions(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	id := w.sessions("ann")[0].ID
	before := w.stores.count("List") + w.stores.count("DeleteID")
	if list := must(w.manager.Sessions().List(t.Context(), &auth.Org{Code: "acme"}, "")); len(list) > 0 {
		t.Errorf("M12 List: %d sessions", len(list))
	}
	for _, c := range [][3]string{{"acme", "", id}, {"acme", "ann", ""}, {"", "", id}, {"", "", ""}} {
		if err := w.manager.Sessions().Revoke(t.Context(), auth.OrgKey(c[0]), c[1], c[2]); !errors.Is(err, auth.ErrNotFound) || isUnavailable(err) {
			t.Errorf("M12 Revoke%q: %v", c, err)
		}
	}
	if n := w.stores.count("List") + w.stores.count("DeleteID"); n != before {
		t.Errorf("the store was asked %d times", n-before)
	}
	want(t, b.get("/me"), 200, "")
}

// No session is created without an account, even if a directory finds one with an empty
// ID.
func TestM12LoginsOfNobody(t *testing.T) {
	for name, login := range map[string]func(*world, *browser) reply{
		"M12 Start": func(_ *world, b *browser) reply { return b.post("/start", "account", "") },
		"M12 Login, of passwords that name no account": func(w *world, b *browser) reply {
			w.manager.PasswordStore = nameless{w.stores}
			return b.login("ann", annPassword)
		},
	} {
		for _, required := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", a second factor required: ", required), func(t *testing.T) {
				w := newWorld(t)
				b := w.ann()
				w.directory.PutAccount(auth.Account{Org: "acme"})
				w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = required })
				created, cookie := w.stores.count("Create"), b.cookie(cookieName)
				got := login(w, b)
				want(t, got, 401, auth.DetailInvalidCredentials)
				if len(got.cookies) > 0 || w.stores.count("Create") != created {
					t.Errorf("cookies %q, %d records", sets(got), w.stores.count("Create")-created)
				}
				if b.cookie(cookieName) != cookie {
					t.Error("the session that the browser had is gone")
				}
				want(t, b.get("/me"), 200, "")
			})
		}
	}
}

// nameless is a PasswordStore that returns an empty account.
type nameless struct{ session.PasswordStore }

func (n nameless) Password(ctx context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	_, encoded, err = n.PasswordStore.Password(ctx, org, login)
	return "", encoded, err
}
