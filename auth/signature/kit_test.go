package signature_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/testing/rawhttp"
	"github.com/tenantkit/tenantkit/signing"
)

// The credentials of the tests: 22 and 64 characters.
const (
	acmeKey      = "acmeKey000000000000001"
	acmeSecret   = "acmeSecret000000000000000000000000000000000000000000000000000001"
	olderSecret  = "acmeSecret000000000000000000000000000000000000000000000000000000"
	globexKey    = "globexKey0000000000001"
	globexSecret = "globexSecret0000000000000000000000000000000000000000000000000001"
	headless     = "acmeKey000000000000002" // several accounts, none of its own
)

// world is a server with two orgs. The tests send it raw bytes.
type world struct {
	*httptest.Server
	directory   *auth.Memory
	credentials signature.Memory
	mechanism   *signature.Mechanism
	guard       *auth.Guard
	handled     atomic.Int64 // requests that reached a handler
	offset      time.Duration
	nonces      int
	last        int64 // timestamp of the latest request: each request has its own, and so its own signature
}

// newWorld starts a server; its replay store is older than any window.
func newWorld(t testing.TB, alter ...func(*world)) *world {
	t.Helper()
	w := &world{directory: new(auth.Memory)}
	for _, org := range []string{"acme", "globex"} {
		w.directory.PutOrg(auth.Org{Code: org})
	}
	for _, id := range []string{"ann", "bob", "cat"} {
		w.directory.PutAccount(auth.Account{ID: id, Org: "acme", Roles: []string{"member"}})
	}
	w.directory.PutAccount(auth.Account{ID: "off", Org: "acme", Disabled: true})
	w.directory.PutAccount(auth.Account{ID: "gus", Org: "globex"})
	for key, org := range map[string]string{acmeKey: "acme", headless: "acme", globexKey: "globex"} {
		w.directory.PutApp(auth.App{ClientKey: key, Org: auth.OrgKey(org)})
	}
	w.credentials = signature.Memory{
		acmeKey: {Key: mustKey(t, acmeKey, acmeSecret), Account: "ann",
			Accounts: []string{"bob", "off", "gus", "nobody"}},
		headless:  {Key: mustKey(t, headless, acmeSecret), Accounts: []string{"bob", "cat"}},
		globexKey: {Key: mustKey(t, globexKey, globexSecret), Account: "gus"},
	}
	w.mechanism = &signature.Mechanism{Credentials: w.credentials, Replays: newMap()}
	w.guard = &auth.Guard{
		Roles:      auth.RolesDoNotLimit,
		BaseURL:    "http://api.example.test",
		Directory:  w.directory,
		Mechanisms: []auth.Mechanism{w.mechanism},
	}
	for _, f := range alter {
		f(w)
	}
	mux := w.guard.Mux()
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		for _, path := range []string{"/connections", "/c_x/{id...}", "/"} {
			mux.HandleFunc(method+" "+path, auth.Authenticated, w.answer)
		}
	}
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	return w
}

