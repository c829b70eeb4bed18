package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

func TestOutsideTheOrgs(t *testing.T) {
	t.Parallel()
	s := start(t)
	get := func(t *testing.T, path string) answer {
		t.Helper()
		r, err := http.NewRequest("GET", s.BaseURL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return send(t, r)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if got := get(t, path).ok(t); got["status"] != "ok" {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestServerTimeOnEveryReply has one row for each kind of route and of refusal.
func TestServerTimeOnEveryReply(t *testing.T) {
	t.Parallel()
	p := parts(t, io.Discard, "-header-prefix", "Acme-")
	if _, err := p.seed(t.Context(), options{demoMessages: fewMessages}); err != nil {
		t.Fatal(err)
	}
	routes := p.routes()
	routes.HandleFunc("GET /panic", auth.Public, func(http.ResponseWriter, *http.Request) { panic("inside") })
	serves := p.handler(routes)
	down := *p
	down.ready = &readiness{stores: []func(context.Context) error{func(context.Context) error { return errors.New("down") }}}
	panics := p.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("outside") }))

	for _, test := range []struct {
		name         string
		server       http.Handler
		method, path string
		body         string
		want         int
	}{
		{"the page", serves, "GET", "/", "", 200},
		{"the page's head", serves, "HEAD", "/", "", 200},
		{"a file of the page", serves, "GET", consoleAt("console.css"), "", 200},
		{"a file that is unchanged", serves, "GET", consoleAt("console.js"), "", 304},
		{"a file by another method", serves, "DELETE", consoleAt("console.js"), "", 405},
		{"no file", serves, "GET", "/console.html", "", 404},
		{"the page's brand", serves, "GET", "/console/brand", "", 200},
		{"a decision about a scope", serves, "POST", "/console/scope", `{"grants":[""],"need":"admin.read"}`, 200},
		{"a question about no scope", serves, "POST", "/console/scope", `{"need":"no.need"}`, 400},
		{"a long question", serves, "POST", "/console/scope", `{"need":"` + strings.Repeat("x", maxQuestion) + `"}`, 413},
		{"a question by another method", serves, "GET", "/console/scope", "", 405},
		{"a QR code", serves, "POST", "/console/qr", `{"text":"otpauth://totp/acme"}`, 200},
		{"a QR code of a link", serves, "POST", "/console/qr", `{"text":"https://elsewhere.example"}`, 400},
		{"the process", serves, "GET", "/healthz", "", 200},
		{"the process by another method", serves, "POST", "/healthz", "", 405},
		{"the stores", serves, "GET", "/readyz", "", 200},
		{"the stores by another method", serves, "PUT", "/readyz", "", 405},
		{"stores that are down", down.handler(routes), "GET", "/readyz", "", 503},
		{"nothing", serves, "GET", "/nothing", "", 404},
		{"no path", serves, "OPTIONS", "*", "", 400},
		{"a path that is refused", serves, "GET", "/acme//v2", "", 400},
		{"no method", serves, "BREW", "/acme/v2/schemas", "", 405},
		{"another version", serves, "GET", "/acme/v9/schemas", "", 400},
		{"no org", serves, "GET", "/nobody/v2/schemas", "", 404},
		{"a route", serves, "GET", "/acme/v2/accounts/status", "", 200},
		{"keys", serves, "GET", "/acme/v2/auth/certs/jwk", "", 200},
		{"a route by another method", serves, "PUT", "/acme/v2/accounts/status", "", 405},
		{"a route that is refused", serves, "GET", "/acme/v2/schemas", "", 401},
		{"no route", serves, "GET", "/acme/v2/a/b/c/d/e", "", 404},
		{"a panic inside", serves, "GET", "/acme/v2/panic", "", 500},
		{"a panic outside", panics, "GET", "/nothing", "", 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
			if test.body != "" {
				r.Header.Set("Content-Type", "application/json")
			}
			if test.want == 304 {
				r.Header.Set("If-None-Match", `"`+console[test.path].tag+`"`)
			}
			w, before := httptest.NewRecorder(), time.Now().UnixMilli()
			test.server.ServeHTTP(w, r)
			times := w.Result().Header["Acme-Server-Time"]
			if w.Code != test.want || len(times) != 1 || w.Result().Header.Get("Service-Server-Time") != "" {
				t.Fatalf("status %d, want %d, at %v: %s", w.Code, test.want, times, w.Body)
			}
			if at, err := strconv.ParseInt(times[0], 10, 64); err != nil || at < before || at > time.Now().UnixMilli() {
				t.Errorf("%s is not the time: %v", times[0], err)
			}
		})
	}
}

