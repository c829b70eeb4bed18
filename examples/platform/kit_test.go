package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

// patience is how long anything may take. It is long, so that no test fails on a
// busy machine.
const patience = time.Minute

// hashCost is the cost of the server's password hashes outside of these tests.
var hashCost = argon2Params

// TestMain makes hashes cheap, because each server hashes the demo's passwords, and
// key pairs, because each server makes the demo's.
func TestMain(m *testing.M) {
	flag.Set("test.parallel", "4") // many tests wait; the command line overrides it
	argon2Params.Memory, argon2Params.Iterations = 64, 1
	demoPair = new(pairs).of
	os.Exit(m.Run())
}

// pairs shares key pairs between servers. An app of the demo gets the pair that apps
// of its name have in all servers. Its next pair is a new one, as outside of tests.
type pairs struct {
	mu     sync.Mutex
	seen   map[string]bool // client keys
	shared map[string]*token.KeyPair
}

func (p *pairs) of(a *app) (*token.KeyPair, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[a.ClientKey] {
		return newPair(a)
	}
	if p.seen == nil {
		p.seen, p.shared = map[string]bool{}, map[string]*token.KeyPair{}
	}
	p.seen[a.ClientKey] = true
	if p.shared[a.Name] == nil {
		pair, err := newPair(a)
		if err != nil {
			return nil, err
		}
		p.shared[a.Name] = pair
	}
	pair := *p.shared[a.Name]
	pair.ClientKey, pair.Org = a.ClientKey, a.Org
	return &pair, nil
}

// TestHashesCostWhatOWASPNames checks the parameters of OWASP's cheat sheet.
func TestHashesCostWhatOWASPNames(t *testing.T) {
	t.Parallel()
	if hashCost.Memory != 19*1024 || hashCost.Iterations != 2 || hashCost.Parallelism != 1 {
		t.Errorf("%+v", hashCost)
	}
}

// server is a platform in this process, started by run.
type server struct {
	facts
	brand  string // header prefix
	faults string // fault namespace
	output *buffer
	log    *buffer
}

// start runs a platform with few demo messages on a free port, until the test ends.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	return startWith(t, fewMessages, args...)
}

// startWhole is start with the whole demo, which takes a while to seed.
func startWhole(t *testing.T, args ...string) *server {
	t.Helper()
	return startWith(t, 0, args...)
}

func startWith(t *testing.T, messages int, args ...string) *server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "facts.json")
	s := &server{brand: "Service-", faults: "service", output: new(buffer), log: new(buffer)}
	o, err := parseFlags(append([]string{"-addr", "127.0.0.1:0", "-db", memoryDB, "-demo-json", file}, args...), s.log)
	if err != nil {
		t.Fatal(err)
	}
	o.storeTimeout, o.demoMessages = patience, messages
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- run(ctx, o, s.output, s.log) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	s.await(t, file)
	return s
}

