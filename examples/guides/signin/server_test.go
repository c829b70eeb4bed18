package signin_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/examples/guides/signin"
)

// world is a server with three orgs, and two OpenID providers that run beside it: okta is acme's, and
// entra is globex's. initech accepts both, and may be entered. Hooli says nothing about issuers.
type world struct {
	t           *testing.T
	url         string
	table       *signin.Table
	okta, entra *mockoidc.MockOIDC
	transport   http.RoundTripper
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, table: new(signin.Table), okta: provider(t), entra: provider(t)}
	okta, entra := w.okta.Issuer(), w.entra.Issuer()
	enter := []string{session.MethodPassword}
	w.table.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Issuers: []string{okta}, ProofAge: 6 * time.Hour}})
	w.table.PutOrg(auth.Org{Code: "globex", Session: auth.SessionPolicy{Issuers: []string{entra}, EnterWith: enter}})
	w.table.PutOrg(auth.Org{Code: "initech", Session: auth.SessionPolicy{Issuers: []string{okta, entra}, EnterWith: enter}})
	w.table.PutOrg(auth.Org{Code: "hooli"})
	for _, org := range []auth.OrgKey{"acme", "globex", "initech", "hooli"} {
		w.table.PutAccount(auth.Account{ID: "ann-" + string(org), Org: org, Person: "ann"})
	}
	w.table.Bind(t.Context(), signin.Identity{Org: "acme", Issuer: okta, Subject: "s-ann"}, "ann-acme")

	server := httptest.NewUnstartedServer(nil)
	w.url = "https://" + server.Listener.Addr().String()
	server.Config.Handler = signin.New(w.url, w.table, new(session.Memory), map[string]*signin.Provider{
		"okta":  {Issuer: okta, ClientID: w.okta.ClientID, ClientSecret: w.okta.ClientSecret},
		"entra": {Issuer: entra, ClientID: w.entra.ClientID, ClientSecret: w.entra.ClientSecret},
	})
	server.StartTLS()
	t.Cleanup(server.Close)
	w.transport = server.Client().Transport
	return w
}

func provider(t *testing.T) *mockoidc.MockOIDC {
	t.Helper()
	p, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Shutdown() })
	return p
}

// user is who sits at the provider, and what it says about them.
type user struct {
	subject string
	says    map[string]any
}

func (u user) ID() string                        { return u.subject }
func (u user) Userinfo([]string) ([]byte, error) { return []byte("{}"), nil }

func (u user) Claims(_ []string, base *mockoidc.IDTokenClaims) (jwt.Claims, error) {
	text, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	all := jwt.MapClaims{"amr": []string{"pwd"}, "auth_time": time.Now().Unix()}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	maps.Copy(all, u.says)
	return all, nil
}

var ann = user{subject: "s-ann"}

// browser is somebody's.
type browser struct {
	*world
	http.Client
}

