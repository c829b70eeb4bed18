package session_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/tenantkit/tenantkit/auth/session"
)

// browser keeps cookies as browsers do.
type browser struct {
	w      *world
	org    string
	remote string
	mu     sync.Mutex
	jar    map[string]string
}

func (w *world) browser() *browser {
	return &browser{w: w, org: "acme", remote: "192.0.2.1:4711", jar: map[string]string{}}
}

// clone returns a browser with the same cookies.
func (b *browser) clone() *browser {
	other := &browser{w: b.w, org: b.org, remote: b.remote, jar: map[string]string{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, value := range b.jar {
		other.jar[name] = value
	}
	return other
}

type reply struct {
	status  int
	fault   string // the detail, "" on success
	reason  string
	data    any
	header  http.Header
	cookies []*http.Cookie
	body    string
}

// form encodes names and values, given in turn.
func form(pairs ...string) string {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return values.Encode()
}

// do sends a request with a form and header pairs.
func (b *browser) do(method, path, form string, header ...string) reply {
	b.w.t.Helper()
	r := httptest.NewRequest(method, "https://api.example.test/"+b.org+"/v2"+path, strings.NewReader(form))
	r.RemoteAddr = b.remote
	if b.w.agent != "" {
		r.Header.Set("User-Agent", b.w.agent)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	b.mu.Lock()
	for name, value := range b.jar {
		r.Header["Cookie"] = append(r.Header["Cookie"], name+"="+value)
	}
	b.mu.Unlock()
	for i := 0; i < len(header); i += 2 {
		r.Header[header[i]] = append(r.Header[header[i]], header[i+1])
	}
	rec := httptest.NewRecorder()
	b.w.mux.ServeHTTP(rec, r)
	got := reply{status: rec.Code, header: rec.Header(), cookies: rec.Result().Cookies(), body: rec.Body.String()}
	var body struct {
		ErrCode, Reason string
		Data            any
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
		b.w.t.Errorf("%s %s: a body that is not JSON: %.100q", method, path, got.body)
	}
	got.fault, got.reason, got.data = strings.TrimPrefix(body.ErrCode, "service."), body.Reason, body.Data
	b.keep(got.cookies)
	return got
}

func (b *browser) keep(cookies []*http.Cookie) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range cookies {
		if c.MaxAge < 0 {
			delete(b.jar, c.Name)
		} else {
			b.jar[c.Name] = c.Value
		}
	}
}

func (b *browser) cookie(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jar[name]
}

func (b *browser) login(login, password string, more ...string) reply {
	b.w.t.Helper()
	return b.do("POST", "/login", form(append([]string{"login", login, "password", password}, more...)...))
}

func (b *browser) get(path string, header ...string) reply {
	b.w.t.Helper()
	return b.do("GET", path, "", header...)
}

func (b *browser) post(path string, pairs ...string) reply {
	b.w.t.Helper()
	return b.do("POST", path, form(pairs...))
}

// ann returns a browser with a session of ann.
func (w *world) ann() *browser {
	w.t.Helper()
	b := w.browser()
	want(w.t, b.login("ann", annPassword), 200, "")
	return b
}

// want checks the status and the fault of a reply, and the headers of a refusal.
func want(t testing.TB, got reply, status int, fault string) {
	t.Helper()
	if got.status != status || got.fault != fault {
		t.Errorf("got %d %q, want %d %q", got.status, got.fault, status, fault)
	}
	if c := got.header.Get("WWW-Authenticate"); status == 401 && c != "Session" {
		t.Errorf("a 401 with the challenge %q", c)
	}
	if after := got.header.Get("Retry-After"); (status == 429 || status == 503) != (after != "") {
		t.Errorf("a %d with Retry-After %q", status, after)
	}
	if status == 503 && len(got.cookies) > 0 {
		t.Errorf("a 503 that sets %v", got.cookies)
	}
	if secrets := setting(got); secrets && got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("a cookie is set in a reply with Cache-Control %q", got.header.Get("Cache-Control"))
	}
}

func setting(got reply) bool {
	for _, c := range got.cookies {
		if c.MaxAge >= 0 {
			return true
		}
	}
	return false
}

// sets returns the cookies that a reply sets as "+name", and those it clears as "-name".
func sets(got reply) string {
	var out []string
	for _, c := range got.cookies {
		sign := "+"
		if c.MaxAge < 0 {
			sign = "-"
		}
		out = append(out, sign+c.Name)
	}
	return strings.Join(out, " ")
}

// enrol gives the browser's account a second factor, and returns its secret
// and the recovery codes. It uses the code of the current step.
func (b *browser) enrol() (session.FactorSecret, []string) {
	b.w.t.Helper()
	begun := b.post("/enrol")
	if begun.status != 200 {
		b.w.t.Fatalf("enrol: %d %s", begun.status, begun.fault)
	}
	secret := decoded(b.w.t, begun.data)
	done := b.post("/confirm", "code", b.w.code(secret))
	if done.status != 200 {
		b.w.t.Fatalf("confirm: %d %s", done.status, done.fault)
	}
	var recovery []string
	for _, code := range done.data.([]any) {
		recovery = append(recovery, code.(string))
	}
	return secret, recovery
}

// decoded returns the secret in a reply of /enrol.
func decoded(t testing.TB, data any) session.FactorSecret {
	t.Helper()
	var bytes []byte
	if err := json.Unmarshal([]byte(fmt.Sprintf("%q", data)), &bytes); err != nil {
		t.Fatal(err)
	}
	return session.FactorSecret(bytes)
}

// hashOf returns the hash of the browser's session in the store.
func hashOf(t testing.TB, b *browser) [32]byte {
	t.Helper()
	token, err := base64.RawURLEncoding.DecodeString(b.cookie(cookieName))
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(token)
}
