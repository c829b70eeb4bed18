package session_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

const globexPassword = "ann's other password"

// aPerson gives ann an account at globex that is the same person's, and routes to enter it.
func aPerson(w *world) {
	w.guard.Directory = w.directory // which knows people
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Person: "p1"})
	w.directory.PutAccount(auth.Account{ID: "anna", Org: "globex", Person: "p1"})
	w.stores.passwords["globex/anna"] = globexPassword
	w.enterable(func(*auth.SessionPolicy) {})
}

// enterable sets the policy of globex, which is entered with a password and a code.
func (w *world) enterable(alter func(*auth.SessionPolicy)) {
	policy := auth.SessionPolicy{EnterWith: []string{session.MethodPassword, session.MethodCode}}
	alter(&policy)
	w.directory.PutOrg(auth.Org{Code: "globex", Session: policy})
}

// entering is a world in which ann's sessions may enter other orgs.
func entering(t testing.TB) *world {
	w := newWorld(t, knowsDevices, aPerson)
	w.mux.HandleFunc("POST /enter", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		p, err := w.manager.Enter(rw, r, r.PostFormValue("org"))
		if err != nil {
			auth.Fail(rw, r, err)
			return
		}
		auth.Reply(rw, r, envelope.Result[string]{Data: p.Account})
	})
	return w
}

// silent is a Directory of people that finds no account, and does not say why.
type silent struct{ auth.People }

func (silent) Account(context.Context, auth.OrgKey, string) (*auth.Account, error) {
	return nil, http.ErrServerClosed
}

// astray is a Directory that has one account for everybody.
type astray struct {
	*auth.Memory
	account *auth.Account
}

func (a astray) AccountOf(context.Context, auth.OrgKey, string) (*auth.Account, error) {
	return a.account, nil
}

// ann2 returns a browser in which ann has logged in with a code.
func (w *world) ann2(secret session.FactorSecret) *browser {
	w.clock.Advance(time.Minute)
	b := w.browser()
	want(w.t, b.post("/login", "login", "ann", "password", annPassword, "code", w.code(secret)), 200, "")
	return b
}

// in sends a request to another org.
func (b *browser) in(org string, do func() reply) reply {
	before := b.org
	defer func() { b.org = before }()
	b.org = org
	return do()
}

func (b *browser) atGlobex(path string) reply {
	return b.in("globex", func() reply { return b.get(path) })
}

