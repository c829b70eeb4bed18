package session_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

// K08 for sessions: events of an Observer, refusals and printed records hold no password,
// token, code or secret.
func TestNothingTellsASecret(t *testing.T) {
	w := newWorld(t, knowsDevices)
	var said strings.Builder
	secrets := map[string]bool{deviceSecret: true, annPassword: true, "a wrong password": true}
	note := func(got reply) reply {
		if got.status != 200 {
			said.WriteString(got.body)
		}
		for name, values := range got.header {
			if name != "Set-Cookie" {
				fmt.Fprintln(&said, name, values)
			}
		}
		for _, c := range got.cookies {
			if c.Value != "" {
				secrets[c.Value] = true
			}
		}
		return got
	}
	b := w.browser()
	note(b.login("ann", "a wrong password"))
	note(b.login("ann", annPassword))
	factor, recovery := b.enrol()
	for _, code := range recovery {
		secrets[code] = true
	}
	secrets[session.Enrolment{Secret: factor}.Base32()], secrets[string(factor)] = true, true
	w.clock.Advance(time.Minute)
	pending := w.browser()
	note(pending.login("ann", annPassword))
	secrets[w.wrong(factor)], secrets[w.code(factor)] = true, true
	note(pending.post("/verify", "code", w.wrong(factor)))
	note(pending.clone().post("/verify", "code", w.code(factor)))
	note(pending.post("/verify", "code", w.code(factor)))
	note(b.post("/reauthenticate", "login", "ann", "password", "a wrong password"))
	note(b.post("/reauthenticate", "login", "ann", "password", annPassword))
	note(b.do("POST", "/me", "", "Origin", "https://evil.example"))
	old := b.clone()
	for _, verb := range []string{"Get", "Try", "Factor", "Password"} {
		w.stores.set(verb, http.ErrServerClosed)
		note(b.get("/me"))
		note(w.browser().login("ann", annPassword, "code", w.code(factor)))
		w.stores.set(verb, nil)
	}
	note(b.post("/logout"))
	note(old.get("/me"))
	malformed := w.browser()
	malformed.jar[cookieName] = old.cookie(cookieName) + "x"
	note(malformed.get("/me"))

	if len(w.events) < 15 {
		t.Errorf("K08 only %d events", len(w.events))
	}
	for _, e := range w.events {
		fmt.Fprintf(&said, "%+v %v\n", e, e.Err)
	}
	for _, s := range w.sessions("ann") {
		fmt.Fprintf(&said, "%+v\n", s)
	}
	f := must(w.memory.Factors().Factor(t.Context(), "acme", "ann"))
	fmt.Fprintf(&said, "%v %+v %#v %v %+v %s %x", f, f, f, session.Enrolment{Account: "ann", Secret: factor},
		session.Enrolment{Secret: factor}, factor, factor)
	fmt.Fprintf(&said, "%v %+v", w.manager.DeviceKey, w.manager.DeviceKey)
	fmt.Fprintln(&said, factor.String(), factor.GoString(), factor.LogValue(), string(must(json.Marshal(f))))
	for secret := range secrets {
		if strings.Contains(said.String(), secret) {
			t.Errorf("K08 %q was told", secret)
		}
	}
	if len(secrets) < 20 {
		t.Errorf("K08 only %d secrets were looked for", len(secrets))
	}
}

// No value that a store is given is a credential.
func TestStoresHoldNoToken(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	s := w.sessions("ann")[0]
	if s.Hash != hashOf(t, b) || strings.Contains(fmt.Sprintf("%+v", s), b.cookie(cookieName)) {
		t.Errorf("record %+v", s)
	}
	if s.Address != "192.0.2.1" || len(s.ID) != 32 || s.Org != "acme" || s.Account != "ann" || !s.Created.Equal(w.now()) {
		t.Errorf("record %+v", s)
	}
}

// A proxy's header for the address counts only if the application reads it.
func TestTheAddressIsTheClients(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.guard.Proxies = auth.Proxies{Header: "X-Real-Ip", Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}
	})
	for try := range 101 {
		got := w.browser().do("POST", "/login", form("login", "user"+strconv.Itoa(try), "password", "x"), "X-Real-Ip", "::ffff:198.51.100.7")
		if refused := try == 100; refused != (got.status == 429) {
			t.Errorf("try %d: %d", try, got.status)
		}
	}
	b := w.browser()
	want(t, b.do("POST", "/login", form("login", "ann", "password", annPassword), "X-Real-Ip", "198.51.100.8"), 200, "")
	if s := w.sessions("ann")[0]; s.Address != "198.51.100.8" {
		t.Errorf("recorded %q", s.Address)
	}
}

func TestWhatIsKeptOfAClient(t *testing.T) {
	for name, c := range map[string]struct{ agent, kept string }{
		"short":           {"Mozilla/5.0", "Mozilla/5.0"},
		"none":            {"", ""},
		"not UTF-8":       {"a\xffb", "ab"},
		"cut at a letter": {strings.Repeat("a", 255) + "é", strings.Repeat("a", 255)},
		"8 KiB":           {strings.Repeat("b", 8<<10), strings.Repeat("b", 256)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			want(t, w.browser().do("POST", "/start", form("account", "ann"), "User-Agent", c.agent), 200, "")
			if got := w.sessions("ann")[0].Agent; got != c.kept {
				t.Errorf("kept %q", got)
			}
		})
	}
}

func TestPrincipalOfASession(t *testing.T) {
	w := newWorld(t)
	var p auth.Principal
	w.answer = func(rw http.ResponseWriter, r *http.Request) {
		p = auth.From(r.Context())
		rw.Write([]byte("{}"))
	}
	w.directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	b := w.ann()
	began := w.now()
	w.clock.Advance(time.Minute)
	b.get("/me")
	s := w.sessions("ann")[0]
	if p.Org != "acme" || p.Account != "ann" || p.Caller != "ann" || p.Mechanism != session.Name || p.App != "" ||
		len(p.Roles) != 1 || p.SessionID != s.ID || !p.Authenticated.Equal(began) || !p.Expires.IsZero() {
		t.Errorf("principal %+v", p)
	}
	p.Roles[0] = "administrator"
	b.get("/me")
	if p.Roles[0] != "member" {
		t.Error("a handler altered the account's roles")
	}
}
