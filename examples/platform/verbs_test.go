package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
)

// TestVerbsOverHTTP watches what administrators do, and compares the verbs of each request.
func TestVerbsOverHTTP(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := start(t, "-mail-dir", folder)
	b := s.signedIn(t, s.AdminEmail, s.AdminPassword)
	w := s.watch(t, s.signedIn(t, s.AdminEmail, s.AdminPassword).byCookie) // a session of its own: b's ends, and the stream would with it
	w.next()                                                               // the stream has begun
	var names []string
	requests, want := map[string]string{}, map[string][]string{}
	does := func(name string, got answer, verbs ...string) value {
		t.Helper()
		names = append(names, name)
		requests[got.header.Get("Request-Id")], want[name] = name, verbs
		return got.ok(t)
	}
	admin := func(method, path, body string) answer { t.Helper(); return b.send(t, method, path, body) }
	const by = " by an administrator"
	app := does("an app is made", admin("POST", "/apps", `{"name":"new","credential":{"account":"`+s.AccountID+`"}}`), "credential.made app"+by)["_id"].(string)
	does("and renamed", admin("PATCH", "/apps/"+app, `{"name":"other"}`), "app.changed app"+by)
	does("and restricted", admin("PATCH", "/apps/"+app, `{"credential":{"scope":[]}}`), "credential.restricted app"+by)
	does("a secret is rotated", admin("POST", "/apps/"+app+"/secret", ""), "credential.replaced app"+by)
	does("a pair is made", admin("POST", "/apps/"+app+"/keypair", ""), "keypair.made app"+by)
	does("and rotated", admin("POST", "/apps/"+app+"/keypair", `{"overlap":60}`), "keypair.rotated app"+by)
	token := does("a token is made", admin("POST", "/apps/"+app+"/tokens", `{"sub":"`+s.AdminAccountID+`","scope":["admin.read"],"permanent":true}`),
		"token.made (permanent) app account token"+by)["data"].(value)["jti"].(string)
	does("and revoked", admin("DELETE", "/apps/"+app+"/tokens/"+token, ""), "token.revoked app account token"+by)
	key := does("an API key is made", admin("POST", "/apps/"+app+"/keys", `{"name":"key","scope":["admin.read"]}`), "apikey.made app account credential"+by)["_id"].(string)
	next := does("and replaced", admin("POST", "/apps/"+app+"/keys/"+key+"/replace", ""),
		"apikey.made app account credential"+by, "apikey.replaced app account credential"+by)["_id"].(string)
	does("and revoked again", admin("DELETE", "/apps/"+app+"/keys/"+next, ""), "apikey.ended (revoked) app account credential"+by)
	does("the app is deleted", admin("DELETE", "/apps/"+app, ""), "credential.ended app"+by, "keypair.deleted app"+by)
	account := does("an account is made", admin("POST", "/admin/accounts", `{"email":"new@example.com","password":"a long password"}`), "account.made account"+by)["_id"].(string)
	path := "/admin/accounts/" + account
	does("and changed", admin("PATCH", path, `{"name":"Nina","roles":["member"]}`), "account.changed (name roles) account"+by)
	nina := s.signedIn(t, "new@example.com", "a long password")
	does("its factor is removed", admin("PATCH", path, `{"resetSecondFactor":true}`),
		"account.changed (resetSecondFactor) account"+by, "factor.removed (reset) account"+by, "account.revoked account"+by)
	s.refused(t, nina.get(t, "/accounts/me"), 401, "accessDenied.sessionExpired")
	does("it is disabled", admin("POST", path+"/deactivate", ""), "account.changed (disabled) account"+by, "account.revoked account"+by)
	does("and enabled", admin("POST", path+"/activate", ""), "account.changed (enabled) account"+by)
	does("acting", b.at(s.Org).post(t, "/admin/accounts/"+account+"/act", value{"reason": "ticket 4711"}), "acting.began (ticket 4711) account session"+by)
	b.send(t, http.MethodDelete, "/accounts/me/act", "").ok(t)
	b = s.signedIn(t, s.AdminEmail, s.AdminPassword)
	does("a role is made", admin("POST", "/admin/roles", `{"name":"guest","scope":[]}`), "role.changed (guest)"+by)
	does("and changed once more", admin("PATCH", "/admin/roles/guest", `{"scope":["view"]}`), "role.changed (guest)"+by)
	does("and deleted", admin("DELETE", "/admin/roles/guest", ""), "role.changed (guest)"+by)
	does("settings", admin("PATCH", "/admin/settings", `{"idle":1200}`), "org.changed (idle)"+by)
	does("an invitation", admin("POST", "/admin/invitations", `{"email":"eve@example.com"}`), "invitation.made credential"+by)
	ticket := mailed(t, folder, 1)
	does("is accepted", s.browser(t).post(t, "/accounts/accept", value{"ticket": ticket, "password": "a long password"}),
		"invitation.accepted credential", "account.made (invited) account", "login.accepted (pwd) account session", "session.opened (pwd) account session")
	does("a registration", s.browser(t).post(t, "/accounts", value{"email": "joe@example.com", "password": "a long password"}),
		"account.made (registered) account", "login.accepted (pwd) account session", "session.opened (pwd) account session")
	got := map[string][]string{}
	last := admin("GET", "/views", "").header.Get("Request-Id")
	w.until(func(_ string, e value) bool {
		name, ours := requests[fmt.Sprint(e["requestId"])]
		if verb, ok := e["verb"].(string); ok && ours {
			if reason, ok := e["reason"].(string); ok {
				verb += " (" + reason + ")"
			}
			for _, about := range []string{"app", "account", "credential", "token", "session"} {
				if e[about] != nil {
					verb += " " + about
				}
			}
			if e["actor"] == s.AdminAccountID && strings.HasPrefix(e["by"].(string), "session:") {
				verb += by
			}
			got[name] = append(got[name], verb)
		}
		return e["requestId"] == last
	})
	for _, name := range names {
		if diff := cmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestEventsAreFiltered(t *testing.T) {
	e := eventReply{Verb: "login.wrong", Account: "ann", Actor: "bob", App: "a"}
	for filter, passes := range map[eventFilter]bool{
		{}:                                    true,
		{verb: "login.wrong"}:                 true,
		{verb: "login"}:                       true,
		{verb: "log"}:                         false,
		{verb: "login.wrongly"}:               false,
		{account: "ann"}:                      true,
		{account: "bob"}:                      true,
		{account: "eve"}:                      false,
		{app: "a", account: "ann"}:            true,
		{app: "b", account: "ann"}:            false,
		{app: "a", account: "ann", verb: "x"}: false,
	} {
		if filter.passes(&e) != passes {
			t.Errorf("%+v: %v", filter, !passes)
		}
	}
	f := newFeed()
	reader, err := f.open(acme, eventFilter{verb: "login"})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"", "login.wrong", "token.made"} {
		f.publish(acme, func() eventReply { return eventReply{Verb: verb} })
	}
	if len(reader.waiting) != 1 || (<-reader.waiting).Verb != "login.wrong" {
		t.Error("the reader got others")
	}
}

// Another server may share the Redis or the database, and have an org of the same name.
func TestServersWithOtherKeysShareNoTopic(t *testing.T) {
	a, b := newSealingKey(), newSealingKey()
	if one := eventsTopic(a); one == eventsTopic(b) || one != eventsTopic(a) || len(one) > 63 || strings.Contains(one, hex.EncodeToString(a[:8])) {
		t.Error(one)
	}
}

// wire connects instances in one process.
type wire struct {
	mu    sync.Mutex
	takes []func(string)
	down  atomic.Bool
	sent  int
}

func (w *wire) medium() *medium {
	return &medium{
		send: func(_ context.Context, text string) error {
			w.mu.Lock()
			takes, down := slices.Clone(w.takes), w.down.Load()
			w.sent++
			w.mu.Unlock()
			if down {
				return errors.New("down")
			}
			for _, take := range takes {
				take(text)
			}
			return nil
		},
		receive: func(ctx context.Context, take func(string)) error {
			w.mu.Lock()
			w.takes = append(w.takes, take)
			w.mu.Unlock()
			<-ctx.Done()
			return ctx.Err()
		},
	}
}

func TestInstancesSeeEachOthersEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, here, there := new(wire), newFeed(), newFeed()
		a, b := newOthers(here, w.medium()), newOthers(there, w.medium())
		defer a.close()
		defer b.close()
		made := 0
		publish := func(org auth.OrgKey, n int64) {
			b.publish(org, func() eventReply { made++; return eventReply{Count: n} })
		}
		publish(acme, 1)
		if made != 0 {
			t.Error("an event was made for nobody")
		}
		reader, err := here.open(acme, eventFilter{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * sayInterval)
		publish(acme, 2)
		publish(globex, 3)
		time.Sleep(sayInterval / 10)
		if e := <-reader.waiting; e.Count != 2 || made != 1 || len(reader.waiting) != 0 {
			t.Errorf("%+v of %d made", e, made)
		}
		w.down.Store(true)
		publish(acme, 4)
		time.Sleep(sayInterval / 10)
		w.down.Store(false)
		publish(acme, 5)
		time.Sleep(sayInterval / 10)
		publish(acme, 6)
		time.Sleep(sayInterval / 10)
		if e := <-reader.waiting; e.Count != 5 || len(reader.waiting) != 1 || reader.dropped.Load() != 1 {
			t.Errorf("%+v, %d wait, %d dropped", e, len(reader.waiting), reader.dropped.Load())
		}
		a.take("{") // from who knows where
		a.take(`{"org":"acme","event":null,"watched":null}`)
		here.leave(acme, reader)
		time.Sleep(2 * sayLife)
		publish(acme, 7)
		b.mu.Lock()
		defer b.mu.Unlock()
		if made != 4 || len(b.watched) != 0 {
			t.Errorf("%d made, %d orgs are watched", made, len(b.watched))
		}
	})
}

func TestWhoWatchesAgainLearnsOfEventsThatWereLostMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const made = 100
		hangs := &medium{
			send:    func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() },
			receive: func(ctx context.Context, _ func(string)) error { <-ctx.Done(); return ctx.Err() },
		}
		o := newOthers(newFeed(), hangs)
		defer o.close()
		o.take(`{"watched":["acme"]}`)
		for range made {
			o.publish(acme, func() eventReply { return eventReply{} })
		}
		time.Sleep(3 * made * sayInterval)
		o.mu.Lock()
		defer o.mu.Unlock()
		if len(o.watched) != 0 || o.lost[acme] < made/2 {
			t.Errorf("%d orgs are watched, %d events were lost", len(o.watched), o.lost[acme])
		}
	})
}