func TestEnter(t *testing.T) {
	t.Run("two orgs in one browser", func(t *testing.T) {
		w := entering(t)
		b := w.ann()
		want(t, b.atGlobex("/me"), 401, auth.DetailNoCredentials)
		got := b.post("/enter", "org", "globex")
		want(t, got, 200, "")
		if sets(got) != "+__Host-session-globex +__Host-device-globex" {
			t.Errorf("cookies %q", sets(got))
		}
		for range 2 { // each tab is at the org of its URL
			want(t, b.get("/me"), 200, "")
			want(t, b.atGlobex("/me"), 200, "")
		}
		want(t, b.post("/logout"), 200, "")
		want(t, b.atGlobex("/me"), 200, "")
		list := must(w.manager.Sessions().List(t.Context(), &auth.Org{Code: "globex"}, "anna"))
		if len(list) != 1 || list[0].From != "acme" || !cmp.Equal(list[0].Proof.Methods, []string{"pwd"}) {
			t.Errorf("%+v", list)
		}
	})
	t.Run("F38 it is as old as the proof, and no fresher", func(t *testing.T) {
		w := entering(t)
		b := w.ann()
		w.clock.Advance(11 * time.Minute)
		want(t, b.post("/enter", "org", "globex"), 200, "")
		want(t, b.in("globex", func() reply { return b.post("/sudo") }), 403, auth.DetailReauthenticate)
	})
	t.Run("F38 its life begins with the proof, through any number of orgs", func(t *testing.T) {
		w := entering(t)
		w.directory.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Idle: 12 * time.Hour, EnterWith: []string{session.MethodPassword}}})
		w.enterable(func(p *auth.SessionPolicy) { p.Idle = 12 * time.Hour })
		b := w.ann()
		for range 2 {
			w.clock.Advance(5*time.Hour + 59*time.Minute)
			want(t, b.post("/enter", "org", "globex"), 200, "")
			want(t, b.in("globex", func() reply { return b.post("/enter", "org", "acme") }), 200, "")
		}
		w.clock.Advance(2 * time.Minute)
		want(t, b.get("/me"), 401, expired)
		want(t, b.atGlobex("/me"), 401, expired)
	})
	t.Run("F38 a step-up since the login makes it no fresher", func(t *testing.T) {
		w := entering(t)
		b := w.ann()
		w.clock.Advance(11 * time.Minute)
		want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
		want(t, b.post("/sudo"), 200, "")
		want(t, b.post("/enter", "org", "globex"), 200, "")
		want(t, b.in("globex", func() reply { return b.post("/sudo") }), 403, auth.DetailReauthenticate)
	})
	t.Run("there and back, the sessions stay", func(t *testing.T) {
		w := entering(t)
		ends := auth.SessionPolicy{EnterWith: []string{session.MethodPassword}, EndWithOrigin: true}
		w.directory.PutOrg(auth.Org{Code: "acme", Session: ends})
		w.directory.PutOrg(auth.Org{Code: "globex", Session: ends})
		b := w.ann()
		for range 10 {
			want(t, b.post("/enter", "org", "globex"), 200, "")
			want(t, b.in("globex", func() reply { return b.post("/enter", "org", "acme") }), 200, "")
		}
		want(t, b.get("/me"), 200, "")
		want(t, b.atGlobex("/me"), 200, "")
		if n := len(w.sessions("ann")); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
	t.Run("F38 what ends the person's sessions meanwhile", func(t *testing.T) {
		for name, end := range map[string]string{"before the session there is created": "Create", "after": "List"} {
			w := entering(t)
			b := w.ann()
			w.stores.before[end] = func() {
				delete(w.stores.before, end)
				w.as(t, auth.Principal{}, func(_ http.ResponseWriter, r *http.Request) {
					w.manager.Sessions().RevokeAll(r.Context(), auth.PersonKey, "p1", "")
				})
			}
			want(t, b.post("/enter", "org", "globex"), 401, expired)
			if left := must(w.memory.Sessions().List(t.Context(), "globex", "anna")); len(left) != 0 {
				t.Errorf("%s: %d sessions there", name, len(left))
			}
		}
	})
	t.Run("its cookies stay below 4 KB for 30 companies", func(t *testing.T) {
		w := entering(t)
		w.manager.Cookies.Device = "device" // one for all orgs
		size := 0
		for n := range 30 {
			org := fmt.Sprintf("org-%02d-of-0190f9c2-6d1e-7a50-b0c4", n)
			w.directory.PutOrg(auth.Org{Code: org, Session: auth.SessionPolicy{EnterWith: []string{session.MethodPassword}}})
			w.directory.PutAccount(auth.Account{ID: "a", Org: auth.OrgKey(org), Person: "p1"})
		}
		b := w.ann()
		for n := range 30 {
			want(t, b.post("/enter", "org", fmt.Sprintf("org-%02d-of-0190f9c2-6d1e-7a50-b0c4", n)), 200, "")
		}
		for name, value := range b.jar {
			size += len(name) + len(value) + len("=; ")
		}
		if len(b.jar) != 32 || size > 4096 {
			t.Errorf("%d cookies of %d bytes", len(b.jar), size)
		}
	})
}

func TestF38WhoDoesNotEnter(t *testing.T) {
	const sso = "https://login.acme.example"
	for _, c := range []struct {
		name    string
		prepare func(w *world)
		do      func(w *world) *browser // signs in at acme
		org     string
		status  int
		detail  string
	}{
		{"F38 an org that says nothing", func(w *world) { w.directory.PutOrg(auth.Org{Code: "globex"}) }, (*world).ann, "globex", 403, auth.DetailForbidden},
		{"F38 an org that accepts other methods", func(w *world) {
			w.enterable(func(p *auth.SessionPolicy) { p.EnterWith = []string{session.MethodPasskey, session.MethodCode} })
		}, (*world).ann, "globex", 403, auth.DetailForbidden},
		{"F38 an org that logs people in by passkeys only", func(w *world) {
			w.enterable(func(p *auth.SessionPolicy) { p.Methods = []string{session.MethodPasskey} })
		}, (*world).ann, "globex", 403, auth.DetailForbidden},
		{"F38 the single sign-on of one org", nil, func(w *world) *browser {
			b := w.browser()
			want(t, b.post("/start", "account", "ann", "methods", "pwd", "issuer", sso), 200, "")
			return b
		}, "globex", 403, auth.DetailForbidden},
		{"an issuer that both accept", func(w *world) {
			w.enterable(func(p *auth.SessionPolicy) { p.Issuers = []string{sso} })
		}, func(w *world) *browser {
			b := w.browser()
			want(t, b.post("/start", "account", "ann", "methods", "pwd", "issuer", sso), 200, "")
			return b
		}, "globex", 200, ""},
		{"F38 the single sign-on of one org, and then a passkey", func(w *world) {
			w.enterable(func(p *auth.SessionPolicy) { p.EnterWith, p.SecondFactor = []string{"pwd", "passkey"}, true })
			w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = true })
		}, func(w *world) *browser {
			b := w.browser()
			want(t, b.post("/start", "account", "ann", "methods", "pwd", "issuer", sso), 403, auth.DetailSecondFactor)
			want(t, b.post("/start", "account", "ann", "methods", "passkey"), 200, "")
			return b
		}, "globex", 403, auth.DetailForbidden},
		{"F38 a proof that says no method", nil, func(w *world) *browser {
			b := w.browser()
			want(t, b.post("/start", "account", "ann"), 200, "")
			return b
		}, "globex", 403, auth.DetailForbidden},
		{"F38 a code alone", func(w *world) {
			w.enterable(func(p *auth.SessionPolicy) { p.EnterWith = []string{session.MethodCode} })
		}, func(w *world) *browser {
			b, secret, _ := w.pending()
			want(t, b.post("/verify", "code", w.code(secret)), 200, "")
			return b
		}, "globex", 403, auth.DetailForbidden},
		{"F38 a proof that is too old there", func(w *world) {
			w.enterable(func(p *auth.SessionPolicy) { p.ProofAge = time.Minute })
		}, func(w *world) *browser {
			b := w.ann()
			w.clock.Advance(2 * time.Minute)
			return b
		}, "globex", 403, auth.DetailReauthenticate},
		{"F38 a proof of before the account there was changed", nil, func(w *world) *browser {
			b := w.ann()
			w.clock.Advance(time.Second)
			w.directory.PutAccount(auth.Account{ID: "anna", Org: "globex", Person: "p1", Changed: w.clock.Now()})
			return b
		}, "globex", 401, auth.DetailInvalidCredentials},
		{"F38 an account there that is disabled", func(w *world) {
			w.directory.PutAccount(auth.Account{ID: "anna", Org: "globex", Person: "p1", Disabled: true})
		}, (*world).ann, "globex", 404, auth.DetailNotFound},
		{"F38 an account there of another person", func(w *world) {
			w.directory.PutAccount(auth.Account{ID: "anna", Org: "globex", Person: "p2"})
		}, (*world).ann, "globex", 404, auth.DetailNotFound},
		{"F38 an account that is no person's, where another is none's, too", func(w *world) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
			w.directory.PutAccount(auth.Account{ID: "anna", Org: "globex"})
		}, (*world).ann, "globex", 404, auth.DetailNotFound},
		{"F38 an org that is unknown", nil, (*world).ann, "nowhere", 404, auth.DetailUnknownOrg},
		{"F38 an org that is disabled", func(w *world) { w.directory.PutOrg(auth.Org{Code: "globex", Disabled: true}) }, (*world).ann, "globex", 404, auth.DetailUnknownOrg},
		{"F38 nobody", nil, (*world).browser, "globex", 401, auth.DetailNoCredentials},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := entering(t)
			if c.prepare != nil {
				c.prepare(w)
			}
			b := c.do(w)
			want(t, b.post("/enter", "org", c.org), c.status, c.detail)
			if opened := b.cookie("__Host-session-globex") != ""; opened != (c.status == 200) {
				t.Errorf("a session there: %v", opened)
			}
		})
	}
	for name, account := range map[string]*auth.Account{
		"the person's account of a third org": {ID: "anna", Org: "initech", Person: "p1"},
		"another person's account":            {ID: "anna", Org: "globex", Person: "p2"},
		"neither an account nor an error":     nil,
	} {
		t.Run("F38 a directory that answers with "+name, func(t *testing.T) {
			w := entering(t)
			w.guard.Directory = astray{w.directory, account}
			b := w.ann()
			want(t, b.post("/enter", "org", "globex"), 404, auth.DetailNotFound)
			if b.cookie("__Host-session-globex") != "" {
				t.Error("a session there")
			}
		})
	}
	t.Run("F38 a page of another origin", func(t *testing.T) {
		w := entering(t)
		b := w.ann()
		want(t, b.do("POST", "/enter", form("org", "globex"), "Sec-Fetch-Site", "cross-site"), 403, auth.DetailCrossOrigin)
	})
}

