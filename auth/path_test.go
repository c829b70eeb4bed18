package auth_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/testing/rawhttp"
)

func TestPath(t *testing.T) {
	g := guard()
	var command, path string
	server := httptest.NewServer(g.Mount(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		command, path = auth.TenantFrom(r.Context()).Command, r.URL.EscapedPath()
	})))
	defer server.Close()

	clean := []struct{ wire, command string }{
		{"/acme/v2/connections", "/connections"},
		{"/acme/v2/connections/", "/connections"},
		{"/acme/v2/", "/"},
		{"/acme/v2", "/"},
		{"/acme/v2/c_names/%C3%A9", "/c_names/%C3%A9"},
		{"/acme/v2/c_names/%c3%a9", "/c_names/%c3%a9"},
		{"/acme/v2/a%2Fb%20c", "/a%2Fb%20c"},
		{"/acme/v2/a%252Fb", "/a%252Fb"},
		{"/acme/v2/c_x/https%3A%2F%2Fb", "/c_x/https%3A%2F%2Fb"},
		{"/acme/v2/c?limit=2&skip=1", "/c"},
		{"/acme/v2/c_x/1/c_set[]", "/c_x/1/c_set[]"},
		{"/acme/v2/c_x/1/c_set%5B%5D", "/c_x/1/c_set%5B%5D"},
		{"/acme/v2/a+b;c=1,d", "/a+b;c=1,d"},
		{"/acme/v2/a:b@c", "/a:b@c"},
		{"/acme/v2/a%7Eb%23c%7C%27%5E", "/a%7Eb%23c%7C%27%5E"},
		{"/acme/v2/...", "/..."},
		{"/acme/v2/.hidden", "/.hidden"},
	}
	for _, row := range clean {
		t.Run("clean "+row.wire, func(t *testing.T) {
			command, path = "", ""
			reply := rawhttp.Send(t, server, "GET "+row.wire+" HTTP/1.1")
			if reply.StatusCode != 200 || command != row.command || path != row.command {
				t.Errorf("status %d, command %q, handler's path %q; want 200 and %q for both",
					reply.StatusCode, command, path, row.command)
			}
		})
	}

	refused := []string{
		"/acme/v2//connections", "/acme//v2/connections", "//acme/v2/connections", "/acme/v2/connections//",
		"/acme/v2//", "/acme/v2/x/../connections", "/acme/v2/x/..", "/acme/v2/./x", "/acme/v2/.",
		"/acme/v2/%2e%2e/connections", "/acme/v2/%2E/x", "/acme/v2/.%2e/x", "/acme/v2/..%2Fx", "/acme/v2/x%2F.", "/acme/v2/%63onnections",
		"/acme/v2/a%2Db", "/acme/v2/a%5Fb", "/acme/v2/a%30",
		"/acme/v2/a%00b", "/acme/v2/a%0ab", "/acme/v2/a%7Fb", "/acme/v2/a%C2%85b",
		"/acme/v2/a%5Cb", "/acme/v2/a%5cb", "/acme/v2/a%FFb", "/acme/v2/a%C3", "/acme/v2/a%ED%A0%80",
		`/acme/v2/a\b`, `/acme/v2/a"b`, "/acme/v2/a<b", "/acme/v2/a{b", "/acme/v2/a|b", "/acme/v2/a^b", "/acme/v2/é",
	}
	for _, wire := range refused {
		t.Run("S10 "+wire, func(t *testing.T) {
			wantPathFault(t, rawhttp.Send(t, server, "GET "+wire+" HTTP/1.1"))
		})
	}
	t.Run("S10b a raw byte would re-encode the decoded path", func(t *testing.T) {
		wantPathFault(t, rawhttp.Send(t, server, "GET /acme/v2/c_x/a%2Fb| HTTP/1.1"))
	})
	t.Run("the asterisk form has no path", func(t *testing.T) {
		// net/http answers OPTIONS * itself; other methods may not send it.
		wantPathFault(t, rawhttp.Send(t, server, "CONNECT example.test:443 HTTP/1.1"))
	})
}

func wantPathFault(t *testing.T, reply rawhttp.Reply) {
	t.Helper()
	if reply.StatusCode != 400 || errCode(t, []byte(reply.Text)) != "service.invalidArgument.path" {
		t.Errorf("got %d %s, want 400 path", reply.StatusCode, reply.Text)
	}
	if reply.Header.Get("Location") != "" {
		t.Error("a path was redirected")
	}
}

// An accepted path has only one reading: it is its own escaped form. Splitting it at slashes
// before or after unescaping differs only by escaped slashes.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/acme/v2/x", "/acme/v2/a%2Fb", "/acme/v2/%63", "/acme/v2/a|b", "/acme/v2/c_set[]", "/%E9/é", "/a/../b", "a:/acme/v2/x"} {
		f.Add(seed)
	}
	g := guard()
	f.Fuzz(func(t *testing.T, wire string) {
		u, err := url.ParseRequestURI(wire)
		if err != nil || u.Scheme != "" || u.Host != "" {
			return
		}
		raw, _, _ := strings.Cut(wire, "?")
		var command string
		h := g.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			command = auth.TenantFrom(r.Context()).Command
		}))
		r := &http.Request{Method: "GET", URL: u, Header: http.Header{}}
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(t.Context()))
		if command == "" {
			return
		}
		if want := strings.TrimPrefix(raw, "/acme/v2"); strings.TrimSuffix(want, "/") != strings.TrimSuffix(command, "/") {
			t.Fatalf("%q was read as %q", wire, command)
		}
		for segment := range strings.SplitSeq(command[1:], "/") {
			plain, err := url.PathUnescape(segment)
			if err != nil || plain == "." || plain == ".." || !utf8.ValidString(plain) || strings.ContainsAny(plain, "\\\x00\r\n") {
				t.Fatalf("%q passed with segment %q", wire, segment)
			}
			if segment == "" && command != "/" {
				t.Fatalf("%q passed with an empty segment", wire)
			}
		}
	})
}
