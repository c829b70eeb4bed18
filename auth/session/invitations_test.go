package session_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/scope"
)

// inviting is a world in which ann administers acme, and roles limit.
type inviting struct {
	*world
	joined atomic.Int32
}

func newInviting(t testing.TB) *inviting {
	w := &inviting{world: newWorld(t, func(w *world) {
		w.guard.Roles = auth.RolesLimit
		w.directory.PutRole("acme", auth.Role{Name: "administrator", Scope: []string{"admin", "object"}})
		w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.note"}})
		w.directory.PutRole("acme", auth.Role{Name: "deployer", Scope: []string{"deployment"}})
		w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"administrator"}})
		w.directory.PutAccount(auth.Account{ID: "bob", Org: "acme", Roles: []string{"reader"}})
		w.manager.Administrator = func(p auth.Principal) bool { return p.HasRole("administrator") }
	})}
	w.mux.HandleFunc("POST /invite", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		i := session.Invitation{Address: r.PostFormValue("address"), Roles: strings.Fields(r.PostFormValue("roles"))}
		ticket, err := w.manager.Mail().Invite(r, i)
		if err != nil {
			auth.Fail(rw, r, err)
			return
		}
		rw.Header().Set("Ticket", string(ticket))
		rw.Write([]byte("{}"))
	})
	w.mux.HandleFunc("POST /join", auth.Public, func(rw http.ResponseWriter, r *http.Request) {
		err := w.manager.Mail().Accept(r, r.PostFormValue("ticket"), func(ctx context.Context, i session.Invitation, end func(context.Context, session.Ending) error) error {
			if r.PostFormValue("forget") != "" {
				return nil
			}
			if r.PostFormValue("fail") != "" {
				return errors.New("the account cannot be made")
			}
			if err := end(ctx, nil); err != nil {
				return err
			}
			w.joined.Add(1)
			w.directory.PutAccount(auth.Account{ID: i.Address, Org: "acme", Roles: i.Roles})
			return nil
		})
		if err != nil {
			auth.Fail(rw, r, err)
			return
		}
		rw.Write([]byte("{}"))
	})
	return w
}

// invite returns the ticket of ann's invitation.
func (w *inviting) invite(address string, roles ...string) string {
	w.t.Helper()
	got := w.ann().post("/invite", "address", address, "roles", strings.Join(roles, " "))
	want(w.t, got, 200, "")
	return got.header.Get("Ticket")
}

func (w *inviting) join(ticket string) reply { return w.browser().post("/join", "ticket", ticket) }

func (w *inviting) open() []session.Invitation {
	w.t.Helper()
	return must(w.manager.Mail().Invitations(w.t.Context(), "acme"))
}

func TestInvitations(t *testing.T) {
	w := newInviting(t)
	ticket := w.invite("eve@new.example", "reader")
	list := w.open()
	if len(list) != 1 || list[0].Address != "eve@new.example" || !slices.Equal(list[0].Roles, []string{"reader"}) || list[0].Inviter != "ann" ||
		!list[0].Expires.Equal(w.now().Add(7*24*time.Hour)) || strings.Contains(list[0].ID, ticket) {
		t.Fatalf("%+v", list)
	}
	want(t, w.browser().post("/join", "ticket", ticket, "fail", "yes"), 500, auth.DetailInternal)
	want(t, w.join(ticket), 200, "") // a join that fails before the end uses nothing up
	want(t, w.join(ticket), 401, invalidCode)
	account, err := w.directory.Account(t.Context(), "acme", "eve@new.example")
	if err != nil || !slices.Equal(account.Roles, []string{"reader"}) || len(w.open()) != 0 {
		t.Errorf("%+v, %v, %v", account, err, w.open())
	}
}

