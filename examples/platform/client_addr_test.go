package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestClientAddr(t *testing.T) {
	t.Parallel()
	p, err := newProxies("X-Forwarded-For", "10.0.0.0/8, 2001:db8:ffff::/48")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, peer string
		lines      []string
		want       string
	}{
		{"no proxy, no header", "192.0.2.1:5000", nil, "192.0.2.1"},
		{"no proxy, a spoofed header", "192.0.2.1:5000", []string{"198.51.100.7"}, "192.0.2.1"},
		{"a proxy", "10.0.0.1:5000", []string{"198.51.100.7"}, "198.51.100.7"},
		{"a proxy without the header", "10.0.0.1:5000", nil, "10.0.0.1"},
		{"a spoofed entry before the true one", "10.0.0.1:5000", []string{"203.0.113.9, 198.51.100.7"}, "198.51.100.7"},
		{"a spoofed proxy before the true one", "10.0.0.1:5000", []string{"203.0.113.9, 10.9.9.9, 198.51.100.7"}, "198.51.100.7"},
		{"proxies in a row", "10.0.0.1:5000", []string{"203.0.113.9, 198.51.100.7, 10.0.0.3,10.0.0.2"}, "198.51.100.7"},
		{"several lines", "10.0.0.1:5000", []string{"203.0.113.9", "198.51.100.7, 10.0.0.3", "10.0.0.2"}, "198.51.100.7"},
		{"a spoofed line", "10.0.0.1:5000", []string{"203.0.113.9", "198.51.100.7"}, "198.51.100.7"},
		{"proxies alone", "10.0.0.1:5000", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		{"IPv6", "[2001:db8:ffff::1]:5000", []string{"2001:db8::7"}, "2001:db8::7"},
		{"IPv6 in brackets", "[2001:db8:ffff::1]:5000", []string{"[2001:db8::7]"}, "2001:db8::7"},
		{"IPv6 with a port", "[2001:db8:ffff::1]:5000", []string{"[2001:db8::7]:443, [2001:db8:ffff::2]:80"}, "2001:db8::7"},
		{"IPv4 with a port", "10.0.0.1:5000", []string{"198.51.100.7:4711"}, "198.51.100.7"},
		{"IPv4 in IPv6", "[::ffff:10.0.0.1]:5000", []string{"::ffff:198.51.100.7"}, "198.51.100.7"},
		{"a peer with a zone", "[fe80::1%eth0]:5000", []string{"198.51.100.7"}, "fe80::1"},
		{"garbage", "10.0.0.1:5000", []string{"unknown"}, "10.0.0.1"},
		{"garbage before an address", "10.0.0.1:5000", []string{"' OR 1=1, 198.51.100.7"}, "198.51.100.7"},
		{"garbage behind an address", "10.0.0.1:5000", []string{"198.51.100.7, _hidden"}, "10.0.0.1"},
		{"garbage behind a proxy", "10.0.0.1:5000", []string{"198.51.100.7, x, 10.0.0.2"}, "10.0.0.1"},
		{"an empty line", "10.0.0.1:5000", []string{""}, "10.0.0.1"},
		{"an empty entry", "10.0.0.1:5000", []string{"198.51.100.7,"}, "10.0.0.1"},
		{"a zone", "10.0.0.1:5000", []string{"fe80::1%eth0"}, "10.0.0.1"},
		{"half a bracket", "10.0.0.1:5000", []string{"[2001:db8::7"}, "10.0.0.1"},
		{"a host name", "10.0.0.1:5000", []string{"localhost"}, "10.0.0.1"},
		{"RFC 7239", "10.0.0.1:5000", []string{"for=198.51.100.7"}, "10.0.0.1"},
		{"no peer", "@", []string{"198.51.100.7"}, "invalid IP"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = test.peer
			r.Header["X-Forwarded-For"] = test.lines
			if got := p.addr(r).String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if got := (proxies{}).addr(r).String(); !strings.Contains(test.peer, got) && got != "10.0.0.1" && got != "invalid IP" && got != "fe80::1" {
				t.Errorf("without the flags: %s", got)
			}
		})
	}
}

func TestQuotaNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		if r.RemoteAddr = "[" + text + "]:80"; !strings.Contains(text, ":") {
			r.RemoteAddr = text + ":80"
		}
		if got := quotaName(proxies{}.addr(r)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// TestAddressesBehindAProxy checks three uses of the client's address: the quota on
// registering, the networks of a credential, and the address of a session.
func TestAddressesBehindAProxy(t *testing.T) {
	t.Parallel()
	s := start(t, "-client-addr-header", "X-Real-Ip", "-trusted-proxies", "127.0.0.0/8")
	b := s.browser(t)
	refused := func(address string) (n int) {
		for range registerBurst + 5 {
			if got := b.send(t, http.MethodPost, "/accounts", `{"email":"x"}`, "X-Real-Ip", address); got.status == http.StatusTooManyRequests {
				n++
			}
		}
		return n
	}
	if refused("2001:db8::1") == 0 {
		t.Error("one address is not bounded")
	}
	if got := b.send(t, http.MethodPost, "/accounts", `{"email":"x"}`, "X-Real-Ip", "2001:db8::2"); got.status != http.StatusTooManyRequests {
		t.Errorf("another address of the same /64: %d", got.status)
	}
	if got := b.send(t, http.MethodPost, "/accounts", `{"email":"x"}`, "X-Real-Ip", "2001:db8:0:1::2"); got.status != http.StatusBadRequest {
		t.Errorf("another /64: %d", got.status)
	}
	login := `{"email":"` + s.AccountEmail + `","password":"` + s.AccountPassword + `"}`
	b.send(t, http.MethodPost, "/accounts/login", login, "X-Real-Ip", "198.51.100.7").ok(t)
	if text := b.get(t, "/accounts/me/sessions").text; !strings.Contains(text, `"198.51.100.7"`) {
		t.Errorf("sessions: %s", text)
	}

	app := s.do(t, call{method: "POST", path: "/apps", body: `{"name":"bound","credential":{"account":"` + s.AccountID + `","networks":["198.51.100.0/24"]}}`}).ok(t)
	key, _ := app["_id"].(string)
	secret, _ := app["secret"].(string)
	for address, want := range map[string]int{"198.51.100.9": 200, "203.0.113.1": 401, "": 401} {
		r, err := http.NewRequest("GET", s.BaseURL+"/acme/v2/schemas", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.sign(r, "/schemas", key, secret)
		if r.Header.Set("X-Real-Ip", address); address == "" {
			r.Header.Del("X-Real-Ip")
		}
		if got := send(t, r); got.status != want {
			t.Errorf("from %q: %d %s", address, got.status, got.text)
		}
	}
}