func TestF39TheSecondFactorIsThePersons(t *testing.T) {
	t.Run("F39 the password alone opens no other org", func(t *testing.T) {
		w := entering(t)
		secret, _ := w.ann().enrol()
		w.clock.Advance(time.Minute)
		b := w.browser()
		b.org = "globex"
		want(t, b.login("anna", globexPassword), 403, auth.DetailSecondFactor)
		want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	})
	for name, c := range map[string]struct {
		with   []string
		code   bool // at acme
		status int
	}{
		"a code counts where the policy says so":     {[]string{"pwd", "otp"}, true, 200},
		"F39 and not where it does not":              {[]string{"pwd"}, true, 403},
		"F39 a remembered device is no code":         {[]string{"pwd", "otp", "device"}, false, 403},
		"F39 no code was proved, and one is missing": {[]string{"pwd", "otp"}, false, 403},
	} {
		t.Run(name, func(t *testing.T) {
			w := entering(t)
			w.enterable(func(p *auth.SessionPolicy) { p.EnterWith, p.SecondFactor = c.with, true })
			b, secret := w.rememberedDevice()
			w.clock.Advance(time.Minute)
			fields := []string{"login", "ann", "password", annPassword}
			if c.code {
				fields = append(fields, "code", w.code(secret))
			}
			want(t, b.post("/login", fields...), 200, "")
			got := b.post("/enter", "org", "globex")
			if c.status == 200 {
				want(t, got, 200, "")
				return
			}
			want(t, got, 403, auth.DetailSecondFactor)
			want(t, b.get("/me"), 200, "") // the session here stays
			w.clock.Advance(time.Minute)
			b.org = "globex"
			want(t, b.post("/verify", "code", w.code(secret)), 200, "")
			want(t, b.get("/me"), 200, "")
		})
	}
	t.Run("F39 an administrator of one org resets what no other relies on", func(t *testing.T) {
		w := entering(t)
		w.ann().enrol()
		reset := func(ctx context.Context, org auth.OrgKey, id string) error {
			return w.manager.Factors().Reset(ctx, org, id)
		}
		var errs []error
		w.as(t, auth.Principal{}, func(_ http.ResponseWriter, r *http.Request) {
			errs = append(errs, reset(r.Context(), "acme", "ann"))
			state := must(w.manager.Factors().State(r.Context(), "acme", "ann"))
			errs = append(errs, reset(r.Context(), auth.PersonKey, "p1"))
			if after := must(w.manager.Factors().State(r.Context(), "acme", "ann")); !state.Active || after.Active {
				t.Errorf("%+v, and after its reset by the operator %+v", state, after)
			}
		})
		if e, ok := errs[0].(*auth.Error); !ok || e.Detail != auth.DetailForbidden || errs[1] != nil {
			t.Errorf("%v", errs)
		}
		if err := reset(t.Context(), auth.PersonKey, "p1"); err == nil {
			t.Error("outside of a request: whose sessions?")
		}
	})
	t.Run("F39 another factor ends what the former one opened, in all orgs", func(t *testing.T) {
		w := entering(t)
		b := w.ann()
		want(t, b.post("/enter", "org", "globex"), 200, "")
		b.enrol()
		want(t, b.get("/me"), 200, "")
		want(t, b.atGlobex("/me"), 401, expired)
	})
}