func mustKey(t testing.TB, clientKey string, secrets ...signing.Secret) *signing.Key {
	t.Helper()
	key, err := signing.NewKey(clientKey, secrets...)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// answer writes who called, and by which method.
func (w *world) answer(rw http.ResponseWriter, r *http.Request) {
	w.handled.Add(1)
	p := auth.From(r.Context())
	auth.Reply(rw, r, envelope.Result[[]string]{Data: []string{p.Account, p.Caller, r.Method}})
}

// wire is a request before it is sent. The tests change the base request in it.
type wire struct {
	method, target, command string
	key, secret             string
	timestamp, nonce        string
	signature, account      string
	lines                   []string // additional header lines
	drop                    []string // header names to omit
}

// request returns the base request: a signed GET of a page of connections.
func (w *world) request() wire {
	w.nonces++
	w.last = max(w.last+1, time.Now().Add(w.offset).UnixMilli())
	return wire{
		method: "GET", target: "/acme/v2/connections?limit=5", command: "/connections",
		key: acmeKey, secret: acmeSecret,
		timestamp: strconv.FormatInt(w.last, 10),
		nonce:     fmt.Sprintf("nonce%011d", w.nonces),
	}
}

// sign signs without package signing, by the text of the interface.
func (q wire) sign() string {
	if q.signature != "" {
		return q.signature
	}
	mac := hmac.New(sha256.New, []byte(q.key+q.secret))
	mac.Write([]byte(q.command + ";" + q.method + ";" + q.timestamp))
	return hex.EncodeToString(mac.Sum(nil))
}

func (q wire) header() []string {
	lines := []string{
		"Service-Client-Key: " + q.key,
		"Service-Client-Signature: " + q.sign(),
		"Service-Client-Timestamp: " + q.timestamp,
		"Service-Client-Nonce: " + q.nonce,
	}
	if q.account != "" {
		lines = append(lines, "Service-Client-Account: "+q.account)
	}
	kept := q.lines
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		if !contains(q.drop, name) {
			kept = append(kept, line)
		}
	}
	return kept
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// signed returns the request for a handler that is called directly.
func (w *world) signed(q wire) *http.Request {
	r := httptest.NewRequest(q.method, q.target, nil)
	for _, line := range q.header() {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	return r
}

func (w *world) send(t testing.TB, q wire) rawhttp.Reply {
	t.Helper()
	return rawhttp.Send(t, w.Server, append([]string{q.method + " " + q.target + " HTTP/1.1"}, q.header()...)...)
}

// want checks a reply: its status, and the detail of its fault. On success it checks the account
// that the request acted as.
func want(t testing.TB, reply rawhttp.Reply, status int, detail string) {
	t.Helper()
	var body struct {
		ErrCode string
		Data    []string
	}
	if err := json.Unmarshal([]byte(reply.Text), &body); err != nil {
		t.Errorf("got %d with a body that is not JSON: %.200q", reply.StatusCode, reply.Text)
		return
	}
	got := strings.TrimPrefix(body.ErrCode, "service.")
	if reply.StatusCode == 200 && len(body.Data) > 0 {
		got = body.Data[0]
	}
	if reply.StatusCode != status || got != detail {
		t.Errorf("got %d %q, want %d %q", reply.StatusCode, got, status, detail)
	}
	if reply.StatusCode == 401 && !strings.HasPrefix(reply.Header.Get("WWW-Authenticate"), "Signature") {
		t.Errorf("a 401 with the challenge %q", reply.Header.Get("WWW-Authenticate"))
	}
	if reply.Header.Get("Service-Server-Time") == "" {
		t.Error("a reply without the server's time")
	}
}

// clean sends a request that must be refused without a record: afterwards the honest request with
// the same nonce still works.
func (w *world) clean(t testing.TB, q wire, status int, detail string) {
	t.Helper()
	handled := w.handled.Load()
	want(t, w.send(t, q), status, detail)
	if w.handled.Load() != handled {
		t.Error("the handler ran")
	}
	honest := w.request()
	if nonceShape.MatchString(q.nonce) {
		honest.nonce = q.nonce
	}
	want(t, w.send(t, honest), 200, "ann")
}

var nonceShape = regexp.MustCompile(`^[A-Za-z0-9]{16}$`)

// newMap returns a replay store that never forgets and has no start. It models the contract, so
// that these tests check only the mechanism.
func newMap() *mapStore {
	return &mapStore{nonces: map[string]bool{}, signatures: map[[32]byte]sighting{}}
}

type mapStore struct {
	mu         sync.Mutex
	nonces     map[string]bool
	signatures map[[32]byte]sighting
	claims     int
	err        error // what Claim returns if not nil
	after      bool  // whether it still records then
}

type sighting struct {
	first time.Time
	count int
}

func (s *mapStore) Used(_ context.Context, clientKey, nonce string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nonces[clientKey+"\x00"+nonce], nil
}

func (s *mapStore) Claim(ctx context.Context, u signing.Use) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claims++
	if s.err != nil && !s.after {
		return s.err
	}
	nonce := u.ClientKey + "\x00" + u.Nonce
	seen := s.signatures[u.Signature]
	if s.nonces[nonce] || seen.count > 0 && (seen.count >= u.Siblings || u.Seen.Sub(seen.first) > u.Window) {
		return signing.ErrReplayed
	}
	if seen.count == 0 {
		seen.first = u.Seen
	}
	seen.count++
	s.nonces[nonce], s.signatures[u.Signature] = true, seen
	return s.err
}

// keeping stores until when a claim must be kept.
type keeping struct{ keep time.Time }

func (s *keeping) Claim(_ context.Context, u signing.Use) error {
	s.keep = u.Keep
	return nil
}

// hanging never answers.
type hanging struct{}

func (hanging) Claim(ctx context.Context, _ signing.Use) error {
	<-ctx.Done()
	return ctx.Err()
}

type brokenCredentials struct{}

func (brokenCredentials) Credential(context.Context, string) (*signature.Credential, error) {
	return nil, http.ErrServerClosed
}
