package secondfactor_test

import (
	"context"
	"encoding/base32"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/examples/guides/secondfactor"
)

// people are ann, a member, and root, an administrator. Their ids are what stands before the @.
type people struct {
	*auth.Memory
	encoded string
}

func (p people) Password(_ context.Context, _ auth.OrgKey, login string) (string, string, error) {
	switch login {
	case "ann@example.com":
		return "ann", p.encoded, nil
	case "root@example.com":
		return "root", p.encoded, nil
	}
	return "", "", auth.ErrNotFound
}

func (people) Email(_ context.Context, _ auth.OrgKey, account string) (string, error) {
	return account + "@example.com", nil
}

// failing are factors of a store that does not answer when it should fail.
type failing struct {
	session.FactorStore
	fails *atomic.Bool
}

func (f failing) Factor(ctx context.Context, org auth.OrgKey, account string) (session.Factor, error) {
	if f.fails.Load() {
		return session.Factor{}, errors.New("no answer")
	}
	return f.FactorStore.Factor(ctx, org, account)
}

type browser struct {
	http.Client
	url string
}

func newServer(t *testing.T, policy auth.SessionPolicy) (newBrowser func() *browser, fails *atomic.Bool) {
	encoded, err := session.PBKDF2{Iterations: 1000}.Hash("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	p := people{new(auth.Memory), encoded}
	p.PutOrg(auth.Org{Code: "acme", Session: policy})
	p.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	p.PutAccount(auth.Account{ID: "root", Org: "acme", Roles: []string{"administrator"}})
	p.PutRole("acme", auth.Role{Name: "administrator", Scope: []string{"*"}})
	memory := new(session.Memory)
	fails = new(atomic.Bool)
	s := secondfactor.New(p, memory, failing{memory.Factors(), fails})
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	authtest.CheckRoutes(t, s, "/acme/v2", s.Routes())
	return func() *browser {
		jar, _ := cookiejar.New(nil) // never fails
		return &browser{http.Client{Jar: jar, Transport: server.Client().Transport}, server.URL + "/acme/v2"}
	}, fails
}

// sends returns the data of a reply, or the reason of a fault.
func (b *browser) sends(t *testing.T, want int, path string, pairs ...string) any {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	send := func() (*http.Response, error) { return b.PostForm(b.url+path, form) }
	if path == "/settings" {
		send = func() (*http.Response, error) { return b.Get(b.url + path) }
	}
	reply, err := send()
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	var body struct {
		Data    any
		ErrCode string
		Reason  any
	}
	if err := json.NewDecoder(reply.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	if reply.StatusCode != want {
		t.Fatalf("%s: %d %s %v, want %d", path, reply.StatusCode, body.ErrCode, body.Reason, want)
	}
	if want != 200 {
		return body.Reason
	}
	return body.Data
}

func (b *browser) signsIn(t *testing.T, want int, who string) any {
	t.Helper()
	return b.sends(t, want, "/login", "email", who+"@example.com", "password", "correct horse")
}

// enrols returns a function that returns the code in so many steps of 30 seconds, and the recovery codes.
func (b *browser) enrols(t *testing.T, who string) (code func(ahead time.Duration) string, recovery []any) {
	t.Helper()
	uri, err := url.Parse(b.sends(t, 200, "/factor").(string))
	if err != nil || uri.Path != "/Example:"+who+"@example.com" {
		t.Fatalf("%v %v", uri, err)
	}
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(uri.Query().Get("secret"))
	if err != nil {
		t.Fatal(err)
	}
	code = func(ahead time.Duration) string {
		return authtest.TOTP(session.FactorSecret(secret), time.Now().Add(ahead*30*time.Second))
	}
	return code, b.sends(t, 200, "/factor/confirm", "code", code(0)).([]any)
}

func TestTwoSteps(t *testing.T) {
	newBrowser, _ := newServer(t, auth.SessionPolicy{})
	b := newBrowser()
	b.signsIn(t, 200, "ann")
	code, recovery := b.enrols(t, "ann")

	b = newBrowser()
	if reason := b.signsIn(t, 403, "ann"); reason != "code" {
		t.Errorf("reason %v", reason)
	}
	b.sends(t, 401, "/login/code", "code", "000000")
	b.sends(t, 200, "/login/code", "code", code(1))
	newBrowser().sends(t, 401, "/login/code", "code", code(1)) // a code without the first step
	b = newBrowser()
	b.signsIn(t, 403, "ann")
	b.sends(t, 200, "/login/code", "code", recovery[0].(string))
	b.sends(t, 200, "/factor/remove", "code", recovery[1].(string))
	newBrowser().signsIn(t, 200, "ann")
}

func TestAnOrgThatRequiresIt(t *testing.T) {
	newBrowser, _ := newServer(t, auth.SessionPolicy{SecondFactor: true})
	b := newBrowser()
	if reason := b.signsIn(t, 403, "ann"); reason != "enrol" {
		t.Errorf("reason %v", reason)
	}
	b.enrols(t, "ann")
	if reason := newBrowser().signsIn(t, 403, "ann"); reason != "code" {
		t.Errorf("reason %v", reason)
	}
	newBrowser().sends(t, 401, "/factor")
}

func TestAdministratorsNeedOne(t *testing.T) {
	newBrowser, fails := newServer(t, auth.SessionPolicy{})
	b := newBrowser()
	b.signsIn(t, 200, "root")
	b.sends(t, 403, "/settings")
	_, recovery := b.enrols(t, "root")
	b.sends(t, 200, "/settings") // at once
	b.sends(t, 200, "/factor/remove", "code", recovery[0].(string))
	b.sends(t, 403, "/settings")
	b.enrols(t, "root")
	fails.Store(true)
	b.sends(t, 503, "/settings") // a Directory that does not know says so
}
