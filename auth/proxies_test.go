package auth_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
)

func TestK12ClientAddresses(t *testing.T) {
	p, err := auth.ParseProxies("X-Forwarded-For", "10.0.0.0/8, 2001:db8:ffff::/48")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, peer string
		lines      []string
		want       string
	}{
		{"no proxy, no header", "192.0.2.1:5000", nil, "192.0.2.1"},
		{"K12 no proxy, a spoofed header", "192.0.2.1:5000", []string{"198.51.100.7"}, "192.0.2.1"},
		{"K12 no proxy, a spoofed proxy", "192.0.2.1:5000", []string{"198.51.100.7, 10.0.0.1"}, "192.0.2.1"},
		{"a proxy", "10.0.0.1:5000", []string{"198.51.100.7"}, "198.51.100.7"},
		{"a proxy without the header", "10.0.0.1:5000", nil, "10.0.0.1"},
		{"K12 a spoofed entry before the true one", "10.0.0.1:5000", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7"},
		{"K12 a spoofed proxy before the true one", "10.0.0.1:5000", []string{"203.0.113.9, 10.9.9.9, 198.51.100.7"}, "198.51.100.7"},
		{"proxies in a row", "10.0.0.1:5000", []string{"203.0.113.9, 198.51.100.7, 10.0.0.3,10.0.0.2"}, "198.51.100.7"},
		{"several lines", "10.0.0.1:5000", []string{"203.0.113.9", "198.51.100.7, 10.0.0.3", "10.0.0.2"}, "198.51.100.7"},
		{"K12 a spoofed line", "10.0.0.1:5000", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7"},
		{"proxies alone", "10.0.0.1:5000", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"IPv6", "[2001:db8:ffff::1]:5000", []string{"2001:db8::7"}, "2001:db8::7"},
		{"IPv6 in brackets", "[2001:db8:ffff::1]:5000", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"IPv6 with a port", "[2001:db8:ffff::1]:5000", []string{"[2001:db8::7]:443, [2001:db8:ffff::2]:80"}, "2001:db8::7"},
		{"IPv4 with a port", "10.0.0.1:5000", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:5000", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		{"a peer with a zone", "[fe80::1%eth0]:5000", []string{"198.51.100.7"}, "fe80::1"},
		{"K12 garbage", "10.0.0.1:5000", []string{"unknown"}, "10.0.0.1"},
		{"K12 garbage before an address", "10.0.0.1:5000", []string{"' OR 1=1, 198.51.100.7"}, "198.51.100.7"},
		{"K12 garbage behind an address", "10.0.0.1:5000", []string{"198.51.100.7, _hidden"}, "10.0.0.1"},
		{"K12 garbage behind a proxy", "10.0.0.1:5000", []string{"198.51.100.7, x, 10.0.0.2"}, "10.0.0.1"},
		{"an empty line", "10.0.0.1:5000", []string{""}, "10.0.0.1"},
		{"an empty entry", "10.0.0.1:5000", []string{"198.51.100.7,"}, "10.0.0.1"},
		{"a zone", "10.0.0.1:5000", []string{"fe80::1%eth0"}, "10.0.0.1"},
		{"a zone and a port", "10.0.0.1:5000", []string{"[fe80::1%eth0]:80"}, "10.0.0.1"},
		{"half a bracket", "10.0.0.1:5000", []string{"[2001:db8::7"}, "10.0.0.1"},
		{"a host name", "10.0.0.1:5000", []string{"localhost"}, "10.0.0.1"},
		{"RFC 7239", "10.0.0.1:5000", []string{"for=198.51.100.7"}, "10.0.0.1"},
		{"no peer", "@", []string{"198.51.100.7"}, "invalid IP"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr, r.Header["X-Forwarded-For"] = c.peer, c.lines
			r.Header.Set("X-Real-Ip", "203.0.113.77") // another header than the proxies'
			if got := p.Addr(r).String(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			peer, _ := netip.ParseAddrPort(c.peer)
			if got, want := (auth.Proxies{}).Addr(r), peer.Addr().Unmap().WithZone(""); got != want {
				t.Errorf("without proxies: %s, want %s", got, want)
			}
		})
	}
}

func TestReadingAnAddressAllocatesNothing(t *testing.T) {
	p, r := behind("X-Forwarded-For", "10.0.0.0/8"), httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr, r.Header["X-Forwarded-For"] = "10.0.0.1:5000", []string{"203.0.113.9, 2001:db8::7, 10.0.0.2"}
	if n := testing.AllocsPerRun(10, func() { p.Addr(r) }); n > 0 || p.Addr(r).String() != "2001:db8::7" {
		t.Errorf("%v allocations", n)
	}
}

func TestProxiesThatCannotBeMeant(t *testing.T) {
	for _, c := range []struct{ name, header, networks, want string }{
		{"none", "", "", ""},
		{"both", "X-Real-Ip", "10.0.0.0/8,2001:db8::7/128", ""},
		{"no networks", "X-Real-Ip", "", "Proxies.Header and Proxies.Networks: set both or neither"},
		{"no header", "", "10.0.0.0/8", "Proxies.Header and Proxies.Networks: set both or neither"},
		{"a header that is none", "X_Real:Ip", "10.0.0.0/8", "Proxies.Header"},
		{"a header that is not a list of addresses", "forwarded", "10.0.0.0/8", "X-Forwarded-For"},
		{"an address", "X-Real-Ip", "10.0.0.1", "Proxies.Networks"},
		{"bits of a host", "X-Real-Ip", "10.0.0.1/8", "Proxies.Networks"},
		{"everybody", "X-Real-Ip", "10.0.0.0/8,0.0.0.0/0", "Proxies.Networks"},
		{"everybody with IPv6", "X-Real-Ip", "::/0", "Proxies.Networks"},
		{"IPv4 in IPv6, which matches nothing", "X-Real-Ip", "::ffff:10.0.0.0/104", "Proxies.Networks"},
		{"an empty one", "X-Real-Ip", "10.0.0.0/8,", "Proxies.Networks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := auth.ParseProxies(c.header, c.networks)
			g := guard()
			g.Proxies = p
			for _, err := range []error{err, g.Validate()} {
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			}
		})
	}
}

// FuzzProxies checks that no address comes from a hop that is not trusted: all entries to the right
// of the result, and the connection, are in a trusted network.
func FuzzProxies(f *testing.F) {
	f.Add("10.0.0.1:1", "198.51.100.7")
	f.Add("[::1]:1", "203.0.113.9, 198.51.100.7\n10.0.0.2")
	f.Add("10.0.0.1:1", "[2001:db8::7]:443, x")
	f.Add("192.0.2.1:1", "10.0.0.1, 10.0.0.1")
	networks := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	trusted := func(text string) bool {
		if port, err := netip.ParseAddrPort(text); err == nil {
			text = port.Addr().String()
		}
		addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
		return err == nil && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr.Unmap().WithZone("")) })
	}
	f.Fuzz(func(t *testing.T, peer, header string) {
		r := &http.Request{RemoteAddr: peer, Header: http.Header{"X-Forwarded-For": strings.Split(header, "\n")}}
		got := auth.Proxies{Header: "X-Forwarded-For", Networks: networks}.Addr(r)
		connection, _ := netip.ParseAddrPort(peer)
		if got == connection.Addr().Unmap().WithZone("") {
			return
		}
		if !trusted(peer) {
			t.Fatalf("%s of %q by %s, which is no proxy", got, header, peer)
		}
		hops := strings.Split(strings.ReplaceAll(header, "\n", ","), ",")
		slices.Reverse(hops)
		for _, hop := range hops {
			hop = strings.Trim(hop, " \t")
			if addr, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil && addr.Unmap() == got {
				return
			} else if port, err := netip.ParseAddrPort(hop); err == nil && port.Addr().Unmap() == got {
				return
			}
			if !trusted(hop) {
				t.Fatalf("%s of %q is to the left of %q, which is no proxy", got, header, hop)
			}
		}
		t.Fatalf("%s is not in %q", got, header)
	})
}