func (w *world) browser() *browser {
	jar, _ := cookiejar.New(nil) // never fails
	return &browser{w, http.Client{Jar: jar, Transport: w.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// begins posts the form, and returns where it is redirected to.
func (b *browser) begins(path string, pairs ...string) (status int, location string) {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	response, err := b.PostForm(b.url+path, form)
	return b.read(response, err)
}

func (b *browser) gets(url string) (status int, location string) {
	b.t.Helper()
	response, err := b.Get(url)
	return b.read(response, err)
}

func (b *browser) read(response *http.Response, err error) (int, string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode, response.Header.Get("Location")
}

// authorized begins at the org, and lets the user sign in at the provider. It returns the URL of the
// callback.
func (b *browser) authorized(org, name string, at *mockoidc.MockOIDC, u user, page ...string) string {
	b.t.Helper()
	status, location := b.begins("/"+org+"/v2/signin/"+name, append([]string{"page"}, slices.Concat(page, []string{""})[0])...)
	if status != 303 {
		b.t.Fatalf("begin: %d", status)
	}
	at.QueueUser(u)
	status, callback := b.gets(location)
	if status != 302 {
		b.t.Fatalf("%s: %d", location, status)
	}
	return callback
}

// isIn reports whether the browser has a session at the org.
func (b *browser) isIn(org string) bool {
	b.t.Helper()
	status, _ := b.gets(b.url + "/" + org + "/v2/me")
	return status == 200
}

func TestSignIn(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	status, location := b.gets(b.authorized("acme", "okta", w.okta, ann, "/notes?open=1"))
	if status != 303 || location != "/notes?open=1" || !b.isIn("acme") {
		t.Errorf("%d %s, signed in: %t", status, location, b.isIn("acme"))
	}
	for _, org := range []string{"globex", "initech", "hooli"} {
		if b.isIn(org) {
			t.Errorf("signed in at %s", org)
		}
	}
}

// What a provider or an attacker sends, and no session begins.
func TestWhatSignsNobodyIn(t *testing.T) {
	old := time.Now().Add(-7 * time.Hour).Unix()
	says := func(pairs ...any) user {
		all := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i].(string)] = pairs[i+1]
		}
		return user{ann.subject, all}
	}
	tests := []struct {
		name string
		user user
		want int
	}{
		{"a token for another client", says("aud", "another"), 401},
		{"a token for two clients", says("aud", []string{"ours", "another"}), 401},
		{"an old nonce", says("nonce", "of another sign-in"), 401},
		{"no nonce", says("nonce", nil), 401},
		{"another iss", says("iss", "https://evil.example"), 401},
		{"a token that has expired", says("exp", old), 401},
		{"no subject", says("sub", ""), 401},
		{"a proof that is older than the org accepts", says("auth_time", old), 403},
		{"somebody unknown", user{subject: "s-eve"}, 401},
		{"somebody unknown with ann's address", user{"s-eve", map[string]any{"email": "ann@example.com", "email_verified": true}}, 401},
		{"somebody unknown with ann's address, unverified", user{"s-eve", map[string]any{"email": "ann@example.com"}}, 401},
	}
	w := newWorld(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := w.browser()
			if aud, ok := tt.user.says["aud"].([]string); ok {
				aud[0] = w.okta.ClientID
			}
			status, _ := b.gets(b.authorized("acme", "okta", w.okta, tt.user))
			if status != tt.want || b.isIn("acme") {
				t.Errorf("%d, want %d; signed in: %t", status, tt.want, b.isIn("acme"))
			}
		})
	}
}

func TestTheBrowserCompletesWhatItBegan(t *testing.T) {
	w := newWorld(t)
	with := func(callback, key, value string) string {
		u, _ := url.Parse(callback)
		q := u.Query()
		q.Set(key, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	tests := []struct {
		name string
		url  func(b *browser, callback string) string
	}{
		{"the response to another browser", func(b *browser, _ string) string {
			return w.browser().authorized("acme", "okta", w.okta, user{subject: "s-ann"})
		}},
		{"another state", func(_ *browser, c string) string { return with(c, "state", "another") }},
		{"no state", func(_ *browser, c string) string { return with(c, "state", "") }},
		{"another code", func(b *browser, c string) string {
			u, _ := url.Parse(w.browser().authorized("acme", "okta", w.okta, ann)) // its verifier is the other browser's
			return with(c, "code", u.Query().Get("code"))
		}},
		{"no code", func(_ *browser, c string) string { return with(c, "code", "") }},
		{"an error", func(_ *browser, c string) string { return with(with(c, "code", ""), "error", "access_denied") }},
		{"the iss of another provider", func(_ *browser, c string) string { return with(c, "iss", w.entra.Issuer()) }},
		{"the callback of another org", func(_ *browser, c string) string { return strings.Replace(c, "/acme/", "/initech/", 1) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := w.browser()
			callback := tt.url(b, b.authorized("acme", "okta", w.okta, ann))
			status, _ := b.gets(callback)
			if status != 401 || b.isIn("acme") || b.isIn("initech") {
				t.Errorf("%d; signed in: %t", status, b.isIn("acme"))
			}
		})
	}
	t.Run("the callback of another provider", func(t *testing.T) {
		b := w.browser()
		callback := b.authorized("initech", "okta", w.okta, ann)
		if status, _ := b.gets(strings.Replace(callback, "/okta/", "/entra/", 1)); status != 401 || b.isIn("initech") {
			t.Errorf("%d; signed in: %t", status, b.isIn("initech"))
		}
	})
	t.Run("a second time", func(t *testing.T) {
		b := w.browser()
		callback := b.authorized("acme", "okta", w.okta, ann)
		b.gets(callback)
		if status, _ := b.gets(callback); status != 401 {
			t.Errorf("%d", status)
		}
	})
	t.Run("a sign-in that another page begins", func(t *testing.T) {
		b := w.browser()
		r, _ := http.NewRequestWithContext(t.Context(), "POST", w.url+"/acme/v2/signin/okta", nil)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		if status, _ := b.read(b.Do(r)); status != 403 {
			t.Errorf("%d", status)
		}
	})
}

func TestRedirectsStayHere(t *testing.T) {
	w := newWorld(t)
	for _, page := range []string{"https://evil.example/", "//evil.example", "///evil.example", `/\evil.example`, `\\evil.example`, "/\t/evil.example",
		"javascript:alert(1)", "evil.example", "", "\n//evil.example", "https:evil.example"} {
		b := w.browser()
		status, location := b.gets(b.authorized("acme", "okta", w.okta, ann, page))
		if status != 303 || location != "/" {
			t.Errorf("%q: %d %q", page, status, location)
		}
	}
}

func TestIssuersOfAnOrg(t *testing.T) {
	w := newWorld(t)
	// All that the owner of acme's provider needs, if globex and hooli let people join by it.
	for _, org := range []auth.OrgKey{"globex", "hooli"} {
		w.table.LetJoin(org, w.okta.Issuer(), "administrator")
		if status, _ := w.browser().begins("/" + string(org) + "/v2/signin/okta"); status != 403 {
			t.Errorf("%s: %d", org, status)
		}
	}
	if status, _ := w.browser().begins("/acme/v2/signin/unknown"); status != 404 {
		t.Errorf("an unknown provider: %d", status)
	}
	// The policy changes while somebody is at the provider.
	b := w.browser()
	callback := b.authorized("acme", "okta", w.okta, ann)
	w.table.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Issuers: []string{w.entra.Issuer()}}})
	if status, _ := b.gets(callback); status != 403 || b.isIn("acme") {
		t.Errorf("%d", status)
	}
}

