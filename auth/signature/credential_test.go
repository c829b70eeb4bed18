package signature_test

import (
	"crypto/fips140"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

func TestRefusalsOfOneBody(t *testing.T) {
	w := newWorld(t)
	bodies := map[string]string{}
	add := func(name string, q wire) {
		t.Run(name, func(t *testing.T) {
			reply := w.send(t, q)
			want(t, reply, 401, invalid)
			bodies[reply.Text] = name
		})
	}
	forged := w.request()
	forged.signature = strings.Repeat("0", 64)
	add("S03 forged", forged)
	unknown := w.request()
	unknown.key = "nobodysKey000000000001"
	add("S04 unknown client key", unknown)
	foreign := w.request()
	foreign.key, foreign.secret = globexKey, globexSecret
	add("S12 credential of another org", foreign)

	for name, alter := range map[string]func(*signature.Credential){
		"S19 expired":               func(c *signature.Credential) { c.NotAfter = time.Now().Add(-time.Second) },
		"S19 not yet valid":         func(c *signature.Credential) { c.NotBefore = time.Now().Add(time.Minute) },
		"S19 disabled":              func(c *signature.Credential) { c.Disabled = true },
		"S19 from another network":  func(c *signature.Credential) { c.Networks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} },
		"S19 from no network":       func(c *signature.Credential) { c.Networks = []netip.Prefix{} },
		"S19 own account disabled":  func(c *signature.Credential) { c.Account = "off" },
		"S19 own account elsewhere": func(c *signature.Credential) { c.Account = "gus" },
	} {
		restricted := *w.credentials[acmeKey]
		alter(&restricted)
		w.credentials["restricted"] = &restricted
		honest := w.credentials[acmeKey]
		w.credentials[acmeKey] = &restricted
		q := w.request()
		add(name, q)
		w.credentials[acmeKey] = honest
		t.Run(name+", nothing recorded", func(t *testing.T) { want(t, w.send(t, q), 200, "ann") })
	}
	t.Run("S19 app disabled", func(t *testing.T) {
		w.directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme", Disabled: true})
		want(t, w.send(t, w.request()), 401, invalid)
	})
	if len(bodies) != 1 {
		t.Errorf("%d different bodies: %v", len(bodies), bodies)
	}
}

func TestAValidityIsInclusive(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		before, after time.Duration // of NotBefore and NotAfter, relative to now
		status        int
	}{
		"for one moment":        {0, 0, 200},
		"from a moment later":   {1, time.Hour, 401},
		"until a moment before": {-time.Hour, -1, 401},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				w.guard.Now = func() time.Time { return now }
				w.credentials[acmeKey].NotBefore, w.credentials[acmeKey].NotAfter = now.Add(c.before), now.Add(c.after)
			})
			detail := "ann"
			if c.status == 401 {
				detail = invalid
			}
			want(t, w.send(t, w.request()), c.status, detail)
		})
	}
}

func TestS19NetworksAreReadUnmapped(t *testing.T) {
	for name, test := range map[string]struct {
		addr   string
		status int
		detail string
	}{
		"inside":                           {"10.1.2.3", 200, "ann"},
		"inside, as mapped IPv6":           {"::ffff:10.1.2.3", 200, "ann"},
		"outside, as mapped IPv6":          {"::ffff:192.0.2.1", 401, invalid},
		"an address nobody could make out": {"", 401, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, func(w *world) {
				w.credentials[acmeKey].Networks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
				w.guard.Proxies = auth.Proxies{Header: "X-Real-Ip", Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
			})
			q := w.request()
			q.lines = []string{"X-Real-Ip: " + test.addr}
			want(t, w.send(t, q), test.status, test.detail)
		})
	}
	t.Run("forwarded headers are not read by default", func(t *testing.T) {
		w := newWorld(t, func(w *world) {
			w.credentials[acmeKey].Networks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		})
		q := w.request()
		q.lines = []string{"X-Forwarded-For: 10.1.2.3", "Forwarded: for=10.1.2.3", "X-Real-Ip: 10.1.2.3"}
		want(t, w.send(t, q), 401, invalid)
	})
}

