package oauth_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/internal/testing/heard"
)

func TestVerbsOfClients(t *testing.T) {
	w := newWorld(t)
	raw := w.record(t, acmeKey, "acme", "ann", 0)
	var said strings.Builder
	hears := func(name string, q question, want ...string) answer {
		t.Helper()
		w.events = nil
		got := w.send(t, q)
		if diff := cmp.Diff(want, heard.Verbs(t, w.events, "Go-http-client/1.1")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		fmt.Fprintf(&said, "%+v", w.events)
		return got
	}
	const by, app = " acme/ann by ann with app:" + acmeKey, ", app " + acmeKey
	made := hears("a token", askToken(), "token.made (ephemeral)"+by+app)
	hears("more than the client may", askToken("scope", "openid"))
	renewed := hears("a renewal", ask("/base/acme/v2/oauth/token", acmeKey, acmeSecret, "grant_type", "refresh_token", "refresh_token", raw),
		"token.renewed"+by+app+", token #1")
	revoke := func(key string) question {
		q := ask("/base/acme/v2/oauth/revoke", acmeKey, acmeSecret, "token", renewed.Token)
		if key == otherKey {
			q = ask("/base/acme/v2/oauth/revoke", otherKey, otherSecret, "token", renewed.Token)
		}
		return q
	}
	hears("another's revocation", revoke(otherKey))
	hears("a revocation", revoke(acmeKey), "token.revoked"+by+app+", token #1")
	hears("again", revoke(acmeKey))
	for _, secret := range []string{raw, made.Token, renewed.Token, string(acmeSecret), string(otherSecret)} {
		if strings.Contains(said.String(), secret) {
			t.Error("an event has a secret")
		}
	}
}
