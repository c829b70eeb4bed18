package enginetest

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// These tests use the reference server as its users do: several processes with one database, over
// HTTP. The requests share no code with the library.

// platformBase is the base URL of all instances, as of a proxy in front of them. It is a loopback
// URL, so cookies have no prefix.
const platformBase = "http://127.0.0.1:1"

var built struct {
	once         sync.Once
	folder, path string
	err          error
}

// platformProgram builds the reference server.
func platformProgram(t testing.TB) string {
	t.Helper()
	built.once.Do(func() {
		built.folder, built.err = os.MkdirTemp("", "platform")
		if built.err != nil {
			return
		}
		built.path = filepath.Join(built.folder, "platform")
		build := exec.Command("go", "build", "-o", built.path, "./platform")
		build.Dir = "../../examples"
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// fleet is a set of instances of the reference server that share their stores.
type fleet struct {
	args      []string
	instances []*instance
	facts     map[string]string
	ticks     atomic.Int64
}

type instance struct {
	url     string
	process *exec.Cmd
	log     *lockedBuffer
}

// homesOfFleets are the kinds of stores to test, with the flags that start an instance on them.
var homesOfFleets = map[string]func(t *testing.T) []string{
	"SQLite": func(t *testing.T) []string {
		return []string{"-db", "sqlite:" + filepath.Join(t.TempDir(), "platform.db")}
	},
	"SQLite and Redis": func(t *testing.T) []string {
		return []string{"-db", "sqlite:" + filepath.Join(t.TempDir(), "platform.db"), "-redis", "redis://" + startRedis(t).addr()}
	},
	"PostgreSQL": postgresArgs,
	"PostgreSQL and Redis": func(t *testing.T) []string {
		return append(postgresArgs(t), "-redis", "redis://"+startRedis(t).addr())
	},
}

// postgresArgs returns the flags for a new database.
func postgresArgs(t *testing.T) []string {
	t.Helper()
	at := durablePostgres(t)
	db := openDB(t, "pgx", at)
	name := fmt.Sprintf("fleet%d", prefixes.Add(1))
	if _, err := db.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return []string{
		"-db", strings.Replace(at, "/postgres?", "/"+name+"?", 1),
		"-sealing-key-file", filepath.Join(t.TempDir(), "key"),
	}
}

// newFleet starts n instances concurrently on empty stores (K07), and lets one of them seed the
// demo orgs.
func newFleet(t *testing.T, n int, args []string) *fleet {
	t.Helper()
	f := &fleet{args: args}
	file := filepath.Join(t.TempDir(), "facts.json")
	for i := range n {
		more := []string{"-demo=false"}
		if i == 0 {
			more = []string{"-demo-json", file}
		}
		f.instances = append(f.instances, f.launch(t, more...))
	}
	for _, i := range f.instances {
		i.await(t)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &f.facts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fleet) launch(t *testing.T, more ...string) *instance {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	i := &instance{url: "http://127.0.0.1:" + port, log: new(lockedBuffer)}
	args := append([]string{
		"-addr", "127.0.0.1:" + port, "-base-url", platformBase, "-log", "json",
		"-store-timeout", patience.String(), // a slow disk must not fail the test
	}, f.args...)
	i.process = exec.Command(platformProgram(t), append(args, more...)...)
	i.process.Stderr = i.log
	i.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(i.process.SysProcAttr)
	if err := i.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(i.kill)
	return i
}

func (i *instance) await(t *testing.T) {
	t.Helper()
	ready := until(func() bool {
		reply, err := http.Get(i.url + "/readyz")
		if err != nil {
			return false
		}
		reply.Body.Close()
		return reply.StatusCode == http.StatusOK
	})
	if !ready {
		t.Fatalf("an instance does not answer; its log:\n%s", i.log)
	}
}

func (i *instance) kill() {
	i.process.Process.Kill()
	i.process.Wait() // returns only that it was killed
}

// restart kills all instances, some of them while they handle requests, and starts new ones.
func (f *fleet) restart(t *testing.T) {
	t.Helper()
	for at, i := range f.instances {
		i.kill()
		f.instances[at] = f.launch(t, "-demo=false")
	}
	for _, i := range f.instances {
		i.await(t)
	}
}

// wish is one request.
type wish struct {
	method, path, body string
	header             http.Header
}

type outcome struct {
	status int
	detail string // errCode without its namespace
	body   []byte
	header http.Header
}

func (f *fleet) send(t *testing.T, at int, w wish) outcome {
	return f.sendBy(t, &http.Client{Timeout: patience}, at, w)
}

// sendBy is send with a client, which determines the source address of the request.
func (f *fleet) sendBy(t *testing.T, client *http.Client, at int, w wish) outcome {
	r, err := http.NewRequest(w.method, f.instances[at%len(f.instances)].url+"/acme/v2"+w.path, strings.NewReader(w.body))
	if err != nil {
		t.Error(err)
		return outcome{}
	}
	if w.header != nil {
		r.Header = w.header.Clone()
	}
	if w.body != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return outcome{}
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Error(err)
	}
	var fault struct{ ErrCode string }
	json.Unmarshal(body, &fault) // a list has no fault
	_, detail, _ := strings.Cut(fault.ErrCode, ".")
	return outcome{reply.StatusCode, detail, body, reply.Header}
}

func (o outcome) data(t *testing.T) map[string]any {
	t.Helper()
	var reply struct{ Data map[string]any }
	if err := json.Unmarshal(o.body, &reply); err != nil || o.status != http.StatusOK {
		t.Fatalf("%d %s %v", o.status, o.body, err)
	}
	return reply.Data
}

// signed returns a request of the demo app, signed by section 5.3 of the interface.
func (f *fleet) signed(method, path, body string) wish {
	return f.signedBy(f.facts["client_key"], f.facts["client_secret"], method, path, body)
}

// signedBy is signed for any app.
func (f *fleet) signedBy(clientKey, secret, method, path, body string) wish {
	// Never use a time twice: the second of two equal signatures is a replay.
	var now int64
	for {
		last := f.ticks.Load()
		now = max(last+1, time.Now().UnixMilli())
		if f.ticks.CompareAndSwap(last, now) {
			break
		}
	}
	timestamp := strconv.FormatInt(now, 10)
	command, _, _ := strings.Cut(path, "?")
	mac := hmac.New(sha256.New, []byte(clientKey+secret))
	fmt.Fprintf(mac, "%s;%s;%s", command, method, timestamp)
	return wish{method, path, body, http.Header{
		"Service-Client-Key":       {clientKey},
		"Service-Client-Timestamp": {timestamp},
		"Service-Client-Nonce":     {hex.EncodeToString(mac.Sum(nil))[:16]},
		"Service-Client-Signature": {hex.EncodeToString(mac.Sum(nil))},
	}}
}

func bearing(method, path, token string) wish {
	return wish{method, path, "", http.Header{"Authorization": {"Bearer " + token}}}
}

func (f *fleet) login(t *testing.T, at int) (cookie string) {
	t.Helper()
	got := f.send(t, at, wish{"POST", "/accounts/login", f.credentials(f.facts["account_password"]), nil})
	cookie, _, _ = strings.Cut(got.header.Get("Set-Cookie"), ";")
	if got.status != http.StatusOK || !strings.HasPrefix(cookie, "session-acme=") {
		t.Fatalf("login: %d %s", got.status, got.body)
	}
	return cookie
}

func (f *fleet) credentials(password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, f.facts["account_email"], password)
}

func withCookie(method, path, cookie string) wish {
	return wish{method, path, "", http.Header{"Cookie": {cookie}}}
}

// race sends n requests, spread over the instances, and counts the outcomes.
func (f *fleet) race(t *testing.T, n int, w func() wish) map[string]int {
	t.Helper()
	var mu sync.Mutex
	counts := make(map[string]int)
	var all sync.WaitGroup
	gate := make(chan struct{}, 24)
	for i := range n {
		all.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			got := f.send(t, i, w())
			mu.Lock()
			defer mu.Unlock()
			counts[fmt.Sprintf("%d %s", got.status, got.detail)]++
		})
	}
	all.Wait()
	return counts
}

// races sends n concurrent requests of one kind and expects these outcomes. If a store is too slow
// for the Guard, the answer is 503, which may have spent a use. Then at most these outcomes may be
// accepted, and races tries again with new requests.
func (f *fleet) races(t *testing.T, n int, want map[string]int, newWish func() wish) {
	t.Helper()
	decided := until(func() bool {
		w := newWish()
		got := f.race(t, n, func() wish { return w })
		if got[unavailable] == 0 {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return true
		}
		if got[ok] > want[ok] {
			t.Errorf("%d were accepted, want %d", got[ok], want[ok])
		}
		return false
	})
	if !decided {
		t.Error("the stores are too slow, all the time")
	}
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