// await waits for the facts and reads them.
func (s *server) await(t *testing.T, file string) {
	t.Helper()
	for range 6000 {
		if text, err := os.ReadFile(file); err == nil {
			if err := json.Unmarshal(text, &s.facts); err != nil {
				t.Fatalf("facts: %v in %s", err, text)
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no facts after a minute; the log: %s", s.log)
}

// logged waits until the log has a line for every earlier request. The lines are in
// order.
func (s *server) logged(t *testing.T) {
	t.Helper()
	id := s.do(t, call{path: "/schemas"}).header.Get("Request-Id")
	for deadline := time.Now().Add(patience); !strings.Contains(s.log.String(), id); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("request %s is not in the log", id)
		}
	}
}

// parts returns a platform that does not listen, in memory unless the flags name
// another database. It is closed when the test ends.
func parts(t *testing.T, log io.Writer, args ...string) *platform {
	t.Helper()
	o, err := parseFlags(append([]string{"-db", memoryDB, "-base-url", "http://127.0.0.1"}, args...), log)
	if err != nil {
		t.Fatal(err)
	}
	o.storeTimeout = patience
	p, err := newPlatform(t.Context(), o, o.baseURL, o.newLog(log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close() })
	return p
}

// call is one request: GET as the demo org's own account, unless its fields say
// otherwise.
type call struct {
	method, path, body string // path below the org, with its query
	account            string
	unsigned           bool
	other              bool // as the other org's app, to the other org
	contentType        string
}

// answer is a reply.
type answer struct {
	status int
	header http.Header
	text   string
}

func (s *server) do(t *testing.T, c call) answer {
	t.Helper()
	org, key, secret := s.Org, s.ClientKey, s.ClientSecret
	if c.other {
		org, key, secret = s.OtherOrg, s.OtherClientKey, s.OtherClientSecret
	}
	if c.method == "" {
		c.method = http.MethodGet
	}
	r, err := http.NewRequest(c.method, s.BaseURL+"/"+org+"/v2"+c.path, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.contentType != "" {
		r.Header.Set("Content-Type", c.contentType)
	}
	if !c.unsigned {
		command, _, _ := strings.Cut(c.path, "?")
		s.sign(r, command, key, secret)
	}
	if c.account != "" {
		r.Header.Set(s.brand+"Client-Account", c.account)
	}
	return send(t, r)
}

// sign makes the signature of section 5.3 of the interface with the standard
// library only.
func (s *server) sign(r *http.Request, command, key, secret string) {
	timestamp := strconv.FormatInt(tick(), 10)
	mac := hmac.New(sha256.New, []byte(key+secret))
	fmt.Fprintf(mac, "%s;%s;%s", command, r.Method, timestamp)
	r.Header.Set(s.brand+"Client-Key", key)
	r.Header.Set(s.brand+"Client-Timestamp", timestamp)
	r.Header.Set(s.brand+"Client-Nonce", hex.EncodeToString(random(8)))
	r.Header.Set(s.brand+"Client-Signature", hex.EncodeToString(mac.Sum(nil)))
}

var ticks struct {
	sync.Mutex
	last int64
}

// tick returns the time in milliseconds, and never the same time twice. The second
// of two equal signatures would be a replay.
func tick() int64 {
	ticks.Lock()
	defer ticks.Unlock()
	ticks.last = max(ticks.last+1, time.Now().UnixMilli())
	return ticks.last
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func send(t *testing.T, r *http.Request) answer {
	t.Helper()
	client := http.Client{
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", r.Method, r.URL, err)
	}
	return answer{response.StatusCode, response.Header, string(text)}
}

// value is a JSON object.
type value = map[string]any

// ok checks that the reply is a success, and returns its body.
func (got answer) ok(t *testing.T) value {
	t.Helper()
	if got.status != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", got.status, got.text)
	}
	if got := got.header.Get("Content-Type"); got != "application/json; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	if got := got.header.Get("Cross-Origin-Resource-Policy"); got != "same-origin" {
		t.Errorf("Cross-Origin-Resource-Policy %q", got)
	}
	var body value
	if err := json.Unmarshal([]byte(got.text), &body); err != nil {
		t.Fatalf("%v: %s", err, got.text)
	}
	return body
}

// refused checks the fault of a reply, and returns its body.
func (s *server) refused(t *testing.T, got answer, status int, detail string) value {
	t.Helper()
	if got.status != status {
		t.Fatalf("status %d, want %d: %s", got.status, status, got.text)
	}
	var body value
	if err := json.Unmarshal([]byte(got.text), &body); err != nil {
		t.Fatalf("%v: %s", err, got.text)
	}
	want := value{"object": "fault", "status": float64(status), "errCode": s.faults + "." + detail}
	for name, want := range want {
		if body[name] != want {
			t.Errorf("%s is %v, want %v", name, body[name], want)
		}
	}
	for name, want := range map[string]string{
		"Content-Type":                 "application/json; charset=utf-8",
		"Cache-Control":                "no-store",
		"X-Content-Type-Options":       "nosniff",
		"Location":                     "",
		"Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := got.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if challenged := got.header.Get("WWW-Authenticate") != ""; challenged != (status == http.StatusUnauthorized) {
		t.Errorf("WWW-Authenticate is %q with status %d", got.header.Get("WWW-Authenticate"), status)
	}
	return body
}

// children returns the reasons in a fault, by path.
func children(fault value) map[string]string {
	reasons := make(map[string]string)
	faults, _ := fault["faults"].([]any)
	for _, child := range faults {
		path, _ := child.(value)["path"].(string)
		reasons[path], _ = child.(value)["reason"].(string)
	}
	return reasons
}

// items checks the form of a list and returns its data.
func items(t *testing.T, body value, more bool) []any {
	t.Helper()
	data, _ := body["data"].([]any)
	if diff := cmp.Diff(value{"object": "list", "data": body["data"], "hasMore": more}, body); diff != "" || data == nil {
		t.Fatalf("not such a list (-want +got):\n%s", diff)
	}
	return data
}

// buffer is a bytes.Buffer that two goroutines may use.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// newStore opens an empty store.
func newStore(t *testing.T) *store {
	t.Helper()
	s, err := openStore(t.Context(), memoryDB)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.close() })
	return s
}

// fewMessages are enough for the conversations that tests name.
const fewMessages = 256