// A session of one org's provider opens only orgs that accept this provider.
func TestOneProviderDoesNotOpenAnotherOrg(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.gets(b.authorized("acme", "okta", w.okta, ann))
	for org, want := range map[string]int{"globex": 403, "hooli": 403, "initech": 200} {
		if status, _ := b.begins("/acme/v2/enter", "org", org); status != want || b.isIn(org) != (want == 200) {
			t.Errorf("%s: %d", org, status)
		}
	}
}

func TestJoining(t *testing.T) {
	w := newWorld(t)
	eve := user{"s-eve", map[string]any{"email": "ann@example.com"}}
	w.table.LetJoin("acme", w.okta.Issuer(), "reader")
	account := func(b *browser) string {
		response, err := b.Get(w.url + "/acme/v2/me")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var body struct{ Data string }
		if err := json.NewDecoder(response.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return body.Data
	}
	nobody := w.browser()
	if status, _ := nobody.gets(nobody.authorized("acme", "okta", w.okta, user{})); status != 401 {
		t.Errorf("no subject: %d", status)
	}
	var first string
	for range 2 {
		b := w.browser()
		if status, _ := b.gets(b.authorized("acme", "okta", w.okta, eve)); status != 303 {
			t.Fatal(status)
		}
		id := account(b)
		if id == "" || id == "ann-acme" || first != "" && id != first {
			t.Errorf("account %q after %q", id, first)
		}
		first = id
	}
	if got := w.table.Address(first); got != "" {
		t.Errorf("the unverified address %q is kept", got)
	}
	joined, err := w.table.Account(t.Context(), "acme", first)
	if err != nil || joined.Person != "" || !slices.Equal(joined.Roles, []string{"reader"}) {
		t.Errorf("%+v, %v", joined, err)
	}
}

// Without auth_time nobody knows when the provider asked last.
func TestNoTimeIsNotFresh(t *testing.T) {
	w := newWorld(t)
	w.table.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Issuers: []string{w.okta.Issuer()}, ProofAge: 30 * time.Minute}})
	b := w.browser()
	if status, _ := b.gets(b.authorized("acme", "okta", w.okta, user{ann.subject, map[string]any{"auth_time": nil}})); status != 403 {
		t.Errorf("%d", status)
	}
	_, location := b.begins("/acme/v2/signin/okta")
	if u, _ := url.Parse(location); u.Query().Get("max_age") != "1800" || u.Query().Get("code_challenge_method") != "S256" {
		t.Errorf("the provider is asked %s", location)
	}
}

