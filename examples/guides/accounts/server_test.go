package accounts_test

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

	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/examples/guides/accounts"
	"github.com/tenantkit/tenantkit/token"
)

const (
	ann, root = "ann@example.com", "root@example.com"
	password  = "correct horse"
)

// world is a server with the account ann and the administrator root.
type world struct {
	t      *testing.T
	url    string
	memory session.Memory
	server *accounts.Server
	mails  chan [2]string // address and text
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, mails: make(chan [2]string, 8)}
	var keys token.MemoryKeys
	if _, err := keys.Generate(t.Context(), accounts.Org.Key(), accounts.App); err != nil {
		t.Fatal(err)
	}
	encoded, err := session.PBKDF2{}.Hash(password)
	if err != nil {
		t.Fatal(err)
	}
	var table accounts.Table
	table.Add("a1", ann, encoded)
	table.Add("a2", root, encoded, "administrator")
	w.server = accounts.New(&table, &w.memory, &keys, func(_ context.Context, address, text string) error {
		w.mails <- [2]string{address, text}
		return nil
	})
	server := httptest.NewServer(w.server)
	t.Cleanup(server.Close)
	w.url = server.URL + "/api"
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

// signedIn returns a person who has signed in with the first password.
func (w *world) signedIn(email string) *person {
	w.t.Helper()
	p := w.person()
	p.posts(200, "/login", "email", email, "password", password)
	return p
}

// posts sends a form, and returns the data of the reply. The status must be want.
func (p *person) posts(want int, path string, pairs ...string) any {
	p.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	reply, err := p.PostForm(p.url+path, form)
	return p.answer(want, path, reply, err)
}

func (p *person) gets(want int, path string) any {
	p.t.Helper()
	reply, err := p.Get(p.url + path)
	return p.answer(want, path, reply, err)
}

func (p *person) answer(want int, path string, reply *http.Response, err error) any {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	defer reply.Body.Close()
	var body struct {
		Data    any
		ErrCode string
	}
	if err := json.NewDecoder(reply.Body).Decode(&body); err != nil {
		p.t.Fatal(err)
	}
	if reply.StatusCode != want {
		p.t.Fatalf("%s: %d %s, want %d", path, reply.StatusCode, body.ErrCode, want)
	}
	return body.Data
}

