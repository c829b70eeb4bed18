package clientaddr_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/internal/clientaddr"
)

// Behind a proxy whose header nobody reads, all clients have one address. The log says so, once.
func TestAForgottenProxyIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	former := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(former)
	given := func(*http.Request) netip.Addr { return netip.MustParseAddr("::ffff:192.0.2.7") }
	for _, c := range []struct {
		name, remote, header string
		by                   func(*http.Request) netip.Addr
		want                 string
		warns                bool
	}{
		{"a client without a proxy", "198.51.100.1:1", "", nil, "198.51.100.1", false},
		{"a client on the same network", "10.0.0.9:1", "", nil, "10.0.0.9", false},
		{"a client that writes the header itself", "198.51.100.1:1", "X-Forwarded-For", nil, "198.51.100.1", false},
		{"no connection", "", "Forwarded", nil, "invalid IP", false},
		{"with ClientAddr", "10.0.0.1:1", "X-Forwarded-For", given, "192.0.2.7", false},
		{"a proxy", "10.0.0.1:1", "X-Forwarded-For", nil, "10.0.0.1", true},
		{"a proxy on this host", "[::1]:1", "X-Real-Ip", nil, "::1", true},
		{"a proxy, in IPv6 form", "[::ffff:172.16.0.1]:1", "Forwarded", nil, "172.16.0.1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			log.Reset()
			r := httptest.NewRequest("POST", "/", nil)
			r.RemoteAddr = c.remote
			if c.header != "" {
				r.Header.Set(c.header, "203.0.113.1")
			}
			for range 3 {
				if got := clientaddr.Of(r, c.by, c.name).String(); got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}
			if n := strings.Count(log.String(), "level=WARN"); n > 1 || (n == 1) != c.warns {
				t.Errorf("%d warnings: %s", n, log.String())
			}
		})
	}
}
