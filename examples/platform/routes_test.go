package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth/authtest"
)

func TestEveryRouteNeedsACredential(t *testing.T) {
	t.Parallel()
	p := parts(t, io.Discard)
	if _, err := p.seed(t.Context(), options{demoMessages: fewMessages}); err != nil {
		t.Fatal(err)
	}
	routes := p.routes()
	authtest.CheckRoutes(t, p.handler(routes), "/acme/v2", routes.Routes())
}

func TestRouting(t *testing.T) {
	t.Parallel()
	s := start(t)
	fetch := func(t *testing.T, method, path string) answer {
		t.Helper()
		r, err := http.NewRequest(method, s.BaseURL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return send(t, r)
	}
	for _, test := range []struct {
		name, method, path string
		status             int
		detail             string
	}{
		{"an unknown org", "GET", "/nowhere/v2/schemas", 404, "notFound.env"},
		{"an org that cannot be", "GET", "/No%20Where/v2/schemas", 404, "notFound.env"},
		{"no version", "GET", "/acme", 404, "notFound.unspecified"},
		{"an unknown version", "GET", "/acme/v1/schemas", 400, "invalidArgument.invalidApiVersion"},
		{"an unknown route", "GET", "/acme/v2/nothing", 404, "notFound.unspecified"},
		{"the mount itself", "GET", "/acme/v2", 404, "notFound.unspecified"},
		{"a path below an object", "GET", "/acme/v2/c_messages/" + demoID(acme, "c_message", 1) + "/c_text/x", 401, "accessDenied.noCredentialsSupplied"},
		{"a method the route lacks", "PUT", "/acme/v2/c_messages", 405, "invalidArgument.method"},
		{"a method nobody has", "BREW", "/acme/v2/c_messages", 405, "invalidArgument.method"},
		{"a method in lower case", "get", "/acme/v2/c_messages", 405, "invalidArgument.method"},
		{"no credential", "GET", "/acme/v2/c_messages", 401, "accessDenied.noCredentialsSupplied"},
		{"S10 an empty segment", "GET", "/acme/v2//c_messages", 400, "invalidArgument.path"},
		{"S10 an empty segment in front", "GET", "//acme/v2/c_messages", 400, "invalidArgument.path"},
		{"S10 a dot segment", "GET", "/acme/v2/x/../c_messages", 400, "invalidArgument.path"},
		{"S10 an escaped letter", "GET", "/acme/v2/%63_messages", 400, "invalidArgument.path"},
		{"an escaped health check is no health check", "GET", "/%68ealthz", 400, "invalidArgument.path"},
		{"a method the health check lacks", "POST", "/healthz", 405, "invalidArgument.method"},
		{"a method the console lacks", "DELETE", "/", 405, "invalidArgument.method"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := fetch(t, test.method, test.path)
			s.refused(t, got, test.status, test.detail)
			if (got.header.Get("Allow") != "") != (test.status == 405) {
				t.Errorf("Allow is %q", got.header.Get("Allow"))
			}
		})
	}
	t.Run("S03 and S04 a wrong signature and an unknown key get one answer", func(t *testing.T) {
		forged, unknown := *s, *s
		forged.ClientSecret, unknown.ClientKey = s.OtherClientSecret, strings.Repeat("k", 22)
		got := forged.do(t, call{path: "/schemas"})
		s.refused(t, got, 401, "accessDenied.invalidRequestSignature")
		if other := unknown.do(t, call{path: "/schemas"}); other.text != got.text {
			t.Errorf("%s and %s", got.text, other.text)
		}
	})
	t.Run("an id outside the grammar is not found", func(t *testing.T) {
		for _, id := range []string{"x", "a%2Fb", strings.Repeat("f", 25), "%E2%98%83"} {
			s.refused(t, s.do(t, call{path: "/c_messages/" + id}), 404, "notFound.unspecified")
		}
	})
	t.Run("one trailing slash is the same resource", func(t *testing.T) {
		r, err := http.NewRequest("GET", s.BaseURL+"/acme/v2/schemas/", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.sign(r, "/schemas", s.ClientKey, s.ClientSecret)
		send(t, r).ok(t)
	})
	t.Run("HEAD answers with the headers of GET", func(t *testing.T) {
		got := s.do(t, call{method: "HEAD", path: "/schemas"})
		if got.status != 200 || got.text != "" || got.header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Errorf("%d %q %v", got.status, got.text, got.header)
		}
	})
	t.Run("OPTIONS * is no path, and answered with a fault", func(t *testing.T) {
		status, body := raw(t, s, "OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		if status != 400 || !strings.Contains(body, "service.invalidArgument.path") {
			t.Errorf("%d %s", status, body)
		}
	})
	t.Run("headers beyond 64 KiB", func(t *testing.T) {
		status, _ := raw(t, s, fmt.Sprintf("GET / HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", strings.Repeat("x", 80<<10)))
		if status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d", status)
		}
	})
}

// raw sends a text unchanged, and returns the status and body of the reply.
func raw(t *testing.T, s *server, text string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.BaseURL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go io.WriteString(conn, text) // may block: the server stops reading
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