// mailed returns the ticket in the next mail, which must be to this address.
func (w *world) mailed(address string) string {
	w.t.Helper()
	mail := <-w.mails
	_, ticket, ok := strings.Cut(mail[1], "#")
	if mail[0] != address || !ok {
		w.t.Fatalf("a mail to %s: %s", mail[0], mail[1])
	}
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

// enrol gives the person a second factor, and returns its URI and the recovery codes.
func (p *person) enrol() (uri string, recovery []any) {
	p.t.Helper()
	uri = p.posts(200, "/factor").(string)
	return uri, p.posts(200, "/factor/confirm", "code", code(p.t, uri, 0)).([]any)
}

func TestOneTenant(t *testing.T) {
	w := newWorld(t)
	w.signedIn(ann).gets(200, "/me")
	for _, path := range []string{"/main/v2/me", "/apis/me", "/api"} {
		r := httptest.NewRequest("GET", path, nil)
		reply := httptest.NewRecorder()
		w.server.ServeHTTP(reply, r)
		if reply.Code != 404 {
			t.Errorf("%s: %d", path, reply.Code)
		}
	}
	authtest.CheckRoutes(t, w.server, "/api", w.server.Routes())
}

func TestPasswords(t *testing.T) {
	w := newWorld(t)
	p, other := w.signedIn(ann), w.signedIn(ann)
	p.posts(401, "/password", "password", "wrong", "new", "battery staple")
	p.posts(200, "/password", "password", password, "new", "battery staple")
	p.gets(200, "/me")
	other.gets(401, "/me")

	time.Sleep(2 * time.Millisecond) // a ticket of the same millisecond is older than the change
	stranger := w.person()
	unknown := stranger.posts(200, "/password/forgotten", "email", "nobody@example.com")
	if known := stranger.posts(200, "/password/forgotten", "email", ann); known != unknown {
		t.Errorf("a known address answers %q, an unknown one %q", known, unknown)
	}
	ticket := w.mailed(ann)
	stranger.posts(200, "/password/reset", "ticket", ticket, "new", "third password")
	stranger.posts(401, "/password/reset", "ticket", ticket, "new", "fourth password")
	p.gets(401, "/me")
	time.Sleep(2 * time.Millisecond) // the time of the change is rounded up
	w.person().posts(200, "/login", "email", ann, "password", "third password")
}

func TestResetKeepsTheSecondFactor(t *testing.T) {
	w := newWorld(t)
	_, recovery := w.signedIn(ann).enrol()
	p := w.person()
	p.posts(200, "/password/forgotten", "email", ann)
	p.posts(200, "/password/reset", "ticket", w.mailed(ann), "new", "third password")
	time.Sleep(2 * time.Millisecond)
	p.posts(403, "/login", "email", ann, "password", "third password")
	p.posts(200, "/login", "email", ann, "password", "third password", "code", recovery[0].(string))
}

func TestMailAddress(t *testing.T) {
	w := newWorld(t)
	p := w.signedIn(ann)
	p.posts(200, "/email", "email", "ann@example.org")
	ticket := w.mailed("ann@example.org")
	if notice := <-w.mails; notice[0] != ann {
		t.Errorf("a notice to %s", notice[0])
	}
	stranger := w.person() // reads the mails, if the address was mistyped
	stranger.posts(401, "/email/verify", "ticket", ticket)
	other := w.signedIn(ann) // still the address
	stranger.posts(200, "/password/forgotten", "email", ann)
	reset := w.mailed(ann) // to an address that somebody else may read, too
	w.signedIn(root).posts(401, "/email/verify", "ticket", ticket)
	p.posts(200, "/email/verify", "ticket", ticket)
	stranger.posts(401, "/password/reset", "ticket", reset, "new", "fourth password")
	other.gets(401, "/me")
	p.posts(401, "/email/verify", "ticket", ticket)
	w.signedIn(" Ann@example.org")
	w.person().posts(401, "/login", "email", ann, "password", password)

	p.posts(200, "/email", "email", root)
	p.posts(409, "/email/verify", "ticket", w.mailed(root))
}

func TestSecondFactor(t *testing.T) {
	w := newWorld(t)
	p := w.signedIn(ann)
	uri, former := p.enrol()
	codes := p.posts(200, "/factor/recovery", "code", code(t, uri, 1)).([]any)
	w.person().posts(401, "/login", "email", ann, "password", password, "code", former[0].(string))
	w.person().posts(200, "/login", "email", ann, "password", password, "code", codes[0].(string))
	if state := p.gets(200, "/factor").(map[string]any); state["Active"] != true || state["RecoveryLeft"] != 9.0 {
		t.Errorf("state %v", state)
	}

	p.posts(403, "/accounts/a1/factor/reset")
	administrator := w.signedIn(root)
	administrator.posts(404, "/accounts/nobody/factor/reset")
	administrator.posts(200, "/accounts/a1/factor/reset")
	p.gets(401, "/me")
	w.signedIn(ann)
}

func TestToken(t *testing.T) {
	w := newWorld(t)
	p := w.signedIn(ann)
	minted := p.posts(200, "/tokens", "scope", "object.read.c_note").(string)
	program := w.person()
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+minted)
	reply, err := program.Do(r)
	if got := program.answer(200, "/me", reply, err); got != "a1" {
		t.Errorf("the token is of %v", got)
	}
	for _, path := range []string{"/tokens", "/password", "/email", "/account/delete"} {
		r.Method, r.URL.Path = "POST", "/api"+path
		reply, err := program.Do(r)
		program.answer(403, path, reply, err)
	}
}

func TestDelete(t *testing.T) {
	w := newWorld(t)
	p := w.signedIn(ann)
	minted := p.posts(200, "/tokens").(string)
	p.enrol()
	w.person().posts(200, "/password/forgotten", "email", ann)
	ticket := w.mailed(ann)
	p.posts(200, "/account/delete")
	p.gets(401, "/me")
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+minted)
	reply, err := w.person().Do(r)
	w.person().answer(401, "/me", reply, err)
	w.person().posts(401, "/login", "email", ann, "password", password)
	w.person().posts(401, "/password/reset", "ticket", ticket, "new", "fourth password")
	if records, err := w.memory.Sessions().List(t.Context(), accounts.Org.Key(), "a1"); len(records) > 0 || err != nil {
		t.Errorf("%d records are left, %v", len(records), err)
	}
}