// TestPanic adds routes that panic to those of the platform.
func TestPanic(t *testing.T) {
	t.Parallel()
	log := new(buffer)
	p := parts(t, log, "-fault-namespace", "acme")
	f, err := p.seed(t.Context(), options{demoMessages: fewMessages})
	if err != nil {
		t.Fatal(err)
	}
	routes := p.routes()
	routes.HandleFunc("GET /panic", auth.Public, func(http.ResponseWriter, *http.Request) {
		panic("the cause")
	})
	routes.HandleFunc("GET /panic/late", auth.Public, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half of a")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		panic("the late cause")
	})
	routes.HandleFunc("GET /failure", auth.Public, reply(func(*http.Request) (value, error) {
		return nil, errors.New("the quiet cause")
	}))
	routes.HandleFunc("GET /unwritable", auth.Public, reply(func(*http.Request) (value, error) {
		return value{"_id": func() {}}, nil
	}))
	panics := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the outer cause") })
	outside := http.NewServeMux()
	outside.Handle("/acme/", routes)
	outside.Handle("/", panics)
	web := httptest.NewServer(p.handler(outside))
	defer web.Close()
	f.BaseURL = web.URL
	s := &server{facts: *f, brand: "Service-", faults: "acme"}

	for path, cause := range map[string]string{
		"/panic":      "the cause",
		"/failure":    "the quiet cause",
		"/unwritable": "json: unsupported type: func()",
		"outside":     "the outer cause",
	} {
		r, err := http.NewRequest("GET", web.URL+"/acme/v2"+path, nil)
		if path == "outside" {
			r, err = http.NewRequest("GET", web.URL+"/outside", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := send(t, r)
		if fault := s.refused(t, got, 500, "error.unspecified"); fault["message"] != "Internal error." {
			t.Errorf("%s: message %v", path, fault["message"])
		}
		if strings.Contains(got.text, "cause") || strings.Contains(got.text, "goroutine") {
			t.Errorf("%s tells why: %s", path, got.text)
		}
		if id := got.header.Get("Request-Id"); id == "" || !strings.Contains(log.String(), id) || !strings.Contains(log.String(), cause) {
			t.Errorf("%s: request %q and %q are not in the log:\n%s", path, id, cause, log)
		}
	}
	late, err := http.Get(web.URL + "/acme/v2/panic/late")
	if err != nil {
		t.Fatal(err)
	}
	defer late.Body.Close()
	if body, err := io.ReadAll(late.Body); err == nil {
		t.Errorf("a reply that was cut off reads as a whole one: %q", body)
	}
	s.do(t, call{path: "/schemas"}).ok(t) // the server still runs
}

func TestBrand(t *testing.T) {
	t.Parallel()
	s := start(t, "-header-prefix", "Acme-", "-claim-namespace", "acme/", "-fault-namespace", "acme")
	s.brand, s.faults = "Acme-", "acme"
	got := s.do(t, call{path: "/accounts/me"})
	got.ok(t)
	if got.header.Get("Acme-Server-Time") == "" || got.header.Get("Service-Server-Time") != "" {
		t.Errorf("headers %v", got.header)
	}
	s.refused(t, s.do(t, call{path: "/c_messages?limit=0"}), 400, "invalidArgument.query")
	s.refused(t, s.do(t, call{path: "/nothing"}), 404, "notFound.unspecified")
	s.brand = "Service-"
	s.refused(t, s.do(t, call{path: "/accounts/me"}), 401, "accessDenied.noCredentialsSupplied")
}

func TestReplayPolicy(t *testing.T) {
	t.Parallel()
	twice := func(t *testing.T, s *server, method string) answer {
		t.Helper()
		r, err := http.NewRequest(method, s.BaseURL+"/acme/v2/c_messages", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		s.sign(r, "/c_messages", s.ClientKey, s.ClientSecret)
		send(t, r).ok(t)
		again := r.Clone(t.Context())
		again.Body, _ = r.GetBody()
		again.Header.Set("Service-Client-Nonce", strings.Repeat("n", 16))
		return send(t, again)
	}
	t.Run("the recommended one", func(t *testing.T) {
		s := start(t)
		twice(t, s, "GET").ok(t)
		s.refused(t, twice(t, s, "POST"), 401, "accessDenied.replayedRequest")
	})
	t.Run("-single-use", func(t *testing.T) {
		s := start(t, "-single-use")
		s.refused(t, twice(t, s, "GET"), 401, "accessDenied.replayedRequest")
	})
	t.Run("-unsafe-method-siblings", func(t *testing.T) {
		twice(t, start(t, "-unsafe-method-siblings"), "POST").ok(t)
	})
	t.Run("-tolerance and -future-tolerance", func(t *testing.T) {
		s := start(t, "-tolerance", "1ms", "-future-tolerance", "1ms")
		r, err := http.NewRequest("GET", s.BaseURL+"/acme/v2/schemas", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.sign(r, "/schemas", s.ClientKey, s.ClientSecret)
		time.Sleep(20 * time.Millisecond)
		s.refused(t, send(t, r), 401, "invalidArgument.staleRequestSignature")
	})
}

func TestFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, args, want string
	}{
		{"another database", "-db mysql://x", "memory:, sqlite:FILE or postgres://"},
		{"a remote database", "-sealing-key-file k -db postgres://db.example.com/x", "-unsafe-plaintext-database"},
		{"a remote database that may do without TLS", "-sealing-key-file k -db postgres://db.example.com/x?sslmode=prefer", "-unsafe-plaintext-database"},
		{"a remote database that would do without TLS", "-sealing-key-file k -db postgres://db.example.com/x?sslmode=allow", "-unsafe-plaintext-database"},
		{"a remote database without TLS", "-sealing-key-file k -db postgres://192.0.2.1/x?sslmode=disable", "-unsafe-plaintext-database"},
		{"two databases, one of them remote", "-sealing-key-file k -db postgres://127.0.0.1,192.0.2.1/x?sslmode=disable", "-unsafe-plaintext-database"},
		{"a remote host given as a parameter", "-sealing-key-file k -db postgres:///x?host=192.0.2.1&sslmode=disable", "-unsafe-plaintext-database"},
		{"a remote database with anybody's certificate", "-sealing-key-file k -db postgres://db.example.com/x?sslmode=require", "sslmode=verify-full"},
		{"a remote database with any CA's certificate of any name", "-sealing-key-file k -db postgres://db.example.com/x?sslmode=verify-ca", "sslrootcert"},
		{"a remote Redis without TLS", "-redis redis://redis.example.com", "-unsafe-plaintext-redis"},
		{"a remote Redis by its address", "-redis redis://user:pass@192.0.2.1:6379/1", "rediss://"},
		{"a remote Redis with anybody's certificate", "-redis rediss://redis.example.com?skip_verify=true", "-unsafe-plaintext-redis"},
		{"a remote Redis beside a remote database in the clear", "-sealing-key-file k -db postgres://db.example.com/x -unsafe-plaintext-database -redis redis://192.0.2.1", "-unsafe-plaintext-redis"},
		{"a header without proxies", "-client-addr-header X-Real-Ip", "both or neither"},
		{"proxies without a header", "-trusted-proxies 10.0.0.0/8", "both or neither"},
		{"a header that is none", "-client-addr-header X_Real:Ip -trusted-proxies 10.0.0.0/8", "not the name of a header"},
		{"a proxy's address for its network", "-client-addr-header X-Real-Ip -trusted-proxies 10.0.0.1", "networks such as"},
		{"host bits in a network", "-client-addr-header X-Real-Ip -trusted-proxies 10.0.0.1/8", "networks such as"},
		{"everybody a proxy", "-client-addr-header X-Real-Ip -trusted-proxies 10.0.0.0/8,0.0.0.0/0", "networks such as"},
		{"an issuer without a name", "-issuer acme=https://id.example,notes", "ORG:NAME=URL,AUDIENCE,JWKS"},
		{"an issuer without an audience", "-issuer acme:id=https://id.example", "ORG:NAME=URL,AUDIENCE,JWKS"},
		{"an issuer with more", "-issuer acme:id=https://id.example,a,b,c", "ORG:NAME=URL,AUDIENCE,JWKS"},
		{"a log format", "-log xml", "text or json"},
		{"no tolerance", "-tolerance 0s", "a millisecond or more"},
		{"no future tolerance", "-future-tolerance -1s", "a millisecond or more"},
		{"a log level", "-log-level loud", `invalid value "loud" for flag -log-level: slog: level string "loud": unknown name`},
		{"an argument", "now", `unexpected argument "now"`},
		{"an unknown flag", "-nope", "not defined: -nope; platform -help lists the flags"},
		{"a misspelled flag", "-adr :0", "not defined: -adr;"},
		{"a misspelled flag with two dashes", "--sigle-use", "not defined: -sigle-use;"},
		{"a flag without its value", "-db", "flag needs an argument: -db; platform -help lists the flags"},
		{"a time without a unit", "-tolerance 5", `invalid value "5" for flag -tolerance`},
		{"neither true nor false", "-demo=maybe", `invalid boolean value "maybe" for -demo`},
		{"another version of signatures", "-signature-versions 3", "-signature-versions is 1, 2 or 1,2"},
		{"an address without a port", "-addr localhost", `-addr "localhost": a host and a port`},
		{"a port that there is not", "-addr 127.0.0.1:99999", `-addr "127.0.0.1:99999": a host and a port`},
		{"a base URL of another kind", "-base-url ftp://host", "-base-url: http:// or https://"},
		{"a base URL with a slash at its end", "-base-url http://host/", "-base-url: http:// or https://"},
		{"an address that is not of a PostgreSQL", "-sealing-key-file k -db postgres://h:x/y", "-db: not the address of a PostgreSQL"},
		{"an address that is not of a Redis", "-redis http://u:p@127.0.0.1", "-redis: not the address of a Redis"},
		{"a prefix that no header has", "-header-prefix A:B", `-header-prefix "A:B": letters, digits and hyphens`},
		{"a namespace of two words", "-fault-namespace a.b", `-fault-namespace "a.b": one word`},
		{"a cookie of two orgs", "-session-cookie {org}-{org}", `-session-cookie "{org}-{org}": the name of a cookie`},
		{"a ticket that is no cookie", "-ticket-cookie a;b", `-ticket-cookie "a;b": the name of a cookie`},
		{"a page of errors with a fragment", "-docs-url http://host/errors#top", "-docs-url: http:// or https://"},
		{"a base URL with a password", "-base-url http://u:p@host", "-base-url: http:// or https://"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stderr bytes.Buffer
			_, err := parseFlags(strings.Fields(test.args), &stderr)
			if err == nil || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("%v, printed: %s", err, &stderr)
			}
			if text := stderr.String(); !strings.HasPrefix(text, "platform: ") || strings.Index(text, "\n") != len(text)-1 {
				t.Errorf("not one line: %q", text)
			}
		})
	}
	for _, test := range []struct {
		args, listening string
		want            bool
	}{
		{"", "127.0.0.1:8080", true},
		{"", "[::1]:8080", true},
		{"-db memory:", "127.0.0.1:8080", true},
		{"-db sqlite:own.db", "127.0.0.1:8080", false},
		{"-db sqlite:own.db -demo", "127.0.0.1:8080", true},
		{"", "0.0.0.0:8080", false},
		{"", "192.0.2.1:8080", false},
		{"-demo", "0.0.0.0:8080", true},
		{"-demo=false", "127.0.0.1:8080", false},
		{"-demo-json facts.json", "0.0.0.0:8080", true},
		{"-base-url https://api.example.com", "127.0.0.1:8080", false},
		{"-base-url https://127.0.0.1.example.com", "127.0.0.1:8080", false},
		{"-base-url http://localhost:9090", "127.0.0.1:8080", true},
		{"-base-url http://[::1]:9090", "127.0.0.1:8080", true},
		{"-base-url https://api.example.com -demo", "127.0.0.1:8080", true},
		{"-base-url https://api.example.com -demo-json facts.json", "127.0.0.1:8080", true},
	} {
		t.Run("seeding with "+test.args+" at "+test.listening, func(t *testing.T) {
			o, err := parseFlags(strings.Fields(test.args), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			address, err := net.ResolveTCPAddr("tcp", test.listening)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.seedsDemo(address, true); got != test.want {
				t.Errorf("got %v", got)
			}
			said := o.isGiven("demo") || o.demoJSON != ""
			if got := o.seedsDemo(address, false); got != (test.want && said) {
				t.Errorf("in a database that holds something: %v", got)
			}
		})
	}
	ca := aCA(t)
	for _, address := range []string{
		"postgres://db.example.com/x?sslmode=verify-full",
		"postgres://db.example.com/x?sslmode=verify-ca&sslrootcert=" + ca, "postgres://db.example.com/x?sslmode=require&sslrootcert=" + ca,
		"postgres://127.0.0.1/x", "postgres://localhost/x?sslmode=disable", "postgres://[::1]/x?sslmode=disable",
		"postgres:///x?host=/run/postgresql", "postgres://db.example.com/x?sslmode=disable -unsafe-plaintext-database",
		"postgres://db.example.com/x?sslmode=require -unsafe-plaintext-database",
		"memory: -redis redis://127.0.0.1:6379", "memory: -redis redis://localhost", "memory: -redis redis://[::1]:6379/1",
		"memory: -redis unix:///run/redis.sock", "memory: -redis rediss://redis.example.com",
		"memory: -redis redis://redis.example.com -unsafe-plaintext-redis",
		"memory: -redis rediss://redis.example.com?skip_verify=true -unsafe-plaintext-redis",
	} {
		t.Run("a database at "+address, func(t *testing.T) {
			if _, err := parseFlags(strings.Fields("-sealing-key-file k -db "+address), io.Discard); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a brand that cannot be is an error, not a panic", func(t *testing.T) {
		o, err := parseFlags([]string{"-db", memoryDB, "-addr", "127.0.0.1:0"}, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		o.brand.Header = "not a name" // which parseFlags refuses
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := run(ctx, o, io.Discard, io.Discard); err == nil {
			t.Error("it ran")
		}
	})
}

// aCA returns the file of a CA certificate.
func aCA(t *testing.T) string {
	t.Helper()
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestDrain runs the server as a program of its own, because a signal ends it.
func TestDrain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program, file := filepath.Join(folder, "platform"), filepath.Join(folder, "facts.json")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	s := &server{brand: "Service-", faults: "service", log: new(buffer)}
	command := exec.Command(program, "-db", memoryDB, "-addr", "127.0.0.1:0", "-demo-json", file, "-log", "json", "-store-timeout", patience.String())
	command.Stderr = s.log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Process.Kill()
	s.await(t, file)

	// This request is in flight, because its handler waits for the body.
	body, rest := io.Pipe()
	waits := make(chan struct{})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got100Continue: func() { close(waits) }})
	r, err := http.NewRequestWithContext(ctx, "POST", s.BaseURL+"/acme/v2/c_messages", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Expect", "100-continue")
	s.sign(r, "/c_messages", s.ClientKey, s.ClientSecret)
	replies := make(chan *http.Response)
	go func() {
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
		}
		replies <- reply
	}()
	select {
	case <-waits:
	case <-time.After(patience):
		t.Fatalf("the handler does not ask for the body; the log: %s", s.log)
	}

	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(s.BaseURL, "http://")
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			break // the server has stopped listening
		}
		conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("it still listens")
		}
	}
	io.WriteString(rest, `{"c_text":"at last"}`)
	rest.Close()
	reply := <-replies
	if reply == nil {
		t.FailNow()
	}
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != 200 || !strings.Contains(string(text), "at last") {
		t.Errorf("%d %s %v", reply.StatusCode, text, err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
	for line := range strings.Lines(s.log.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
}

func TestAnAnswerThatDoesNotCome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := reply(func(r *http.Request) (bool, error) {
			<-r.Context().Done()
			return true, storeFailed(r.Context().Err())
		})
		got := httptest.NewRecorder()
		h(got, httptest.NewRequest("GET", "/", nil))
		if got.Code != http.StatusServiceUnavailable {
			t.Errorf("status %d", got.Code)
		}
	})
}