func TestS05TheKeyIsKeyThenSecret(t *testing.T) {
	w := newWorld(t)
	for name, key := range map[string]string{
		"secret only":  acmeSecret,
		"secret first": acmeSecret + acmeKey,
		"empty secret": acmeKey,
		"nothing":      "",
	} {
		t.Run("S05 "+name, func(t *testing.T) {
			q := w.request()
			var mac hash.Hash
			fips140.WithoutEnforcement(func() { mac = hmac.New(sha256.New, []byte(key)) }) // attackers need not follow it
			mac.Write([]byte(q.command + ";" + q.method + ";" + q.timestamp))
			q.signature = hex.EncodeToString(mac.Sum(nil))
			w.clean(t, q, 401, invalid)
		})
	}
}

func TestS06ABoundaryCannotBeShifted(t *testing.T) {
	if _, err := signing.NewKey(acmeKey[:21], signing.Secret(acmeKey[21:]+acmeSecret)); err == nil {
		t.Error("a key and a secret of other lengths were taken: the same HMAC key has two readings")
	}
}

func TestS15AccountHeader(t *testing.T) {
	w := newWorld(t)
	bodies := map[string]bool{}
	for name, account := range map[string]string{
		"not among the credential's": "cat", "unknown": "nobody", "disabled": "off", "of another org": "gus",
	} {
		t.Run("S15 "+name, func(t *testing.T) {
			q := w.request()
			q.account = account
			reply := w.send(t, q)
			want(t, reply, 403, principal)
			bodies[reply.Text] = true
			// The nonce is spent, so a captured request cannot be used to search for accounts.
			q.account = "bob"
			want(t, w.send(t, q), 401, replayed)
		})
	}
	if len(bodies) != 1 {
		t.Errorf("%d different bodies", len(bodies))
	}
	t.Run("one of its accounts", func(t *testing.T) {
		q := w.request()
		q.account = "bob"
		reply := w.send(t, q)
		want(t, reply, 200, "bob")
		if !strings.Contains(reply.Text, `["bob","ann","GET"]`) {
			t.Errorf("the caller is not told from the account: %s", reply.Text)
		}
	})
	t.Run("its own account by name", func(t *testing.T) {
		q := w.request()
		q.account = "ann"
		want(t, w.send(t, q), 200, "ann")
	})
	t.Run("S15 several accounts, none of its own", func(t *testing.T) {
		q := w.request()
		q.key = headless
		want(t, w.send(t, q), 403, principal)
		q = w.request()
		q.key, q.account = headless, "cat"
		want(t, w.send(t, q), 200, "cat")
	})
	t.Run("S15b empty", func(t *testing.T) {
		q := w.request()
		q.lines = []string{"Service-Client-Account: "}
		w.clean(t, q, 400, malformed)
	})
	t.Run("S15b 65 bytes", func(t *testing.T) {
		q := w.request()
		q.account = strings.Repeat("a", 65)
		w.clean(t, q, 400, malformed)
	})
	t.Run("S15b twice", func(t *testing.T) {
		q := w.request()
		q.account, q.lines = "bob", []string{"Service-Client-Account: bob"}
		w.clean(t, q, 400, ambiguous)
	})
	t.Run("S15b without a signature", func(t *testing.T) {
		q := w.request()
		q.account, q.drop = "bob", []string{"Service-Client-Signature", "Service-Client-Timestamp", "Service-Client-Nonce"}
		w.clean(t, q, 400, ambiguous)
	})
}

func TestS21BothLiveSecretsVerify(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.credentials[acmeKey].Key = mustKey(t, acmeKey, acmeSecret, olderSecret)
	})
	q := w.request()
	q.secret = olderSecret
	want(t, w.send(t, q), 200, "ann")
	want(t, w.send(t, w.request()), 200, "ann")

	// The rotation ends: the credential gets a key without the older secret.
	after := *w.credentials[acmeKey]
	after.Key = mustKey(t, acmeKey, acmeSecret)
	w.credentials[acmeKey] = &after
	q = w.request()
	q.secret = olderSecret
	w.clean(t, q, 401, invalid)
}
