package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	testKey      = "demoKeyDemoKeyDemoKey1"
	testSecret   = "aSecretThatIsNeverPrinted"
	testToken    = "aToken.ThatIsNever.Printed"
	testPassword = "aPasswordThatIsNeverPrinted"
)

// service is a server that knows one credential of each kind, made with the
// standard library only. It counts the requests that it accepts.
type service struct {
	mu       sync.Mutex
	seen     map[string]int // by kind, path and instance
	sessions int            // that have logged in and not logged out
	logins   int
	fail     func(n int) string // errCode for the n-th request to refuse, "" to answer
	loggedIn func()             // if set, called before the reply to a login
	pause    time.Duration
	n        int
}

func (s *service) start(t *testing.T) *httptest.Server {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	time.Sleep(s.pause)
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/acme/v2")
	switch {
	case r.Method == http.MethodPost && path == loginPath:
		s.logIn(w, r)
	case r.Method == http.MethodPost && path == logoutPath:
		s.sessions--
		io.WriteString(w, `{"object":"result","data":true}`)
	case r.Method != http.MethodGet:
		refuse(w, "service.invalidArgument.method", 405)
	default:
		s.answer(w, r, path)
	}
}

func (s *service) logIn(w http.ResponseWriter, r *http.Request) {
	var body struct{ Email, Password string }
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Password != testPassword {
		refuse(w, "service.accessDenied.invalidCredentials", 401)
		return
	}
	s.sessions++
	s.logins++
	if s.loggedIn != nil {
		s.loggedIn()
	}
	http.SetCookie(w, &http.Cookie{Name: "session", Value: fmt.Sprint(s.logins), Path: "/", HttpOnly: true})
	io.WriteString(w, `{"object":"account","_id":"ada"}`)
}

func (s *service) answer(w http.ResponseWriter, r *http.Request, path string) {
	k, ok := credentialOf(r, path)
	if !ok {
		refuse(w, "service.accessDenied.noCredentialsSupplied", 401)
		return
	}
	s.n++
	if s.fail != nil {
		if code := s.fail(s.n); code != "" {
			refuse(w, code, 503)
			return
		}
	}
	if s.seen == nil {
		s.seen = make(map[string]int)
	}
	s.seen[k]++
	s.seen[path]++
	s.seen[r.Host]++
	io.WriteString(w, `{"object":"list","data":[],"hasMore":false}`)
}

// credentialOf returns the kind of credential that is correct.
func credentialOf(r *http.Request, path string) (string, bool) {
	var found []string
	if given := r.Header.Get("Acme-Client-Signature"); given != "" {
		mac := hmac.New(sha256.New, []byte(testKey+testSecret))
		fmt.Fprintf(mac, "%s;%s;%s", path, r.Method, r.Header.Get("Acme-Client-Timestamp"))
		if given != hex.EncodeToString(mac.Sum(nil)) {
			return "", false
		}
		found = append(found, signed)
	}
	if r.Header.Get("Authorization") == "Bearer "+testToken {
		found = append(found, bearer)
	}
	if _, err := r.Cookie("session"); err == nil {
		found = append(found, session)
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}

func refuse(w http.ResponseWriter, code string, status int) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"object":"fault","errCode":%q,"status":%d,"message":"No."}`, code, status)
}

func (s *service) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[what]
}

// loadgen runs a command line against servers, with all credentials.
func loadgen(t *testing.T, ctx context.Context, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	p := program{out: &out, errs: &errs, getenv: lookup(allCredentials)}
	err = p.run(ctx, args)
	if text := out.String() + errs.String() + fmt.Sprint(err); strings.Contains(text, "NeverPrinted") {
		t.Errorf("a secret is printed: %s", text)
	}
	return out.String(), errs.String(), err
}

var allCredentials = map[string]string{
	"TENANTKIT_KEY":           testKey,
	"TENANTKIT_SECRET":        testSecret,
	"TENANTKIT_TOKEN":         testToken,
	"TENANTKIT_EMAIL":         "ada@example.com",
	"TENANTKIT_PASSWORD":      testPassword,
	"TENANTKIT_HEADER_PREFIX": "Acme-",
}

func lookup(environment map[string]string) func(string) string {
	return func(name string) string { return environment[name] }
}

// measured runs a load and returns its JSON report.
func measured(t *testing.T, args ...string) (report, error) {
	t.Helper()
	out, _, err := loadgen(t, t.Context(), append(args, "-json")...)
	var r report
	if decoded := json.Unmarshal([]byte(out), &r); decoded != nil {
		t.Fatalf("%v, %v in %q", err, decoded, out)
	}
	return r, err
}

// demoFile writes a demo file for a server.
func demoFile(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "demo.json")
	text := fmt.Sprintf(`{"base_url":%q,"org":"acme","client_key":%q,"client_secret":%q,"ephemeral_token":%q,
		"account_email":"ada@example.com","account_password":%q,"more":1}`, url, testKey, testSecret, testToken, testPassword)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