// An account that exists gets an identity while its owner is signed in.
func TestConnecting(t *testing.T) {
	w := newWorld(t)
	w.table.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Issuers: []string{w.okta.Issuer(), w.entra.Issuer()}}})
	if status, _ := w.browser().begins("/acme/v2/signin/entra/connect"); status != 401 {
		t.Errorf("nobody is signed in: %d", status)
	}
	b := w.browser()
	b.gets(b.authorized("acme", "okta", w.okta, ann))
	connect := func(at *mockoidc.MockOIDC, name string, u user) string {
		_, location := b.begins("/acme/v2/signin/" + name + "/connect")
		at.QueueUser(u)
		_, callback := b.gets(location)
		return callback
	}
	callback := connect(w.entra, "entra", user{subject: "e-ann"})
	if status, _ := b.gets(strings.Replace(callback, "/connected", "/callback", 1)); status != 401 {
		t.Errorf("as a sign-in: %d", status)
	}
	if status, _ := w.browser().gets(connect(w.entra, "entra", user{subject: "e-ann"})); status != 401 {
		t.Errorf("in another browser: %d", status)
	}
	if status, _ := b.gets(strings.Replace(b.authorized("acme", "entra", w.entra, user{subject: "e-ann"}), "/callback", "/connected", 1)); status != 401 {
		t.Errorf("a sign-in as a connection: %d", status)
	}
	if status, _ := b.gets(connect(w.entra, "entra", user{subject: "e-ann"})); status != 303 {
		t.Errorf("%d", status)
	}
	w.table.PutAccount(auth.Account{ID: "bob", Org: "acme"})
	w.table.Bind(t.Context(), signin.Identity{Org: "acme", Issuer: w.entra.Issuer(), Subject: "e-bob"}, "bob")
	if status, _ := b.gets(connect(w.entra, "entra", user{subject: "e-bob"})); status != 409 {
		t.Errorf("an identity of another account: %d", status)
	}
	other := w.browser()
	if status, _ := other.gets(other.authorized("acme", "entra", w.entra, user{subject: "e-ann"})); status != 303 || !other.isIn("acme") {
		t.Errorf("%d", status)
	}
	old := user{ann.subject, map[string]any{"auth_time": time.Now().Add(-time.Hour).Unix()}}
	b.gets(b.authorized("acme", "okta", w.okta, old))
	if status, _ := b.begins("/acme/v2/signin/entra/connect"); status != 403 || !b.isIn("acme") {
		t.Errorf("a session that is not fresh: %d", status)
	}
}

// Two people share a browser. The session of the first one must not stop the second one, nor stay.
func TestSomebodyElseInTheSameBrowser(t *testing.T) {
	w := newWorld(t)
	w.table.PutAccount(auth.Account{ID: "bob", Org: "acme"})
	w.table.Bind(t.Context(), signin.Identity{Org: "acme", Issuer: w.okta.Issuer(), Subject: "s-bob"}, "bob")
	b := w.browser()
	for _, u := range []user{ann, {subject: "s-bob"}} {
		if status, _ := b.gets(b.authorized("acme", "okta", w.okta, u)); status != 303 || !b.isIn("acme") {
			t.Errorf("%s: %d", u.subject, status)
		}
	}
	w.table.PutAccount(auth.Account{ID: "bob", Org: "acme", Disabled: true})
	if b.isIn("acme") {
		t.Error("ann's session is left")
	}
}

func TestASecondFactorIsStillAsked(t *testing.T) {
	w := newWorld(t)
	w.table.PutOrg(auth.Org{Code: "acme", Session: auth.SessionPolicy{Issuers: []string{w.okta.Issuer()}, SecondFactor: true}})
	b := w.browser()
	if status, location := b.gets(b.authorized("acme", "okta", w.okta, ann)); status != 303 || location != "/code" || b.isIn("acme") {
		t.Errorf("%d %s", status, location)
	}
	b.gets(b.authorized("acme", "okta", w.okta, user{ann.subject, map[string]any{"amr": []string{"pwd", "mfa"}}}))
	if !b.isIn("acme") {
		t.Error("the provider's second factor does not count")
	}
}

func TestAProviderThatIsDown(t *testing.T) {
	w := newWorld(t)
	w.okta.Shutdown()
	if status, _ := w.browser().begins("/acme/v2/signin/okta"); status != 503 {
		t.Errorf("%d", status)
	}
	b := w.browser()
	w.table.Bind(t.Context(), signin.Identity{Org: "globex", Issuer: w.entra.Issuer(), Subject: "s-ann"}, "ann-globex")
	b.gets(b.authorized("globex", "entra", w.entra, ann))
	if !b.isIn("globex") {
		t.Error("nor can the others sign in")
	}
}
