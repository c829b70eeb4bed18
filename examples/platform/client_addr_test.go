package main

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func TestQuotaNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64",
	} {
		if got := quotaName(netip.MustParseAddr(text)); got != want {
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
		for range newRegisterQuota().burst + 5 {
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
