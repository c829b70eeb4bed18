package forward_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/examples/forward"
)

// fronts are the front doors, each with its configuration. Their programs are those of the system.
var fronts = []struct {
	name, program, config string
	from                  forward.Headers
	args                  func(config string) []string
	broken                int // the status for what the Door refuses with neither 401 nor 403
	second                int // the status for a signature of version 2
}{
	{"nginx", "nginx", "nginx.conf", forward.Nginx, func(config string) []string {
		return []string{"-p", filepath.Dir(config), "-e", "stderr", "-c", config}
	}, 500, 200},
	{"Caddy", "caddy", "Caddyfile", forward.ForwardAuth, func(config string) []string {
		return []string{"run", "--adapter", "caddyfile", "--config", config}
	}, 400, 400},
	{"HAProxy", "haproxy", "haproxy.cfg", forward.Nginx, func(config string) []string {
		return []string{"-db", "-f", config}
	}, 400, 200},
}

// TestFrontDoors sends requests through real front doors.
func TestFrontDoors(t *testing.T) {
	for _, front := range fronts {
		t.Run(front.name, func(t *testing.T) {
			program, err := exec.LookPath(front.program)
			if err != nil && os.Getenv("REQUIRE_ENGINES") != "1" {
				t.Skip(err) // CI installs it
			}
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t)
			answers := w.door(front.from)
			door := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if from := strings.Join(r.Header["X-Forwarded-For"], ", "); !strings.HasSuffix(from, "127.0.0.1") {
					t.Errorf("the Door could take %q for the client's address", from)
				}
				answers.ServeHTTP(rw, r)
			}))
			defer door.Close()
			service := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.RawQuery == spelt {
					json.NewEncoder(rw).Encode(r.Header)
					return
				}
				body, _ := io.ReadAll(r.Body)
				identity := []string{r.Method, r.RequestURI, strings.Join(r.Header[forward.Account], "+"), r.Header.Get(forward.Roles), r.Header.Get("Authorization"), string(body)}
				io.WriteString(rw, strings.Join(identity, "|"))
			}))
			defer service.Close()
			at := launch(t, program, front.config, front.args, door, service)

			bearer := http.Header{"Authorization": {"Bearer " + w.token}}
			with := func(name, value string) http.Header {
				h := bearer.Clone()
				h[name] = []string{value}
				return h
			}
			removing := func(name, value string) http.Header {
				h := with(name, value)
				h["Connection"] = []string{name}
				return h
			}
			claiming := func(h http.Header) http.Header {
				h.Set("X-Original-Body", "none")
				return h
			}
			const path = "/acme/v2/notes?x=%20"
			const seen = "|/acme/v2/notes?x=%20|ann|member,night%2C%20shift||"
			signed := w.headers(t, 1, "GET", path, "")
			for _, c := range []struct {
				name, method, body string
				header             http.Header
				status             int
				text               string
			}{
				{"a token", "GET", "", bearer, 200, "GET" + seen},
				{"a token, and a body for the service", "POST", "hello", bearer, 200, "POST" + seen + "hello"},
				{"a signature", "GET", "", signed, 200, "GET" + seen},
				{"the same again", "GET", "", signed, 401, ""},
				{"a signature of version 2", "GET", "", w.headers(t, 2, "GET", path, ""), front.second, "GET" + seen},
				{"a signature of version 2, and a body that it does not cover", "GET", "hello", w.headers(t, 2, "GET", path, ""), front.broken, ""},
				{"the same in chunks", "GET", "in chunks", w.headers(t, 2, "GET", path, ""), front.broken, ""},
				{"a signature of version 2 that covers a body", "POST", "hello", w.headers(t, 2, "POST", path, "hello"), front.broken, ""},
				{"a signature for another method", "POST", "", w.headers(t, 1, "GET", path, ""), 401, ""},
				{"nothing", "GET", "", nil, 401, ""},
				{"an identity of the client's own", "GET", "", with("X-Auth-Account", "root"), front.broken, ""},
				{"an identity to be removed on the way", "GET", "", with("Connection", "X-Auth-Account, X-Auth-Roles"), 200, "GET" + seen},
				{"an identity that the Door should not see", "GET", "", removing("X-Auth-Account", "root"), front.broken, ""},
				{"an address", "GET", "", with("X-Forwarded-For", "10.0.0.1"), 200, "GET" + seen},
				{"a word that there is no body", "GET", "hello", claiming(w.headers(t, 2, "GET", path, "")), 0, ""},
				{"another URI", "GET", "", with("X-Forwarded-Uri", "/acme/v2/other"), 0, ""},
				{"another original URI", "GET", "", with("X-Original-Uri", "/acme/v2/other"), 0, ""},
				{"an identity with underscores", "GET", "", with("X_Auth_Account", "root"), 0, ""},
			} {
				t.Run(c.name, func(t *testing.T) {
					r, err := http.NewRequestWithContext(t.Context(), c.method, at+path, strings.NewReader(c.body))
					if err != nil {
						t.Fatal(err)
					}
					if c.header != nil {
						r.Header = c.header
					}
					if c.body == "in chunks" {
						r.ContentLength = -1
					}
					reply, err := http.DefaultClient.Do(r)
					if err != nil {
						t.Fatal(err)
					}
					defer reply.Body.Close()
					text, _ := io.ReadAll(reply.Body)
					switch {
					case c.status == 0 && reply.StatusCode == 200 && string(text) != "GET"+seen:
						t.Errorf("the service takes it for %s", text)
					case c.status != 0 && reply.StatusCode != c.status, c.status == 200 && string(text) != c.text:
						t.Errorf("got %d %s, want %d %s", reply.StatusCode, text, c.status, c.text)
					}
					if reply.StatusCode == 401 && reply.Header.Get("WWW-Authenticate") == "" { // nginx passes on one of several
						t.Error("no challenge")
					}
				})
			}
			for _, name := range spellings {
				t.Run("O39b "+name, func(t *testing.T) { checkSpelling(t, at+"/acme/v2/notes?"+spelt, bearer.Clone(), name) })
			}
			door.Close()
			t.Run("without a Door nobody is admitted", func(t *testing.T) {
				r, err := http.NewRequestWithContext(t.Context(), "GET", at+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header = bearer
				reply, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				reply.Body.Close()
				if reply.StatusCode < 500 {
					t.Errorf("got %d", reply.StatusCode)
				}
			})
		})
	}
}

