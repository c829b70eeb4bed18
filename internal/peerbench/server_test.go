package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

func TestServer(t *testing.T) {
	all := servers(t)
	plain := make([]contender, len(all))
	for i, s := range all {
		plain[i] = s.contender
	}
	check(t, "Server", plain)
}

// TestServersAnswerTheSame compares the properties in the replies of the plain server
// and of the reference server. A comparison with a server that sends less, or more,
// would be unfair.
func TestServersAnswerTheSame(t *testing.T) {
	address, _ := startPlain(t)
	f, _ := startReference(t)
	base := f.BaseURL + "/" + f.Org + "/v2"
	bearer := &http.Client{Transport: &token.Transport{BaseURL: base, Token: token.Token(f.EphemeralToken)}}
	for _, path := range []string{tenMessages, "/c_messages/" + messageID(1)} {
		plain, reference := membersOf(t, http.DefaultClient, address+path), membersOf(t, bearer, base+path)
		if !slices.Equal(plain, reference) {
			t.Errorf("%s: %q, and from the reference server %q", path, plain, reference)
		}
	}
}

// membersOf returns the names of the members of an object, or of all objects of a list.
func membersOf(t *testing.T, client *http.Client, address string) []string {
	t.Helper()
	response, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var reply map[string]json.RawMessage
	if err := json.NewDecoder(response.Body).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	items := []map[string]json.RawMessage{reply}
	if data, ok := reply["data"]; ok {
		if err := json.Unmarshal(data, &items); err != nil || len(items) != 10 {
			t.Fatalf("%d items: %v", len(items), err)
		}
	}
	names := make(map[string]bool)
	for _, item := range items {
		for name := range item {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// BenchmarkServer reports the CPU time that the server's process takes for each
// request, in place of the elapsed time. The client's share would hide the difference.
func BenchmarkServer(b *testing.B) {
	all := servers(b)
	for _, s := range all {
		for range 200 { // fill connections, statements and caches
			if err := s.good(); err != nil {
				b.Fatal(err)
			}
		}
	}
	for _, s := range thereAndBack(all) {
		b.Run(s.name, func(b *testing.B) {
			b.SetParallelism(max(1, connections/runtime.GOMAXPROCS(0)))
			before := cpuOf(b, s.pid)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.good(); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(cpuOf(b, s.pid)-before)/float64(b.N), unitTime)
		})
	}
}

// aServer is a contender that is its own process.
type aServer struct {
	contender
	pid int
}

// servers returns the plain server, and the reference server for each credential and
// for all of them in turn. All get the same requests.
func servers(t testing.TB) []aServer {
	transport := &http.Transport{MaxConnsPerHost: connections, MaxIdleConnsPerHost: connections, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	without := &http.Client{Transport: transport}

	address, plainPID := startPlain(t)
	plain := contender{name: "plain server", good: asks(t, address, without)}
	f, pid := startReference(t)
	base := f.BaseURL + "/" + f.Org + "/v2"
	bearer := func(value string) *http.Client {
		return &http.Client{Transport: &token.Transport{BaseURL: base, Token: token.Token(value), Base: transport}}
	}
	each := []*http.Client{
		{Transport: &signing.Transport{BaseURL: base, ClientKey: f.ClientKey, Secret: signing.Secret(f.ClientSecret), Base: transport}},
		bearer(f.EphemeralToken),
		loggedIn(t, transport, base, f),
	}
	refused := map[string]func() error{
		"no credential":      asks(t, base, without),
		"a wrong credential": asks(t, base, bearer("no.to.ken")),
	}
	all := []aServer{{plain, plainPID}, {contender{ours, asks(t, base, each...), refused}, pid}}
	for i, name := range []string{"tenantkit signature", "tenantkit bearer", "tenantkit session"} {
		all = append(all, aServer{contender{name, asks(t, base, each[i]), refused}, pid})
	}
	return all
}

// tenMessages requests a page with all properties that plainMessage has. Without paths
// the reference server would send only identifiers.
const tenMessages = "/c_messages?limit=10&paths[]=c_text&paths[]=c_author&paths[]=c_likes&paths[]=c_sent&paths[]=c_pinned&paths[]=c_meta.lang"

// asks sends the next request by the next client. Of ten requests, five read an object,
// four a page of ten, and one writes an object.
func asks(t testing.TB, base string, clients ...*http.Client) func() error {
	t.Helper()
	sent := new(atomic.Int64)
	return func() error {
		n := sent.Add(1)
		// Each client sends each kind of request.
		client, kind := clients[n%int64(len(clients))], n/int64(len(clients))%10
		switch {
		case kind == 9:
			return answered(client.Post(base+"/c_messages", "application/json", strings.NewReader(`{"c_text":"a new message","c_pinned":false}`)))
		case kind%2 == 1:
			return answered(client.Get(base + tenMessages))
		}
		return answered(client.Get(base + "/c_messages/" + messageID(int(n%100))))
	}
}

func answered(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%w: %d %s", errRefused, response.StatusCode, body)
	}
	return err
}

// demoFacts are the facts that the reference server writes about its demo.
type demoFacts struct {
	BaseURL         string `json:"base_url"`
	Org             string `json:"org"`
	ClientKey       string `json:"client_key"`
	ClientSecret    string `json:"client_secret"`
	EphemeralToken  string `json:"ephemeral_token"`
	AccountEmail    string `json:"account_email"`
	AccountPassword string `json:"account_password"`
}

// startReference builds and starts the reference server, with everything in memory. It
// is a program and cannot be imported.
func startReference(t testing.TB) (f demoFacts, pid int) {
	t.Helper()
	folder := t.TempDir()
	program, file := filepath.Join(folder, "platform"), filepath.Join(folder, "facts.json")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = "../../examples/platform"
	build.Env = append(os.Environ(), "GOWORK=") // build in the workspace, which does not include this module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(folder, "log")) // a file, as servers have
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(program, "-db", "memory:", "-addr", "127.0.0.1:0", "-demo-json", file)
	command.Stderr = log
	pid = startProcess(t, command)
	awaitJSON(t, file, &f)
	return f, pid
}

// plainFile makes this program the plain server, and names the file for its address.
const plainFile = "PEERBENCH_PLAIN_SERVER"

func startPlain(t testing.TB) (address string, pid int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "address.json")
	command := exec.Command(os.Args[0], "-test.run", "^TestPlainServer$")
	command.Env = append(os.Environ(), plainFile+"="+file)
	pid = startProcess(t, command)
	awaitJSON(t, file, &address)
	return address, pid
}

func startProcess(t testing.TB, command *exec.Cmd) (pid int) {
	t.Helper()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
	})
	return command.Process.Pid
}

// awaitJSON reads a file that a process writes once it listens.
func awaitJSON(t testing.TB, file string, to any) {
	t.Helper()
	for range 6000 {
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, to) == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %s after a minute", filepath.Base(file))
}

// loggedIn returns a client with a session.
func loggedIn(t testing.TB, transport http.RoundTripper, base string, f demoFacts) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: transport, Jar: jar}
	body, err := json.Marshal(map[string]string{"email": f.AccountEmail, "password": f.AccountPassword})
	if err != nil {
		t.Fatal(err)
	}
	if err := answered(client.Post(base+"/accounts/login", "application/json", bytes.NewReader(body))); err != nil {
		t.Fatal(err)
	}
	return client
}

// cpuOf returns the CPU time of all threads of a process. This clock has a resolution
// of nanoseconds, while getrusage counts hundredths of a second.
func cpuOf(t testing.TB, pid int) (ns int64) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		t.Skip("this system does not tell the CPU of a process in /proc")
	}
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has just ended
		}
		used, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(used, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ns += n
	}
	return ns
}