func TestF42WhoInvites(t *testing.T) {
	for name, c := range map[string]struct {
		do     func(w *inviting) reply
		detail string
	}{
		"F42 no administrator": {func(w *inviting) reply {
			b := w.browser()
			want(t, b.login("bob", "bob's password"), 200, "")
			return b.post("/invite", "address", "eve@new.example", "roles", "reader")
		}, auth.DetailDelegation},
		"F42 to a role that can do what the inviter cannot": {func(w *inviting) reply {
			return w.ann().post("/invite", "address", "eve@new.example", "roles", "deployer")
		}, auth.DetailDelegation},
		"F42 a session that was left signed in": {func(w *inviting) reply {
			b := w.ann()
			w.clock.Advance(11 * time.Minute)
			return b.post("/invite", "address", "eve@new.example", "roles", "reader")
		}, auth.DetailReauthenticate},
		"F42 where nobody is an administrator": {func(w *inviting) reply {
			w.manager.Administrator = nil
			return w.ann().post("/invite", "address", "eve@new.example", "roles", "reader")
		}, auth.DetailDelegation},
	} {
		t.Run(name, func(t *testing.T) {
			w := newInviting(t)
			got := c.do(w)
			want(t, got, 403, c.detail)
			if len(w.open()) != 0 {
				t.Errorf("%v", w.open())
			}
		})
	}
	t.Run("F42 a token, which would end before the account", func(t *testing.T) {
		w := newInviting(t)
		by := auth.Principal{Org: "acme", Account: "ann", Mechanism: "bearer", Roles: []string{"administrator"}, TokenID: "jti",
			Granted: scope.Unscoped(), Scope: scope.Unscoped()}
		w.as(t, by, func(_ http.ResponseWriter, r *http.Request) {
			if _, err := w.manager.Mail().Invite(r, session.Invitation{Address: "eve@new.example"}); !isBeyond(err) {
				t.Error(err)
			}
		})
	})
	t.Run("F42 nobody, an address that is none, and times", func(t *testing.T) {
		w := newInviting(t)
		admin := auth.Principal{Org: "acme", Account: "ann", Mechanism: session.Name, Roles: []string{"administrator"},
			Granted: scope.Unscoped(), Scope: scope.Unscoped(), Authenticated: w.now()}
		ok := session.Invitation{Address: "eve@new.example"}
		for name, c := range map[string]struct {
			by auth.Principal
			i  session.Invitation
		}{
			"nobody":       {auth.Principal{}, ok},
			"no address":   {admin, session.Invitation{}},
			"two lines":    {admin, session.Invitation{Address: "a@b\r\nBcc: c@d"}},
			"over already": {admin, session.Invitation{Address: "a@b", Expires: w.now()}},
			"31 days":      {admin, session.Invitation{Address: "a@b", Expires: w.now().Add(31 * day)}},
			"many roles":   {admin, session.Invitation{Address: "a@b", Roles: []string{strings.Repeat("r", 1100)}}},
		} {
			w.as(t, c.by, func(_ http.ResponseWriter, r *http.Request) {
				if _, err := w.manager.Mail().Invite(r, c.i); err == nil {
					t.Error(name)
				}
			})
		}
	})
	t.Run("F42 more than an org may have", func(t *testing.T) {
		w := newInviting(t)
		w.invite("eve@new.example", "reader")
		one := must(w.memory.Sessions().List(t.Context(), "acme", "@invitations"))[0]
		for n := range 999 {
			one.Hash, one.ID = [32]byte{byte(n), byte(n >> 8), 1}, strings.Repeat("0", 20)+time.Unix(int64(n), 0).UTC().Format("150405.000000")
			if err := w.memory.Sessions().Create(t.Context(), one, 0); err != nil {
				t.Fatal(err)
			}
		}
		want(t, w.ann().post("/invite", "address", "x@new.example", "roles", "reader"), 429, auth.DetailThrottled)
	})
}

