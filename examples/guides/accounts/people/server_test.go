package main

import (
	"context"
	"encoding/base32"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
)

// world is the program of the guide, with its demo data.
type world struct {
	t     *testing.T
	url   string
	table *Table
	mails []string // address and text
}

func newWorld(t *testing.T) *world {
	fast := session.PBKDF2{Iterations: 1000}
	w := &world{t: t, table: demo(fast)}
	server := httptest.NewUnstartedServer(nil)
	w.url = "http://" + server.Listener.Addr().String()
	s := New(w.url, w.table, session.NewDeviceKey(make([]byte, 32)), func(_ context.Context, address, text string) error {
		w.mails = append(w.mails, address, text)
		return nil
	})
	s.sessions.Hasher = fast
	server.Config.Handler = s
	server.Start()
	t.Cleanup(server.Close)
	return w
}

// person is somebody with a browser.
type person struct {
	*world
	http.Client
}

func (w *world) person() *person {
	jar, _ := cookiejar.New(nil) // never fails
	return &person{w, http.Client{Jar: jar}}
}

// signedIn returns a person who has signed in with the password of the demo.
func (w *world) signedIn(org, name string) *person {
	w.t.Helper()
	p := w.person()
	p.posts(200, "/"+org+"/v2/login", "login", name+"@example.com", "password", demoPassword)
	return p
}

// posts sends a form, and returns the data of the response, whose status must be want.
func (p *person) posts(want int, path string, pairs ...string) any {
	p.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	return p.sends(want, "POST", path, form.Encode())
}

func (p *person) gets(want int, path string) any {
	p.t.Helper()
	return p.sends(want, "GET", path, "")
}

func (p *person) sends(want int, method, path, body string) any {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := p.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var result struct {
		Data    any
		ErrCode string
	}
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		p.t.Fatal(err)
	}
	if response.StatusCode != want {
		p.t.Fatalf("%s %s: %d %s, want %d", method, path, response.StatusCode, result.ErrCode, want)
	}
	return result.Data
}

// is compares who is signed in at an org.
func (p *person) is(org, account, actor string) {
	p.t.Helper()
	want := map[string]any{"org": org, "account": account, "actor": actor}
	if diff := cmp.Diff(want, p.gets(200, "/"+org+"/v2/me")); diff != "" {
		p.t.Error(diff)
	}
}

// mailed returns the ticket of the latest mail, which must be to this address.
func (w *world) mailed(address string) string {
	w.t.Helper()
	n := len(w.mails)
	if n == 0 || w.mails[n-2] != address {
		w.t.Fatalf("mails: %v", w.mails)
	}
	_, ticket, _ := strings.Cut(w.mails[n-1], "#")
	return ticket
}

// code returns what an authenticator shows in ahead steps of 30 seconds.
func code(t *testing.T, uri string, ahead time.Duration) string {
	t.Helper()
	parsed, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(parsed.Query().Get("secret"))
	if err != nil {
		t.Fatal(err)
	}
	return authtest.TOTP(session.FactorSecret(secret), time.Now().Add(ahead*30*time.Second))
}

func TestSeveralOrgs(t *testing.T) {
	w := newWorld(t)
	ann := w.signedIn("acme", "ann")
	if diff := cmp.Diff([]any{"acme", "globex"}, ann.gets(200, "/acme/v2/orgs")); diff != "" {
		t.Error(diff)
	}
	ann.gets(401, "/globex/v2/me")
	ann.posts(200, "/acme/v2/enter", "org", "globex")
	ann.is("globex", "7", "")
	ann.is("acme", "ann", "")                         // two tabs, in two orgs
	ann.posts(200, "/globex/v2/enter", "org", "acme") // its session there stays open
	seven := w.signedIn("globex", "ann")
	seven.posts(403, "/globex/v2/enter", "org", "acme") // acme accepts nobody who comes from elsewhere
	ann.posts(404, "/acme/v2/enter", "org", "initech")

	bob := w.signedIn("acme", "bob")
	bob.posts(404, "/acme/v2/enter", "org", "globex")
	if diff := cmp.Diff([]any{}, bob.gets(200, "/acme/v2/orgs")); diff != "" {
		t.Error(diff)
	}
	bob.posts(200, "/acme/v2/logout/everywhere")
	ann.is("acme", "ann", "")

	elsewhere := w.signedIn("globex", "ann")
	ann.posts(200, "/acme/v2/logout")
	ann.gets(401, "/globex/v2/me") // globex says EndWithOrigin
	elsewhere.is("globex", "7", "")
	w.signedIn("acme", "ann").posts(200, "/acme/v2/logout/everywhere")
	elsewhere.gets(401, "/globex/v2/me")
}