// spellings are names that a reader behind a front door could take for X-Auth-Account or X-Auth-Roles.
var spellings = []string{
	"X-AUTH-ACCOUNT", "x-auth-account", "X_Auth_Account", "X-Auth_Account", "X.Auth.Account", "X-Auth.Account", "x.auth_account",
	"X~Auth~Account", "X!Auth|Account", "X'Auth`Account", "X+Auth*Account", "X^Auth$Account", "X%Auth&Account", "X#Auth-Account",
	"X-Auth.Roles", "X.Auth.Roles", "X_Auth_Roles", "X~Auth-Roles",
}

// spelt is the query of a request to which the service answers with its headers.
const spelt = "spelt"

// readers are rules by which services read the names of headers.
var readers = map[string]func(rune) bool{
	"a service that ignores case":       func(rune) bool { return false },
	"CGI and WSGI":                      func(c rune) bool { return c == '-' || c == '_' },
	"PHP":                               func(c rune) bool { return strings.ContainsRune("-_. ", c) },
	"one that keeps letters and digits": func(c rune) bool { return !('a' <= c && c <= 'z' || '0' <= c && c <= '9') },
}

// checkSpelling sends an identity of the client's own under a name. If the request is admitted, no reader may
// find another identity than that of the Door. A service may take the first value or the last, so there must be one.
func checkSpelling(t *testing.T, url string, header http.Header, name string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	r.Header[name] = []string{"root"}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != 200 {
		return
	}
	var received http.Header
	if err := json.NewDecoder(reply.Body).Decode(&received); err != nil {
		t.Fatal(err)
	}
	for reader, same := range readers {
		read := func(name string) string {
			return strings.Map(func(c rune) rune {
				if same(c) {
					return '_'
				}
				return c
			}, strings.ToLower(name))
		}
		for own, want := range map[string]string{forward.Account: "ann", forward.Roles: "member,night%2C%20shift"} {
			var got []string
			for name, values := range received {
				if read(name) == read(own) {
					got = append(got, values...)
				}
			}
			if !slices.Equal(got, []string{want}) {
				t.Errorf("%s reads %q as %s", reader, got, own)
			}
		}
	}
}

// launch starts a front door with its configuration, on free ports, and returns its URL.
func launch(t *testing.T, program, config string, args func(string) []string, door, service *httptest.Server) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	at := listener.Addr().String()
	ports := strings.NewReplacer("127.0.0.1:8080", at, "127.0.0.1:8081", door.Listener.Addr().String(),
		"127.0.0.1:8082", service.Listener.Addr().String())
	folder := t.TempDir()
	for _, name := range []string{config, "forward.lua"} { // HAProxy loads the second
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(ports.Replace(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, config)
	var log bytes.Buffer
	front := exec.Command(program, args(file)...)
	front.Stdout, front.Stderr, front.Dir = &log, &log, filepath.Dir(file)
	front.Env = append(os.Environ(), "HOME="+filepath.Dir(file))
	front.WaitDelay = 5 * time.Second
	listener.Close() // as late as possible, because others may take the port
	if err := front.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		front.Process.Signal(os.Interrupt) // so that nginx ends its workers, too
		front.Wait()                       // returns only that it was interrupted
		if t.Failed() {
			t.Logf("%s", log.Bytes())
		}
	})
	for range 1200 {
		if conn, err := net.Dial("tcp", at); err == nil {
			conn.Close()
			return "http://" + at
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s does not listen", program)
	return ""
}