func TestF43WhatIsNoInvitation(t *testing.T) {
	for name, spoil := range map[string]func(w *inviting, ticket string) string{
		"F43 none":                   func(*inviting, string) string { return "" },
		"F43 its id, as from a dump": func(w *inviting, _ string) string { return w.open()[0].ID },
		"F43 its hash, as from a dump": func(w *inviting, _ string) string {
			return session.Text(must(w.memory.Sessions().List(t.Context(), "acme", "@invitations"))[0].Hash)
		},
		"F43 a letter of it changed": func(_ *inviting, ticket string) string {
			if ticket[0] == 'A' {
				return "B" + ticket[1:]
			}
			return "A" + ticket[1:]
		},
		"F43 it is over": func(w *inviting, ticket string) string { w.clock.Advance(7 * day); return ticket },
		"F43 it was taken back": func(w *inviting, ticket string) string {
			if err := w.manager.Mail().TakeBack(t.Context(), "acme", w.open()[0].ID); err != nil {
				t.Error(err)
			}
			return ticket
		},
		"F43 it was sent again": func(w *inviting, ticket string) string {
			if again := w.invite("EVE@new.example", "reader"); len(w.open()) != 1 || again == ticket {
				t.Errorf("%v", w.open())
			}
			return ticket
		},
		"F43 the inviter has lost the role": func(w *inviting, ticket string) string {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"reader"}})
			return ticket
		},
		"F43 the inviter is disabled": func(w *inviting, ticket string) string {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"administrator"}, Disabled: true})
			return ticket
		},
		"F43 the role can do more by now": func(w *inviting, ticket string) string {
			w.directory.PutRole("acme", auth.Role{Name: "reader", Scope: []string{"object.read.note", "deployment"}})
			return ticket
		},
		"F43 all of the org was ended": func(w *inviting, ticket string) string {
			w.manager.Sessions().RevokeOrg(t.Context(), "acme")
			return ticket
		},
		"F43 the token of a session": func(w *inviting, _ string) string { return w.ann().cookie(cookieName) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newInviting(t)
			ticket := spoil(w, w.invite("eve@new.example", "reader"))
			want(t, w.join(ticket), 401, invalidCode)
			if n := w.joined.Load(); n != 0 {
				t.Errorf("%d joined", n)
			}
		})
	}
	t.Run("F43 at another org", func(t *testing.T) {
		w := newInviting(t)
		ticket := w.invite("eve@new.example", "reader")
		b := w.browser()
		b.org = "globex"
		want(t, b.post("/join", "ticket", ticket), 401, invalidCode)
	})
	t.Run("F43 the ticket is no session, no code and no address", func(t *testing.T) {
		w := newInviting(t)
		b := w.browser()
		b.jar[cookieName] = w.invite("eve@new.example", "reader")
		want(t, b.get("/me"), 401, expired)
		b.jar[ticketName] = b.cookie(cookieName)
		want(t, b.post("/verify", "code", "000000"), 401, invalidCode)
	})
	t.Run("F43 a join that does not end it", func(t *testing.T) {
		w := newInviting(t)
		ticket := w.invite("eve@new.example", "reader")
		want(t, w.browser().post("/join", "ticket", ticket, "forget", "yes"), 500, auth.DetailInternal)
		want(t, w.join(ticket), 401, invalidCode)
	})
	t.Run("F43 a page of another origin", func(t *testing.T) {
		w := newInviting(t)
		ticket := w.invite("eve@new.example", "reader")
		want(t, w.browser().do("POST", "/join", form("ticket", ticket), "Sec-Fetch-Site", "cross-site"), 403, auth.DetailCrossOrigin)
	})
	t.Run("F43 the store does not say", func(t *testing.T) {
		w := newInviting(t)
		ticket := w.invite("eve@new.example", "reader")
		for _, verb := range []string{"Get", "DeleteID"} {
			w.stores.set(verb, http.ErrServerClosed)
			want(t, w.join(ticket), 503, auth.DetailUnavailable)
			w.stores.set(verb, nil)
		}
		want(t, w.join(ticket), 200, "")
	})
}

func TestF43ManyAcceptsAtOnce(t *testing.T) {
	w := newInviting(t)
	ticket := w.invite("eve@new.example", "reader")
	var all sync.WaitGroup
	var passed atomic.Int32
	for range 16 {
		all.Go(func() {
			if w.join(ticket).status == 200 {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	if passed.Load() != 1 || w.joined.Load() != 1 {
		t.Errorf("F43: %d accepts passed, %d joined", passed.Load(), w.joined.Load())
	}
}