func TestTheSecondFactorIsThePersons(t *testing.T) {
	w := newWorld(t)
	ann := w.signedIn("acme", "ann")
	uri := ann.posts(200, "/acme/v2/factor").(string)
	recovery := ann.posts(200, "/acme/v2/factor/confirm", "code", code(t, uri, 0)).([]any)
	w.person().posts(403, "/globex/v2/login", "login", "ann@example.com", "password", demoPassword)

	ann.posts(403, "/acme/v2/enter", "org", "globex") // EnterWith accepts the password, not the code
	ann.gets(401, "/globex/v2/me")
	ann.posts(200, "/globex/v2/login/code", "code", recovery[0].(string))
	ann.is("globex", "7", "")
}

func TestDevices(t *testing.T) {
	w := newWorld(t)
	ann := w.signedIn("acme", "ann")
	uri := ann.posts(200, "/acme/v2/factor").(string)
	recovery := ann.posts(200, "/acme/v2/factor/confirm", "code", code(t, uri, 0)).([]any)
	login := func(want int, p *person) {
		t.Helper()
		p.posts(want, "/acme/v2/login", "login", "ann@example.com", "password", demoPassword)
	}
	login(403, ann)
	ann.posts(200, "/acme/v2/login/code", "code", recovery[0].(string))
	login(403, ann) // nobody has asked to remember it
	ann.posts(200, "/acme/v2/login/code", "code", recovery[1].(string), "remember", "yes")
	login(200, ann)
	login(403, w.person()) // another device

	devices := ann.gets(200, "/acme/v2/devices").([]any)
	if len(devices) != 1 {
		t.Fatalf("devices: %v", devices)
	}
	id := devices[0].(map[string]any)["ID"].(string)
	w.signedIn("acme", "bob").sends(404, "DELETE", "/acme/v2/devices/"+id, "")
	ann.sends(200, "DELETE", "/acme/v2/devices/"+id, "")
	login(403, ann)
}

func TestInvitations(t *testing.T) {
	w := newWorld(t)
	ann, eve := w.signedIn("acme", "ann"), w.person()
	w.signedIn("acme", "bob").posts(403, "/acme/v2/invitations", "address", "eve@example.com", "role", "member")
	ann.posts(200, "/acme/v2/invitations", "address", "eve@example.com", "role", "member")
	first := w.mailed("eve@example.com")
	ann.posts(200, "/acme/v2/invitations", "address", "eve@example.com", "role", "member") // sent again
	ticket := w.mailed("eve@example.com")

	open := ann.gets(200, "/acme/v2/invitations").([]any)
	if len(open) != 1 || strings.Contains(jsonOf(open), ticket) {
		t.Fatalf("invitations: %v", open)
	}
	id := open[0].(map[string]any)["ID"].(string)
	for _, wrong := range []string{"", first, id, "guess"} {
		eve.posts(401, "/acme/v2/join", "ticket", wrong, "password", "battery staple")
	}
	eve.posts(401, "/globex/v2/join", "ticket", ticket, "password", "battery staple")
	// What the request says about address and roles does not matter.
	eve.posts(200, "/acme/v2/join", "ticket", ticket, "password", "battery staple", "address", "ann@example.com", "role", "administrator")
	eve.posts(401, "/acme/v2/join", "ticket", ticket, "password", "battery staple")
	eve.posts(200, "/acme/v2/login", "login", "eve@example.com", "password", "battery staple")
	eve.gets(403, "/acme/v2/invitations")

	ann.posts(200, "/acme/v2/invitations", "address", "mallory@example.com", "role", "member")
	id = ann.gets(200, "/acme/v2/invitations").([]any)[0].(map[string]any)["ID"].(string)
	w.signedIn("globex", "root").sends(404, "DELETE", "/globex/v2/invitations/"+id, "")
	ann.sends(200, "DELETE", "/acme/v2/invitations/"+id, "")
	w.person().posts(401, "/acme/v2/join", "ticket", w.mailed("mallory@example.com"), "password", "battery staple")

	ann.posts(200, "/acme/v2/invitations", "address", "late@example.com", "role", "member")
	w.table.PutAccount(auth.Account{ID: "ann", Org: "acme", Person: "p1", Roles: []string{"member"}})
	w.person().posts(401, "/acme/v2/join", "ticket", w.mailed("late@example.com"), "password", "battery staple")
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v) // was JSON
	return string(text)
}

func TestActing(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.signedIn("acme", "ann"), w.signedIn("acme", "bob")
	bob.posts(403, "/acme/v2/act", "account", "ann", "reason", "curious")
	ann.posts(404, "/acme/v2/act", "account", "7", "reason", "of another org")
	ann.posts(400, "/acme/v2/act", "account", "bob")
	ann.posts(200, "/acme/v2/act", "account", "bob", "reason", "case 4711")
	ann.is("acme", "bob", "ann")
	ann.gets(403, "/acme/v2/invitations") // bob's roles, from now on
	ann.posts(403, "/acme/v2/factor")
	ann.posts(403, "/acme/v2/enter", "org", "globex")
	ann.posts(403, "/acme/v2/logout/everywhere")
	ann.posts(200, "/acme/v2/logout")
	ann.gets(401, "/acme/v2/me")
	bob.is("acme", "bob", "")
}