// Behind a proxy whose header is not read, all clients have one address. The log says so, once for
// a Guard.
func TestAForgottenProxyIsReportedOnce(t *testing.T) {
	var log bytes.Buffer
	previous := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(previous)
	for _, c := range []struct {
		name, remote, header string
		proxies              auth.Proxies
		want                 string
		warns                bool
	}{
		{"a client without a proxy", "198.51.100.1:1", "", auth.Proxies{}, "198.51.100.1", false},
		{"a client on the same network", "10.0.0.9:1", "", auth.Proxies{}, "10.0.0.9", false},
		{"a client that writes the header itself", "198.51.100.1:1", "X-Forwarded-For", auth.Proxies{}, "198.51.100.1", false},
		{"no connection", "", "Forwarded", auth.Proxies{}, "invalid IP", false},
		{"a proxy", "10.0.0.1:1", "X-Forwarded-For", auth.Proxies{}, "10.0.0.1", true},
		{"a proxy on this host", "[::1]:1", "X-Real-Ip", auth.Proxies{}, "::1", true},
		{"a proxy, in IPv6 form", "[::ffff:172.16.0.1]:1", "Forwarded", auth.Proxies{}, "172.16.0.1", true},
		{"a proxy that is named", "10.0.0.1:1", "X-Real-Ip", behind("X-Real-Ip", "10.0.0.1/32"), "172.16.5.5", false},
		{"a proxy of another network", "10.0.0.1:1", "X-Real-Ip", behind("X-Real-Ip", "10.0.0.2/32"), "10.0.0.1", true},
		{"a proxy of another header", "10.0.0.1:1", "X-Forwarded-For", behind("X-Real-Ip", "10.0.0.1/32"), "10.0.0.1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			log.Reset()
			g := guard()
			g.Proxies, g.Mechanisms = c.proxies, []auth.Mechanism{authtest.As(auth.Principal{Account: "ann"})}
			var got []string
			mux := g.Mux()
			mux.HandleFunc("GET /addr", auth.Public, func(_ http.ResponseWriter, r *http.Request) {
				got = append(got, auth.TenantFrom(r.Context()).ClientAddr(r).String())
			})
			for range 3 {
				r := httptest.NewRequest("GET", "/acme/v2/addr", nil)
				r.RemoteAddr = c.remote
				if c.header != "" {
					r.Header.Set(c.header, "172.16.5.5")
				}
				mux.ServeHTTP(httptest.NewRecorder(), r)
			}
			if !slices.Equal(got, []string{c.want, c.want, c.want}) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if n := strings.Count(log.String(), "level=WARN"); n > 1 || (n == 1) != c.warns {
				t.Errorf("%d warnings: %s", n, log.String())
			}
		})
	}
}

func behind(header, network string) auth.Proxies {
	return auth.Proxies{Header: header, Networks: []netip.Prefix{netip.MustParsePrefix(network)}}
}