// forgetless takes back no attempt that is counted in an org.
type forgetless struct {
	*stores
	org auth.OrgKey
}

func (s *forgetless) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	var before, after int
	fmt.Sscan(old, &before)
	if fmt.Sscan(record, &after); after < before && org == s.org {
		return false, http.ErrServerClosed
	}
	return s.stores.Swap(ctx, org, key, old, record)
}

func TestF40GuessesAreThePersons(t *testing.T) {
	guess := func(w *world, org, login string, n int) (passed int) {
		for i := range n {
			b := w.elsewhere(i)
			b.org = org
			if b.login(login, "wrong").status == 401 {
				passed++
			}
		}
		return passed
	}
	t.Run("F40 at passwords", func(t *testing.T) {
		w := entering(t)
		if n := guess(w, "acme", "ann", 3) + guess(w, "globex", "anna", 9); n != 5 {
			t.Errorf("%d guesses", n)
		}
		got := w.costs(t, spent{}, func() reply { return w.elsewhere(50).login("ann", annPassword) })
		want(t, got, 429, auth.DetailLocked)
		want(t, w.elsewhere(50).login("bob", "bob's password"), 200, "")
	})
	t.Run("F40 a right password of one account forgets no guess at another", func(t *testing.T) {
		for name, device := range map[string]string{"from anywhere": "", "with a stolen device cookie": "__Host-device-globex"} {
			w := entering(t)
			owner := w.browser()
			owner.org = "globex"
			want(t, owner.login("anna", globexPassword), 200, "")
			passed := 0
			for i := range 20 {
				b := w.elsewhere(i)
				b.org = "globex"
				if device != "" {
					b.jar[device] = owner.jar[device]
				}
				if b.login("anna", "wrong").status == 401 {
					passed++
				}
				b.org = "acme"
				b.login("ann", annPassword)
			}
			if most := map[bool]int{true: 5, false: 10}[device == ""]; passed > most {
				t.Errorf("%s: %d guesses", name, passed)
			}
		}
	})
	t.Run("F40 what a store does not take back at one account, it does not at the person", func(t *testing.T) {
		var store *forgetless
		w := newWorld(t, aPerson, func(w *world) {
			store = &forgetless{stores: w.stores}
			w.manager.Attempts = store
		})
		if n := guess(w, "acme", "ann", 3); n != 3 {
			t.Errorf("%d guesses", n)
		}
		store.org = "acme"
		want(t, w.browser().login("ann", annPassword), 200, "") // it stays counted
		store.org = ""
		if n := guess(w, "globex", "anna", 9); n != 1 {
			t.Errorf("%d guesses", n)
		}
	})
	t.Run("F40 the own mistakes are forgotten", func(t *testing.T) {
		w := entering(t)
		for range 3 {
			if n := guess(w, "acme", "ann", 4); n != 4 {
				t.Errorf("%d guesses", n)
			}
			want(t, w.browser().login("ann", annPassword), 200, "")
		}
	})
	t.Run("F40 at an account that is disabled", func(t *testing.T) {
		w := entering(t)
		w.directory.PutAccount(auth.Account{ID: "anna", Org: "globex", Person: "p1", Disabled: true})
		if n := guess(w, "acme", "ann", 3) + guess(w, "globex", "anna", 9); n != 5 {
			t.Errorf("%d guesses", n)
		}
	})
	t.Run("F40 each name costs the same, whoever has it", func(t *testing.T) {
		w := entering(t)
		w.stores.passwords["acme/lone"] = "x"
		w.directory.PutAccount(auth.Account{ID: "lone", Org: "acme"})
		var costs []string
		for _, name := range []string{"ann", "lone", "nobody"} {
			clear(w.stores.calls)
			want(t, w.browser().login(name, "wrong"), 401, auth.DetailInvalidCredentials)
			costs = append(costs, fmt.Sprint(w.stores.calls))
		}
		if costs[0] != costs[1] || costs[0] != costs[2] {
			t.Errorf("%q", costs)
		}
	})
	t.Run("F40 at a name that is an account's id", func(t *testing.T) {
		w := entering(t)
		delete(w.stores.passwords, "acme/ann")
		guess(w, "acme", "ann", 9)
		if n := guess(w, "globex", "anna", 9); n != 5 {
			t.Errorf("%d guesses", n)
		}
	})
	t.Run("F40 at codes", func(t *testing.T) {
		w := entering(t)
		secret, _ := w.ann().enrol()
		w.clock.Advance(time.Minute)
		tried := 0
		for n := range 10 {
			b := w.elsewhere(n)
			login, password := "ann", annPassword
			if n%2 == 1 {
				b.org, login, password = "globex", "anna", globexPassword
			}
			want(t, b.login(login, password), 403, auth.DetailSecondFactor)
			if b.post("/verify", "code", w.wrong(secret)).status == 401 {
				tried++
			}
		}
		if tried != 5 {
			t.Errorf("%d guesses", tried)
		}
	})
	t.Run("F40 the directory does not answer, whoever has the name, and whatever a cache has", func(t *testing.T) {
		w := newWorld(t, aPerson, func(w *world) { w.guard.Directory = auth.Cached(silent{w.directory}, time.Hour) })
		for _, name := range []string{"ann", "bob", "nobody"} {
			got := w.costs(t, spent{}, func() reply { return w.browser().login(name, "wrong") })
			want(t, got, 503, auth.DetailUnavailable)
		}
	})
	t.Run("F40 the passwords do not answer", func(t *testing.T) {
		w := entering(t)
		w.stores.set("Password", http.ErrServerClosed)
		got := w.costs(t, spent{}, func() reply { return w.browser().login("ann", annPassword) })
		want(t, got, 503, auth.DetailUnavailable)
	})
}

