package session_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestF36TheOrgJudgesTheProof(t *testing.T) {
	const google, other = "https://accounts.google.example", "https://other.example"
	start := func(fields ...string) func(b *browser) reply {
		return func(b *browser) reply { return b.post("/start", append(fields, "account", "ann")...) }
	}
	password := func(b *browser) reply { return b.login("ann", annPassword) }
	for _, c := range []struct {
		name   string
		policy auth.SessionPolicy
		do     func(b *browser) reply
		status int
		detail string
	}{
		{"no policy", auth.SessionPolicy{}, start("issuer", other), 200, ""},
		{"an accepted issuer", auth.SessionPolicy{Issuers: []string{google}}, start("issuer", google), 200, ""},
		{"F36 another issuer", auth.SessionPolicy{Issuers: []string{google}}, start("issuer", other), 403, auth.DetailForbidden},
		{"F36 an issuer by a slash more", auth.SessionPolicy{Issuers: []string{google}}, start("issuer", google+"/"), 403, auth.DetailForbidden},
		{"F36 a password where only an issuer counts", auth.SessionPolicy{Issuers: []string{google}}, password, 403, auth.DetailForbidden},
		{"a password beside an issuer", auth.SessionPolicy{Issuers: []string{google, ""}}, password, 200, ""},
		{"F36 an issuer where only the server counts", auth.SessionPolicy{Issuers: []string{""}}, start("issuer", google), 403, auth.DetailForbidden},
		{"F36 a password where only passkeys count", auth.SessionPolicy{Methods: []string{session.MethodPasskey}}, password, 403, auth.DetailForbidden},
		{"a passkey where only passkeys count", auth.SessionPolicy{Methods: []string{session.MethodPasskey}}, start("methods", "passkey uv"), 200, ""},
		{"F36 a proof without a method where only passkeys count", auth.SessionPolicy{Methods: []string{session.MethodPasskey}}, start(), 403, auth.DetailForbidden},
		{"F36 no method at all counts", auth.SessionPolicy{Methods: []string{}}, start("methods", "passkey"), 403, auth.DetailForbidden},
		{"an age that is accepted", auth.SessionPolicy{ProofAge: time.Hour}, start("age", "1h"), 200, ""},
		{"F36 a proof that is too old", auth.SessionPolicy{ProofAge: time.Hour}, start("age", "61m"), 403, auth.DetailReauthenticate},
		{"F36 a passkey without user verification is one factor", auth.SessionPolicy{SecondFactor: true}, start("methods", "passkey"), 403, auth.DetailSecondFactor},
		{"a passkey with user verification is two", auth.SessionPolicy{SecondFactor: true}, start("methods", "passkey uv"), 200, ""},
		{"F36 user verification of something else", auth.SessionPolicy{SecondFactor: true}, start("methods", "pwd uv"), 403, auth.DetailSecondFactor},
		{"F36 several factors by an issuer that the org does not name", auth.SessionPolicy{SecondFactor: true}, start("methods", "mfa", "issuer", google), 403, auth.DetailSecondFactor},
		{"several factors by an issuer that the org names", auth.SessionPolicy{SecondFactor: true, Issuers: []string{google}}, start("methods", "mfa", "issuer", google), 200, ""},
		{"F36 several factors by nobody", auth.SessionPolicy{SecondFactor: true, Issuers: []string{""}}, start("methods", "mfa"), 403, auth.DetailSecondFactor},
		{"F36 another issuer's passkey", auth.SessionPolicy{SecondFactor: true, Issuers: []string{google}}, start("methods", "passkey uv", "issuer", google), 403, auth.DetailSecondFactor},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.putOrg(func(o *auth.Org) { o.Session = c.policy })
			b := w.browser()
			want(t, c.do(b), c.status, c.detail)
			if opened := b.cookie(cookieName) != ""; opened != (c.status == 200) {
				t.Errorf("a session: %v", opened)
			}
		})
	}
	t.Run("F36 a step-up by a password where only passkeys count", func(t *testing.T) {
		w := newWorld(t)
		b := w.ann()
		w.putOrg(func(o *auth.Org) { o.Session.Methods = []string{session.MethodPasskey} })
		want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 403, auth.DetailForbidden)
		want(t, b.post("/password", "login", "ann", "password", annPassword, "next", "another password"), 403, auth.DetailForbidden)
	})
	t.Run("F36 the refusal says nothing about the account", func(t *testing.T) {
		w := newWorld(t)
		w.putOrg(func(o *auth.Org) { o.Session.Issuers = []string{google} })
		for _, login := range []string{"ann", "nobody"} {
			got := w.costs(t, spent{}, func() reply { return w.browser().login(login, "wrong") })
			want(t, got, 403, auth.DetailForbidden)
		}
	})
}

