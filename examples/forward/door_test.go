package forward_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/examples/forward"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

const base = "https://api.example.com"

// world has an app of acme that acts as ann, and a token of hers.
type world struct {
	guard     *auth.Guard
	clientKey string
	secret    signing.Secret
	token     string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{}
	w.clientKey, w.secret = signing.Generate()
	key, err := signing.NewKey(w.clientKey, w.secret)
	if err != nil {
		t.Fatal(err)
	}
	directory, keys := new(auth.Memory), new(token.MemoryKeys)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutApp(auth.App{ClientKey: w.clientKey, Org: "acme"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member", "night, shift"}})
	if _, err := keys.Generate(t.Context(), "acme", w.clientKey); err != nil {
		t.Fatal(err)
	}
	tokens := &bearer.Mechanism{Keys: keys, Signers: keys}
	w.guard = &auth.Guard{
		Roles:     auth.RolesDoNotLimit,
		BaseURL:   base,
		Directory: directory,
		Mechanisms: []auth.Mechanism{
			&signature.Mechanism{Credentials: signature.Memory{w.clientKey: {Key: key, Account: "ann"}}, Replays: signing.NewMemory(0)},
			tokens,
		},
	}
	raw, _, err := tokens.Minter(w.guard).Ephemeral(t.Context(),
		token.Claims{Issuer: w.clientKey, Subject: "ann", Audience: base + "/acme/v2", Scope: []string{""}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	w.token = string(raw)
	// Version 2 counts whole seconds. What was signed before the record began is refused.
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
	return w
}

func (w *world) door(from forward.Headers) http.Handler {
	return forward.Door{Guard: w.guard, Need: auth.Authenticated, From: from}.Handler()
}

// headers returns the header that a Transport of this version gives to a request.
func (w *world) headers(t *testing.T, version int, method, uri, body string) http.Header {
	t.Helper()
	var h http.Header
	client := &signing.Transport{BaseURL: base + "/acme/v2", ClientKey: w.clientKey, Secret: w.secret, Version: version,
		Base: captured(func(r *http.Request) { h = r.Header })}
	r, err := http.NewRequestWithContext(t.Context(), method, base+uri, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body == "" {
		r.Body = nil
	}
	if _, err := client.RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	return h
}

type captured func(*http.Request)

func (c captured) RoundTrip(r *http.Request) (*http.Response, error) {
	c(r)
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

// subrequest returns what a front door asks.
func subrequest(from forward.Headers, method, uri string, client http.Header) *http.Request {
	r := httptest.NewRequest("GET", "/forward", nil)
	for name, values := range client {
		r.Header[name] = values
	}
	r.Header[from.Method], r.Header[from.URI] = []string{method}, []string{uri}
	if from.Body != "" && r.Header[from.Body] == nil {
		r.Header[from.Body] = []string{"none"}
	}
	return r
}

func answer(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	reply := httptest.NewRecorder()
	h.ServeHTTP(reply, r)
	return reply
}

func TestTheIdentityIsPassedOn(t *testing.T) {
	w := newWorld(t)
	for name, from := range map[string]forward.Headers{"nginx": forward.Nginx, "Caddy": forward.ForwardAuth} {
		t.Run(name, func(t *testing.T) {
			got := answer(w.door(from), subrequest(from, "GET", "/acme/v2/notes?x=1", http.Header{"Authorization": {"Bearer " + w.token}}))
			want := []string{"acme", w.clientKey, "ann", "member,night%2C%20shift"}
			h := got.Header()
			if diff := cmp.Diff(want, []string{h.Get(forward.Org), h.Get(forward.App), h.Get(forward.Account), h.Get(forward.Roles)}); diff != "" || got.Code != 200 {
				t.Errorf("%d %s", got.Code, diff)
			}
		})
	}
}

func TestSignaturesCoverWhatTheClientHasSent(t *testing.T) {
	w := newWorld(t)
	door := w.door(forward.Nginx)
	const uri = "/acme/v2/notes/a%20b?x=1"
	for _, c := range []struct {
		name                string
		version             int
		signedAs, signedURI string
		body                string
		askedAs, askedURI   string
		status              int
	}{
		{"version 1", 1, "GET", uri, "", "GET", uri, 200},
		{"version 1, with a body, which it does not cover", 1, "POST", uri, "x", "POST", uri, 200},
		{"version 2", 2, "GET", uri, "", "GET", uri, 200},
		{"another method", 1, "GET", uri, "", "DELETE", uri, 401},
		{"another path", 1, "GET", uri, "", "GET", "/acme/v2/notes/b", 401},
		{"another query in version 2", 2, "GET", uri, "", "GET", uri + "&y=2", 401},
		{"version 2 without a body", 2, "POST", uri, "", "POST", uri, 200},
		{"version 2 with the digest of a body that is not there", 2, "POST", uri, "x", "POST", uri, 400},
		{"a path that is not clean", 1, "GET", uri, "", "GET", "/acme/v2/x/../notes", 400},
		{"a path of two slashes", 1, "GET", uri, "", "GET", "//acme/v2/notes", 400},
		{"a URL", 1, "GET", uri, "", "GET", "https://elsewhere.example/acme/v2/notes", 400},
		{"a method in lower case", 1, "GET", uri, "", "get", uri, 405},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := w.headers(t, c.version, c.signedAs, c.signedURI, c.body)
			if got := answer(door, subrequest(forward.Nginx, c.askedAs, c.askedURI, h)); got.Code != c.status {
				t.Errorf("got %d %s, want %d", got.Code, got.Body, c.status)
			}
			if c.status == 200 {
				if again := answer(door, subrequest(forward.Nginx, c.askedAs, c.askedURI, h)); again.Code != 401 {
					t.Errorf("again: %d", again.Code)
				}
			}
		})
	}
}

func TestOddQuestions(t *testing.T) {
	w := newWorld(t)
	door := w.door(forward.Nginx)
	for _, c := range []struct {
		method, uri string
		status      int
	}{
		{"GET", "/acme/v2/notes", 200},
		{"GET", "/acme/v2/notes/", 200},
		{"GET", "/acme/v2/notes?x=%zz", 200}, // the query is the service's
		{"", "/acme/v2/notes", 400},
		{"GET ", "/acme/v2/notes", 405},
		{"GET, GET", "/acme/v2/notes", 405},
		{"GET", "", 400},
		{"GET", "*", 400},
		{"GET", "acme/v2/notes", 400},
		{"GET", "/acme/v2/notes, /globex/v2/notes", 400},
		{"GET", "/acme/v2/notes#/../../../globex/v2/notes", 400},
		{"GET", "/acme/v2/a#b", 400},
		{"GET", "/acme/v2/a%23b", 200},
		{"GET", "/acme/v2/a%00b", 400},
		{"GET", "/acme/v2/a\x00b", 400},
		{"GET", "/acme/v2/..%2f..%2fglobex", 400},
		{"GET", "/acme/v2/%2e%2e/globex", 400},
		{"GET", "/acme/v2/a\\..\\b", 400},
		{"GET", "/%61cme/v2/notes", 400},
		{"GET", "/acme/v2/%zz", 400},
		{"GET", "/globex/v2/notes", 404},
	} {
		r := subrequest(forward.Nginx, c.method, c.uri, http.Header{"Authorization": {"Bearer " + w.token}})
		if got := answer(door, r); got.Code != c.status {
			t.Errorf("%q %q: got %d %s, want %d", c.method, c.uri, got.Code, got.Body, c.status)
		}
	}
}

func TestBodiesOfVersion2(t *testing.T) {
	w := newWorld(t)
	const uri = "/acme/v2/notes"
	for name, c := range map[string]struct {
		from   forward.Headers
		body   []string
		status int
	}{
		"no body":                                 {forward.Nginx, []string{"none"}, 200},
		"O40 a body":                              {forward.Nginx, []string{"some"}, 400},
		"O40 the front door says it twice":        {forward.Nginx, []string{"none", "none"}, 400},
		"O40 the front door does not say it":      {forward.Nginx, []string{}, 400},
		"O40 the front door has no header for it": {forward.ForwardAuth, nil, 400},
	} {
		t.Run(name, func(t *testing.T) {
			r := subrequest(c.from, "GET", uri, w.headers(t, 2, "GET", uri, ""))
			if c.body != nil {
				r.Header[c.from.Body] = c.body
			}
			if got := answer(w.door(c.from), r); got.Code != c.status {
				t.Errorf("got %d %s", got.Code, got.Body)
			}
		})
	}
}

func TestSmuggledHeaders(t *testing.T) {
	w := newWorld(t)
	door := w.door(forward.ForwardAuth)
	for name, alter := range map[string]func(http.Header){
		"O39 the URI twice":                           func(h http.Header) { h["X-Forwarded-Uri"] = append(h["X-Forwarded-Uri"], "/acme/v2/other") },
		"O39 the method twice":                        func(h http.Header) { h["X-Forwarded-Method"] = append(h["X-Forwarded-Method"], "GET") },
		"O39 the URI with an underscore, too":         func(h http.Header) { h["X_forwarded_uri"] = []string{"/acme/v2/other"} },
		"O39 in upper case with underscores":          func(h http.Header) { h["X_FORWARDED_METHOD"] = []string{"GET"} },
		"O39 in a raw case":                           func(h http.Header) { h["x-forwarded-uri"] = []string{"/acme/v2/other"} },
		"O39 the headers of another front door":       func(h http.Header) { h.Set("X-Original-URI", "/acme/v2/other") },
		"O39 a word that there is no body":            func(h http.Header) { h.Set("X-Original-Body", "none") },
		"O39 only those of another":                   func(h http.Header) { delete(h, "X-Forwarded-Uri"); h.Set("X-Original-URI", "/acme/v2/notes") },
		"O39 no URI":                                  func(h http.Header) { delete(h, "X-Forwarded-Uri") },
		"O39 no method":                               func(h http.Header) { delete(h, "X-Forwarded-Method") },
		"O39 an identity":                             func(h http.Header) { h.Set("X-Auth-Account", "root") },
		"O39 an identity with underscores":            func(h http.Header) { h["X_Auth_Account"] = []string{"root"} },
		"O39 an identity, in part an underscore":      func(h http.Header) { h["X-Auth_Roles"] = []string{"administrator"} },
		"O39b an identity with dots, as PHP reads it": func(h http.Header) { h["X.auth.account"] = []string{"root"} },
		"O39b an identity, in part a dot":             func(h http.Header) { h["X-Auth.Account"] = []string{"root"} },
		"O39b an identity with other characters":      func(h http.Header) { h["X~Auth!Account"] = []string{"root"} },
		"O39b an identity without any":                func(h http.Header) { h["Xauthaccount"] = []string{"root"} },
		"O39b the URI with dots, too":                 func(h http.Header) { h["X.forwarded.uri"] = []string{"/acme/v2/other"} },
		"O39b another front door's method, with dots": func(h http.Header) { h["X.Original.Method"] = []string{"GET"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := subrequest(forward.ForwardAuth, "GET", "/acme/v2/notes", http.Header{"Authorization": {"Bearer " + w.token}})
			alter(r.Header)
			got := answer(door, r)
			if got.Code != 400 || got.Header().Get(forward.Account) != "" {
				t.Errorf("got %d %s", got.Code, got.Body)
			}
		})
	}
	t.Run("O39 a Door of no front door", func(t *testing.T) {
		r := subrequest(forward.Nginx, "GET", "/acme/v2/notes", http.Header{"Authorization": {"Bearer " + w.token}})
		if got := answer(w.door(forward.Headers{}), r); got.Code != 400 {
			t.Errorf("got %d", got.Code)
		}
	})
}

func ExampleDoor() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	guard := &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    "https://api.example.com",
		Directory:  directory,
		Mechanisms: []auth.Mechanism{&bearer.Mechanism{Keys: new(token.MemoryKeys)}},
	}
	mux := http.NewServeMux()
	mux.Handle("GET /forward", forward.Door{Guard: guard, Need: auth.Authenticated, From: forward.Nginx}.Handler())

	r := httptest.NewRequest("GET", "/forward", nil)
	r.Header.Set("X-Original-Method", "POST")
	r.Header.Set("X-Original-URI", "/acme/v2/notes")
	reply := httptest.NewRecorder()
	mux.ServeHTTP(reply, r)
	fmt.Println(reply.Code, reply.Header().Get("WWW-Authenticate"))
	// Output: 401 Bearer
}