func TestF41WhatEndsWithItsOrigin(t *testing.T) {
	both := func(t *testing.T, ends bool) (*world, *browser) {
		w := entering(t)
		w.enterable(func(p *auth.SessionPolicy) { p.EndWithOrigin, p.Idle = ends, 3*time.Hour })
		b := w.ann()
		want(t, b.post("/enter", "org", "globex"), 200, "")
		want(t, b.atGlobex("/me"), 200, "")
		return w, b
	}
	for name, end := range map[string]func(w *world, b *browser){
		"F41 a logout":     func(_ *world, b *browser) { b.post("/logout") },
		"F41 a revocation": func(w *world, _ *browser) { w.manager.Sessions().RevokeAll(w.t.Context(), "acme", "ann", "") },
		"F41 the account there is disabled": func(w *world, _ *browser) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Person: "p1", Disabled: true})
		},
		"F41 the account there is changed": func(w *world, _ *browser) {
			w.clock.Advance(time.Second)
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Person: "p1", Changed: w.clock.Now()})
		},
		"F41 the account there is another's by now": func(w *world, _ *browser) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Person: "p2"})
		},
		"F41 the person has another account there by now": func(w *world, _ *browser) {
			w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
			w.directory.PutAccount(auth.Account{ID: "ann2", Org: "acme", Person: "p1"})
		},
		"F41 the org there is over": func(w *world, _ *browser) { w.manager.Sessions().RevokeOrg(w.t.Context(), "acme") },
	} {
		t.Run(name, func(t *testing.T) {
			w, b := both(t, true)
			end(w, b)
			want(t, b.atGlobex("/me"), 401, expired)
			w, b = both(t, false)
			end(w, b)
			want(t, b.atGlobex("/me"), 200, "")
		})
	}
	t.Run("a step-up and idle time there end nothing", func(t *testing.T) {
		w, b := both(t, true)
		want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
		want(t, b.atGlobex("/me"), 200, "")
		w.clock.Advance(2 * time.Hour)
		want(t, b.atGlobex("/me"), 200, "")
		want(t, b.get("/me"), 401, expired)
	})
	t.Run("F41 of an origin that ends with another one", func(t *testing.T) {
		w, b := both(t, true)
		w.directory.PutOrg(auth.Org{Code: "third", Session: auth.SessionPolicy{EnterWith: []string{"pwd"}, EndWithOrigin: true}})
		w.directory.PutAccount(auth.Account{ID: "a3", Org: "third", Person: "p1"})
		want(t, b.in("globex", func() reply { return b.post("/enter", "org", "third") }), 200, "")
		third := func() reply { return b.in("third", func() reply { return b.get("/me") }) }
		want(t, third(), 200, "")
		want(t, b.post("/logout"), 200, "")
		want(t, third(), 401, expired)
	})
	t.Run("F41 what was completed by a passkey", func(t *testing.T) {
		w := entering(t)
		w.enterable(func(p *auth.SessionPolicy) { p.EndWithOrigin, p.SecondFactor = true, true })
		b := w.ann()
		want(t, b.post("/enter", "org", "globex"), 403, auth.DetailSecondFactor)
		want(t, b.in("globex", func() reply { return b.post("/start", "account", "anna", "methods", "passkey") }), 200, "")
		want(t, b.atGlobex("/me"), 200, "")
		want(t, b.post("/logout"), 200, "")
		want(t, b.atGlobex("/me"), 401, expired)
	})
	t.Run("F41 a ticket of before", func(t *testing.T) {
		w := entering(t)
		secret, _ := w.ann().enrol()
		b := w.ann2(secret)
		w.enterable(func(p *auth.SessionPolicy) { p.EnterWith = []string{"pwd"} })
		want(t, b.post("/enter", "org", "globex"), 403, auth.DetailSecondFactor)
		want(t, b.post("/logout"), 200, "")
		w.clock.Advance(time.Minute)
		want(t, b.in("globex", func() reply { return b.post("/verify", "code", w.code(secret)) }), 401, expired)
		want(t, b.atGlobex("/me"), 401, auth.DetailNoCredentials)
	})
	t.Run("F41 the store does not say", func(t *testing.T) {
		w, b := both(t, true)
		w.stores.set("List", http.ErrServerClosed)
		want(t, b.atGlobex("/me"), 503, auth.DetailUnavailable)
		w.stores.set("List", nil)
		want(t, b.atGlobex("/me"), 200, "")
	})
}

