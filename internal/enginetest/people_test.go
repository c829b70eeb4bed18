package enginetest

import (
	"context"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
)

// personsPasswords are those of one person in two orgs.
type personsPasswords map[string]string

func (p personsPasswords) Password(_ context.Context, org auth.OrgKey, login string) (account, encoded string, err error) {
	if encoded = p[string(org)+"/"+login]; encoded == "" {
		return "", "", auth.ErrNotFound
	}
	return login, encoded, nil
}

// TestPeople has a person with accounts in two orgs on each store: a second factor and guesses that are the
// person's, a remembered device, a walk to the other org, and the end of everything.
func TestPeople(t *testing.T) {
	t.Parallel()
	stores := map[string]func(t *testing.T) shared{
		"memory": func(*testing.T) shared { return sharedInMemory() },
		"Redis":  sharedInRedis,
	}
	for _, h := range homes(t) {
		stores[h.name] = func(t *testing.T) shared { return sharedInSQL(t, h) }
	}
	for name, open := range stores {
		t.Run(name, func(t *testing.T) { peopleOn(t, open(t)) })
	}
}

func peopleOn(t *testing.T, on shared) {
	directory, secret := new(auth.Memory), session.FactorSecret("a secret of 20 bytes")
	m := &session.Manager{Store: on.sessions, Attempts: on.attempts, FactorStore: on.factors, Hasher: session.PBKDF2{Iterations: 1},
		DeviceKey: session.NewDeviceKey([]byte("a device key of at least 32 bytes")), PasswordStore: personsPasswords{}}
	for _, org := range []string{"acme", "globex"} {
		encoded := must(session.PBKDF2{Iterations: 1}.Hash(password))(t)
		m.PasswordStore.(personsPasswords)[org+"/ann"] = encoded
		directory.PutOrg(auth.Org{Code: org, Session: auth.SessionPolicy{EnterWith: []string{session.MethodPassword, session.MethodCode}}})
		directory.PutAccount(auth.Account{ID: "ann", Org: auth.OrgKey(org), Person: "p1"})
	}
	expect(t, "Save", on.factors.Save(t.Context(), auth.PersonKey, "p1", session.Factor{Secret: secret}), nil)
	guard := &auth.Guard{BaseURL: "http://localhost:8080", Directory: directory, Roles: auth.RolesDoNotLimit, Mechanisms: []auth.Mechanism{m}, Timeout: patience}
	mux := guard.Mux()
	route := func(path string, n auth.Need, do func(w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc("POST "+path, n, func(w http.ResponseWriter, r *http.Request) {
			if err := do(w, r); err != nil {
				auth.Fail(w, r, err)
			}
		})
	}
	route("/login", auth.Public, func(w http.ResponseWriter, r *http.Request) error {
		f := session.LoginForm{Login: "ann", Password: r.PostFormValue("password"), Code: r.PostFormValue("code"), RememberDevice: true}
		_, err := m.Login(w, r, f)
		return err
	})
	route("/enter", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) error {
		_, err := m.Enter(w, r, "globex")
		return err
	})
	route("/me", auth.Authenticated, func(http.ResponseWriter, *http.Request) error { return nil })
	route("/everywhere", auth.Authenticated, func(_ http.ResponseWriter, r *http.Request) error {
		_, err := m.Sessions().RevokeAll(r.Context(), auth.PersonKey, "p1", "")
		return err
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	browser := func() *http.Client { jar, _ := cookiejar.New(nil); return &http.Client{Jar: jar} }
	post := func(by *http.Client, path string, fields url.Values) (status int) {
		t.Helper()
		got, err := by.PostForm(server.URL+path, fields)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		return got.StatusCode
	}
	send := func(by *http.Client, want int, path string, fields url.Values) {
		t.Helper()
		if status := post(by, path, fields); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	right := url.Values{"password": {password}}
	withCode := url.Values{"password": {password}, "code": {authtest.TOTP(secret, time.Now())}}
	ann := browser()
	send(ann, 403, "/acme/v2/login", right)
	send(ann, 200, "/acme/v2/login", withCode)
	send(ann, 200, "/acme/v2/enter", nil)   // by the code of now
	send(ann, 200, "/acme/v2/login", right) // by the remembered device
	send(ann, 200, "/globex/v2/me", nil)
	send(browser(), 403, "/globex/v2/login", right) // the factor is the person's
	send(ann, 200, "/acme/v2/everywhere", nil)
	send(ann, 401, "/globex/v2/me", nil)
	send(ann, 403, "/acme/v2/login", right) // the device, too
	wrong := url.Values{"password": {"wrong"}}
	for n := range 5 {
		send(browser(), 401, []string{"/acme", "/globex"}[n%2]+"/v2/login", wrong)
	}
	// The delay is counted for the person. It doubles: on a busy machine the first may be over.
	delayed := false
	for range 8 {
		delayed = delayed || post(browser(), "/globex/v2/login", wrong) == 429
	}
	if !delayed {
		t.Error("a wrong password in both orgs has no delay")
	}
}
