package passkeys_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/descope/virtualwebauthn"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/examples/guides/passkeys"
)

const password = "correct horse"

// world is a server with the orgs acme and globex. ann and bob are accounts of both.
type world struct {
	t     *testing.T
	url   string
	rp    virtualwebauthn.RelyingParty
	table *passkeys.Table
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, table: new(passkeys.Table)}
	encoded, err := session.PBKDF2{Iterations: 1000}.Hash(password)
	if err != nil {
		t.Fatal(err)
	}
	for _, org := range []string{"acme", "globex"} {
		w.table.PutOrg(auth.Org{Code: org})
		w.table.Add(auth.OrgKey(org), "ann", "ann@example.com", encoded)
		w.table.Add(auth.OrgKey(org), "bob", "bob@example.com", encoded)
	}
	server := httptest.NewUnstartedServer(nil)
	_, port, _ := strings.Cut(server.Listener.Addr().String(), ":")
	w.url = "http://localhost:" + port // browsers have passkeys there without TLS
	s, err := passkeys.New(w.url, w.table, new(session.Memory))
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = page(s)
	server.Start()
	t.Cleanup(server.Close)
	w.rp = virtualwebauthn.RelyingParty{ID: "localhost", Name: "Example", Origin: w.url}
	return w
}

// page serves the script beside the routes.
func page(routes http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", routes)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("<!doctype html><title>passkeys</title>"))
	})
	mux.HandleFunc("GET /passkeys.mjs", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(passkeys.Script)
	})
	return mux
}

// requires sets the policy of acme.
func (w *world) requires(p auth.SessionPolicy) { w.table.PutOrg(auth.Org{Code: "acme", Session: p}) }

// person is somebody with a browser.
type person struct {
	*world
	http.Client
}

func (w *world) person() *person {
	jar, _ := cookiejar.New(nil) // never fails
	return &person{w, http.Client{Jar: jar}}
}

// signedIn returns a person who has signed in at acme with the password.
func (w *world) signedIn(account string) *person {
	w.t.Helper()
	p := w.person()
	if status := p.login(account); status != 200 {
		w.t.Fatal(status)
	}
	return p
}

func (p *person) login(account string) int {
	p.t.Helper()
	status, _ := p.posts("/acme/v2/login", url.Values{"login": {account}, "password": {password}}.Encode())
	return status
}

