package session_test

import (
	"crypto/fips140"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

func TestValidate(t *testing.T) {
	codes := "" // of SHA-1
	if fips140.Enforced() {
		codes = "SHA256Codes"
	}
	memory := new(session.Memory)
	for name, c := range map[string]struct {
		manager *session.Manager
		err     string
	}{
		"nothing":                     {&session.Manager{}, "Store"},
		"without attempts":            {&session.Manager{Store: memory.Sessions()}, "Attempts is required: the Attempts of a Memory"},
		"a Hasher without passwords":  {&session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), Hasher: session.PBKDF2{}}, "PasswordStore is required beside Hasher"},
		"codes without factors":       {&session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts(), SHA256Codes: true}, "FactorStore is required beside SHA256Codes"},
		"codes of SHA-1":              {&session.Manager{Store: memory.Sessions(), FactorStore: memory.Factors(), Attempts: memory.Attempts()}, codes},
		"codes of SHA-256":            {&session.Manager{Store: memory.Sessions(), FactorStore: memory.Factors(), Attempts: memory.Attempts(), SHA256Codes: true}, ""},
		"a short device key":          {&session.Manager{Store: memory.Sessions(), DeviceKey: session.NewDeviceKey(make([]byte, 31))}, "31 bytes"},
		"an empty device key":         {&session.Manager{Store: memory.Sessions(), DeviceKey: session.NewDeviceKey(nil)}, "0 bytes"},
		"sessions of accounts proven": {&session.Manager{Store: memory.Sessions(), Attempts: memory.Attempts()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.manager.Bind(new(auth.Settings))
			if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A missing field of a Manager is an internal error for callers, and never admits
// anybody.
func TestVerbsWithoutTheirStores(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.manager.PasswordStore, w.manager.Hasher, w.manager.FactorStore, w.manager.SHA256Codes = nil, nil, nil, false
	})
	b := w.browser()
	want(t, b.login("ann", annPassword), 500, auth.DetailInternal)
	want(t, b.post("/start", "account", "ann"), 200, "")
	want(t, b.get("/me"), 200, "")
	for _, path := range []string{"/enrol", "/confirm", "/remove", "/reauthenticate"} {
		want(t, b.post(path, "login", "ann", "password", annPassword), 500, auth.DetailInternal)
	}
	w.mux.HandleFunc("POST /mailed", auth.Public, func(rw http.ResponseWriter, r *http.Request) {
		auth.Fail(rw, r, w.manager.Mail().SendReset(r, "ann", nil, nil))
	})
	want(t, b.post("/mailed"), 500, auth.DetailInternal)
	if err := w.manager.Factors().Reset(t.Context(), "acme", "ann"); err == nil {
		t.Error("a factor is reset without Factors")
	}
	if state, err := w.manager.Factors().State(t.Context(), "acme", "ann"); state != (session.FactorState{}) || err != nil {
		t.Errorf("FactorState = %+v, %v", state, err)
	}
	want(t, b.post("/verify"), 401, auth.DetailInvalidCode)
	w.putOrg(func(o *auth.Org) { o.Session.SecondFactor = true })
	want(t, w.browser().post("/start", "account", "ann"), 500, auth.DetailInternal)

}

func TestVerbsOutsideAGuard(t *testing.T) {
	m := newWorld(t).manager
	r := httptest.NewRequestWithContext(auth.With(t.Context(), auth.Principal{Org: "acme", Account: "ann", SessionID: "x"}), "POST", "/", nil)
	for name, verb := range map[string]func(http.ResponseWriter) error{
		"Login": func(w http.ResponseWriter) error {
			_, err := m.Login(w, r, session.LoginForm{Login: "ann", Password: annPassword})
			return err
		},
		"Start": func(w http.ResponseWriter) error {
			_, err := m.Start(w, r, "ann", session.Proof{At: time.Now()})
			return err
		},
		"Verify": func(w http.ResponseWriter) error {
			_, err := m.VerifyCode(w, r, session.LoginForm{Code: "000000"})
			return err
		},
		"Reauthenticate": func(w http.ResponseWriter) error { _, err := m.Reauthenticate(w, r, "ann", annPassword); return err },
		"Logout":         func(w http.ResponseWriter) error { return m.Logout(w, r) },
		"Enrol":          func(http.ResponseWriter) error { _, err := m.Factors().Enrol(r); return err },
		"Confirm":        func(w http.ResponseWriter) error { _, err := m.Factors().Confirm(w, r, "000000"); return err },
		"Remove":         func(http.ResponseWriter) error { return m.Factors().Remove(r, "000000") },
		"SendReset":      func(http.ResponseWriter) error { return m.Mail().SendReset(r, "ann", nil, nil) },
		"ResetPassword":  func(http.ResponseWriter) error { return m.Mail().ResetPassword(r, "", "next", nil) },
		"AddressTicket":  func(http.ResponseWriter) error { _, err := m.Mail().AddressTicket(r, "ann", "a@b"); return err },
		"VerifyAddress":  func(http.ResponseWriter) error { _, _, err := m.Mail().VerifyAddress(r, ""); return err },
		"RegenerateRecovery": func(http.ResponseWriter) error {
			_, err := m.Factors().RenewRecovery(r, "000000")
			return err
		},
	} {
		w := httptest.NewRecorder()
		if err := verb(w); err == nil || len(w.Header()) > 0 {
			t.Errorf("%s: %v, header %v", name, err, w.Header())
		}
	}
}

// Verbs that need a session refuse other callers, even if the route admits them. They also
// refuse a request whose cookie was removed on the way.
func TestVerbsWithoutASession(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	for path, verb := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/remove-open": func(_ http.ResponseWriter, r *http.Request) error { return w.manager.Factors().Remove(r, "000000") },
		"/recovery-open": func(_ http.ResponseWriter, r *http.Request) error {
			_, err := w.manager.Factors().RenewRecovery(r, "000000")
			return err
		},
		"/again-open": func(rw http.ResponseWriter, r *http.Request) error {
			_, err := w.manager.Reauthenticate(rw, r, "ann", annPassword)
			return err
		},
	} {
		w.mux.HandleFunc("POST "+path, auth.Optional, func(rw http.ResponseWriter, r *http.Request) {
			r.Header.Del("Cookie")
			auth.Fail(rw, r, verb(rw, r))
		})
		want(t, w.browser().post(path), 403, auth.DetailForbidden)
	}
	before := b.cookie(cookieName)
	want(t, b.post("/again-open"), 403, auth.DetailForbidden)
	if b.cookie(cookieName) != before {
		t.Error("the token was replaced")
	}
}

// A refusal for a scope has no challenge of sessions, because a session has no scope.
func TestAHandlersRefusalHasNoChallenge(t *testing.T) {
	w := newWorld(t)
	b := w.ann()
	w.mux.HandleFunc("GET /narrow", auth.Authenticated, func(rw http.ResponseWriter, r *http.Request) {
		auth.Fail(rw, r, &auth.Error{Detail: auth.DetailScope})
	})
	if got := b.get("/narrow"); got.status != 403 || got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("got %d with the challenge %q", got.status, got.header.Get("WWW-Authenticate"))
	}
}