func TestRevokeAllOfAPerson(t *testing.T) {
	w := entering(t)
	b, bob := w.ann(), w.browser()
	want(t, b.post("/enter", "org", "globex"), 200, "")
	want(t, bob.login("bob", "bob's password"), 200, "")
	revoke := func(person string) (n int, err error) {
		w.as(t, auth.Principal{}, func(_ http.ResponseWriter, r *http.Request) {
			n, err = w.manager.Sessions().RevokeAll(r.Context(), auth.PersonKey, person, "")
		})
		return n, err
	}
	if n, err := revoke(""); n != 0 || err == nil {
		t.Errorf("nobody: %d, %v", n, err)
	}
	if n, err := revoke("p2"); n != 0 || err != nil {
		t.Errorf("an unknown person: %d, %v", n, err)
	}
	if n, err := revoke("p1"); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	want(t, b.get("/me"), 401, expired)
	want(t, b.atGlobex("/me"), 401, expired)
	want(t, bob.get("/me"), 200, "")
	w.stores.set("DeleteAll", http.ErrServerClosed)
	if _, err := revoke("p1"); !isUnavailable(err) {
		t.Errorf("a store that fails: %v", err)
	}
	if _, err := w.manager.Sessions().RevokeAll(t.Context(), auth.PersonKey, "p1", ""); err == nil {
		t.Error("outside of a request: whose accounts?")
	}
}

// A new password, of whatever account, ends what the person has open elsewhere.
func TestANewPasswordEndsThePersonsSessions(t *testing.T) {
	w := entering(t)
	b := w.ann()
	want(t, b.post("/enter", "org", "globex"), 200, "")
	want(t, b.post("/password", "login", "ann", "password", annPassword, "next", "another password"), 200, "")
	want(t, b.get("/me"), 200, "")
	want(t, b.atGlobex("/me"), 401, expired)
}