// posts sends a body, and returns the status and the data of the response.
func (p *person) posts(path, body string) (int, string) {
	p.t.Helper()
	media := "application/x-www-form-urlencoded"
	if strings.HasPrefix(body, "{") {
		media = "application/json"
	}
	response, err := p.Post(p.url+path, media, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	var result struct{ Data json.RawMessage }
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(result.Data)
}

// isIn returns who is signed in at acme.
func (p *person) isIn() bool {
	p.t.Helper()
	response, err := p.Get(p.url + "/acme/v2/me")
	if err != nil {
		p.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode == 200
}

// device is an authenticator with one passkey.
type device struct {
	virtualwebauthn.Authenticator
	virtualwebauthn.Credential
}

// newDevice returns an authenticator with a key pair. Its library leaves out leading zeros of a
// coordinate, which no real authenticator does, so the key has none.
func newDevice() *device {
	for {
		c := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		key, _ := x509.ParsePKCS8PrivateKey(c.Key.Data)
		private, _ := key.(*ecdsa.PrivateKey)
		if point, err := private.PublicKey.Bytes(); err == nil && point[1] != 0 && point[33] != 0 {
			return &device{virtualwebauthn.NewAuthenticator(), c}
		}
	}
}

// adds makes a passkey of the account that has signed in.
func (p *person) adds() *device {
	p.t.Helper()
	d := newDevice()
	status, options := p.posts("/acme/v2/passkeys/begin", "")
	if status != 200 {
		p.t.Fatal(status)
	}
	status, _ = p.posts("/acme/v2/passkeys", d.created(p.t, p.rp, options))
	if status != 200 {
		p.t.Fatal(status)
	}
	return d
}

func (d *device) created(t *testing.T, rp virtualwebauthn.RelyingParty, options string) string {
	t.Helper()
	parsed, err := virtualwebauthn.ParseAttestationOptions(options)
	if err != nil {
		t.Fatal(err)
	}
	var user struct {
		PublicKey struct {
			User struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(options), &user); err != nil {
		t.Fatal(err)
	}
	d.Options.UserHandle = []byte(parsed.UserID)
	return virtualwebauthn.CreateAttestationResponse(rp, d.Authenticator, d.Credential, *parsed)
}

// signs returns the response to the options that the server gives this person at the org.
func (p *person) signs(d *device, org string) string {
	p.t.Helper()
	status, options := p.posts("/"+org+"/v2/signin/begin", "")
	if status != 200 {
		p.t.Fatal(status)
	}
	parsed, err := virtualwebauthn.ParseAssertionOptions(options)
	if err != nil {
		p.t.Fatal(err)
	}
	d.Counter++
	return virtualwebauthn.CreateAssertionResponse(p.rp, d.Authenticator, d.Credential, *parsed)
}

// signsIn returns the status of a login with the passkey alone.
func (p *person) signsIn(d *device) int {
	p.t.Helper()
	status, _ := p.posts("/acme/v2/signin", p.signs(d, "acme"))
	return status
}

func TestPasskeyAsTheOnlyFactor(t *testing.T) {
	w := newWorld(t)
	d := w.signedIn("ann").adds()
	// Nobody signs in at acme in another way, and one factor is not enough.
	w.requires(auth.SessionPolicy{Methods: []string{session.MethodPasskey}, SecondFactor: true})
	p := w.person()
	if status := p.login("ann"); status != 403 {
		t.Errorf("with a password: %d", status)
	}
	if status := p.signsIn(d); status != 200 || !p.isIn() {
		t.Errorf("with the passkey: %d", status)
	}
	// The passkey was made with user verification. This time the device does not state it.
	d.Options.UserNotVerified = true
	p = w.person()
	if status := p.signsIn(d); status != 403 || p.isIn() {
		t.Errorf("with a passkey that anybody may hold: %d", status)
	}
}

func TestPasskeyAsTheSecondFactor(t *testing.T) {
	w := newWorld(t)
	d := w.signedIn("ann").adds()
	d.Options.UserNotVerified = true
	w.requires(auth.SessionPolicy{SecondFactor: true})
	p := w.person()
	if status := p.login("ann"); status != 403 || p.isIn() {
		t.Fatalf("the password alone: %d", status)
	}
	if status := p.signsIn(d); status != 200 || !p.isIn() {
		t.Errorf("the password and the passkey: %d", status)
	}
	other := w.person()
	if status := other.login("bob"); status != 403 {
		t.Fatal(status)
	}
	if status := other.signsIn(d); status != 403 || other.isIn() {
		t.Errorf("bob's password and ann's passkey: %d", status)
	}
}

func TestWhatSignsNobodyIn(t *testing.T) {
	w := newWorld(t)
	ann := w.signedIn("ann")
	d := ann.adds()
	bob := w.signedIn("bob").adds()
	tests := []struct {
		name string
		body func(p *person) string
	}{
		{"a response that was used", func(p *person) string {
			body := p.signs(d, "acme")
			w.person().posts("/acme/v2/signin", body)
			return body
		}},
		{"a challenge of another org", func(p *person) string { return p.signs(d, "globex") }},
		{"a challenge that nobody has given", func(p *person) string {
			options := virtualwebauthn.AssertionOptions{Challenge: []byte("0123456789abcdef0123456789abcdef"), RelyingPartyID: "localhost"}
			return virtualwebauthn.CreateAssertionResponse(p.rp, d.Authenticator, d.Credential, options)
		}},
		{"a challenge for a new passkey", func(p *person) string {
			_, options := ann.posts("/acme/v2/passkeys/begin", "")
			parsed, _ := virtualwebauthn.ParseAssertionOptions(options)
			return virtualwebauthn.CreateAssertionResponse(p.rp, d.Authenticator, d.Credential, *parsed)
		}},
		{"a page of another host", func(p *person) string {
			phished := *w
			phished.rp.Origin = "https://evil.example"
			return (&person{&phished, p.Client}).signs(d, "acme")
		}},
		{"a passkey of another host", func(p *person) string {
			phished := *w
			phished.rp.ID = "evil.example"
			return (&person{&phished, p.Client}).signs(d, "acme")
		}},
		{"another one's passkey under ann's handle", func(p *person) string {
			stolen := *bob
			stolen.Options.UserHandle = d.Options.UserHandle
			return p.signs(&stolen, "acme")
		}},
		{"a passkey under a handle that nobody has", func(p *person) string {
			stolen := *bob
			stolen.Options.UserHandle = []byte("nobody")
			return p.signs(&stolen, "acme")
		}},
		{"nobody has touched it", func(p *person) string {
			untouched := *d
			untouched.Options.UserNotPresent = true
			return p.signs(&untouched, "acme")
		}},
		{"a clone, whose counter is behind", func(p *person) string {
			clone := *d
			p.signsIn(d)
			p.signsIn(d)
			return p.signs(&clone, "acme")
		}},
		{"no JSON of a passkey", func(*person) string { return "{}" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := tt.body(w.person())
			p := w.person()
			if status, _ := p.posts("/acme/v2/signin", body); status != 401 || p.isIn() {
				t.Errorf("%d; signed in: %t", status, p.isIn())
			}
		})
	}
	t.Run("a passkey of another org", func(t *testing.T) {
		p := w.person()
		if status, _ := p.posts("/globex/v2/signin", p.signs(d, "globex")); status != 401 {
			t.Errorf("%d", status)
		}
	})
	t.Run("an account that is disabled", func(t *testing.T) {
		w.table.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
		if status := w.person().signsIn(d); status != 401 {
			t.Errorf("%d", status)
		}
	})
	t.Run("a body without end", func(t *testing.T) {
		if status, _ := w.person().posts("/acme/v2/signin", `{"id":"`+strings.Repeat("a", 70<<10)+`"}`); status != 413 && status != 400 {
			t.Errorf("%d", status)
		}
	})
}

func TestWhoAddsAPasskey(t *testing.T) {
	w := newWorld(t)
	if status, _ := w.person().posts("/acme/v2/passkeys/begin", ""); status != 401 {
		t.Errorf("without a session: %d", status)
	}
	// bob answers what ann has begun.
	_, options := w.signedIn("ann").posts("/acme/v2/passkeys/begin", "")
	d := newDevice()
	body := d.created(t, w.rp, options)
	if status, _ := w.signedIn("bob").posts("/acme/v2/passkeys", body); status != 400 && status != 401 {
		t.Errorf("another account: %d", status)
	}
	if status, _ := w.signedIn("ann").posts("/acme/v2/passkeys", body); status != 400 && status != 401 {
		t.Errorf("a second time: %d", status)
	}
}

// Whoever begins many times at one org does not stop the others.
func TestCeremoniesAreBounded(t *testing.T) {
	w := newWorld(t)
	p := w.person()
	for range 1000 {
		p.posts("/acme/v2/signin/begin", "")
	}
	if status, _ := p.posts("/acme/v2/signin/begin", ""); status != 429 {
		t.Errorf("the next one: %d", status)
	}
	if status, _ := p.posts("/globex/v2/signin/begin", ""); status != 200 {
		t.Errorf("another org: %d", status)
	}
}