// A passkey is the second factor of a login that waits for one.
func TestF36APasskeyAsTheSecondFactor(t *testing.T) {
	w := newWorld(t)
	w.ann().enrol()
	t.Run("with the ticket of its account", func(t *testing.T) {
		b := w.ticket()
		w.clock.Advance(time.Minute)
		want(t, b.post("/start", "account", "ann", "methods", "passkey"), 200, "")
		s := w.sessions("ann")
		if proof := lastProof(t, w); !cmp.Equal(proof.Methods, []string{"pwd", "passkey"}) || w.clock.Now().Sub(proof.At) < time.Minute {
			t.Errorf("%d sessions, the last by %v", len(s), proof)
		}
	})
	for name, do := range map[string]func() reply{
		"F36 without a ticket":                  func() reply { return w.browser().post("/start", "account", "ann", "methods", "passkey") },
		"F36 no passkey":                        func() reply { return w.ticket().post("/start", "account", "ann", "methods", "pwd") },
		"F36 a passkey that an issuer tells of": func() reply { return w.ticket().post("/start", "account", "ann", "methods", "passkey", "issuer", "x") },
		"F36 with a ticket that was used": func() reply {
			b := w.ticket()
			other := b.clone()
			want(t, b.post("/start", "account", "ann", "methods", "passkey"), 200, "")
			return other.post("/start", "account", "ann", "methods", "passkey")
		},
	} {
		t.Run(name, func(t *testing.T) { want(t, do(), 403, auth.DetailSecondFactor) })
	}
	t.Run("F36 with the ticket of another account", func(t *testing.T) {
		bob := w.browser()
		want(t, bob.login("bob", "bob's password"), 200, "")
		bob.enrol()
		want(t, bob.login("bob", "bob's password"), 403, auth.DetailSecondFactor)
		want(t, bob.post("/start", "account", "ann", "methods", "passkey"), 403, auth.DetailSecondFactor)
	})
}

// lastProof returns the proof of ann's newest session.
func lastProof(t *testing.T, w *world) session.Proof {
	t.Helper()
	list := must(w.manager.Sessions().List(t.Context(), &auth.Org{Code: "acme"}, "ann"))
	if len(list) == 0 {
		t.Fatal("no session")
	}
	newest := list[0]
	for _, s := range list {
		if s.Seen.After(newest.Seen) {
			newest = s
		}
	}
	return newest.Proof
}

func TestASessionKeepsItsProof(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	want(t, b.post("/start", "account", "ann", "methods", "pwd otp", "issuer", "https://id.example", "text", "from the shop", "age", "1h"), 200, "")
	got, at := lastProof(t, w), w.now().UTC()
	if diff := cmp.Diff(session.Proof{At: at.Add(-time.Hour), Methods: []string{"pwd", "otp"}, Issuer: "https://id.example", Text: "from the shop"}, got); diff != "" {
		t.Error(diff)
	}
	w.clock.Advance(time.Minute)
	want(t, b.post("/reauthenticate", "login", "ann", "password", annPassword), 200, "")
	if got := lastProof(t, w); !got.At.Equal(w.now()) || got.Issuer == "" {
		t.Errorf("after a step-up: %+v", got)
	}
	secret, _ := b.enrol()
	w.clock.Advance(time.Minute)
	want(t, b.login("ann", annPassword), 403, auth.DetailSecondFactor)
	want(t, b.post("/verify", "code", w.code(secret)), 200, "")
	if got := lastProof(t, w); !cmp.Equal(got.Methods, []string{session.MethodPassword, session.MethodCode}) {
		t.Errorf("after both steps: %+v", got)
	}
}

func TestProofsThatAreTooLong(t *testing.T) {
	w := newWorld(t)
	now := w.now()
	for name, p := range map[string]session.Proof{
		"no time":         {Methods: []string{"pwd"}},
		"nine methods":    {At: now, Methods: make([]string, 9)},
		"a method":        {At: now, Methods: []string{strings.Repeat("m", 65)}},
		"an issuer":       {At: now, Issuer: strings.Repeat("i", 513)},
		"the application": {At: now, Text: strings.Repeat("t", 257)},
	} {
		t.Run(name, func(t *testing.T) {
			w.as(t, auth.Principal{}, func(rw http.ResponseWriter, r *http.Request) {
				if _, err := w.manager.Start(rw, r, "ann", p); err == nil {
					t.Error("accepted")
				}
			})
		})
	}
	w.as(t, auth.Principal{}, func(rw http.ResponseWriter, r *http.Request) {
		long := session.Proof{At: now, Issuer: strings.Repeat("i", 512), Text: strings.Repeat("\x00", 256), Methods: []string{strings.Repeat("<", 64)}}
		if _, err := w.manager.Start(rw, r, "ann", long); err != nil {
			t.Errorf("at the limits: %v", err)
		}
	})
}
