package signature_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/rawhttp"
	"github.com/tenantkit/tenantkit/signing"
)

const (
	malformed = "invalidArgument.malformedRequestSignature"
	ambiguous = "invalidArgument.ambiguousCredentials"
	invalid   = "accessDenied.invalidRequestSignature"
	stale     = "invalidArgument.staleRequestSignature"
	replayed  = "accessDenied.replayedRequest"
	principal = "accessDenied.principal"
	missing   = "accessDenied.noCredentialsSupplied"
)

func TestHonestRequestPasses(t *testing.T) {
	w := newWorld(t)
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		q := w.request()
		q.method = method
		want(t, w.send(t, q), 200, "ann")
	}
}

func TestS01AHeaderIsMissing(t *testing.T) {
	w := newWorld(t)
	names := []string{"Service-Client-Signature", "Service-Client-Timestamp", "Service-Client-Nonce"}
	for _, name := range append(names, "Service-Client-Key") {
		t.Run(name, func(t *testing.T) {
			q := w.request()
			q.drop = []string{name}
			w.clean(t, q, 400, malformed)
		})
	}
	t.Run("S01b the client key alone is no credential", func(t *testing.T) {
		q := w.request()
		q.drop = names
		w.clean(t, q, 401, missing)
	})
}

func TestS02SignatureShape(t *testing.T) {
	w := newWorld(t)
	good := func(q wire) string { return q.sign() }
	for name, alter := range map[string]func(wire) string{
		"empty":      func(wire) string { return " " },
		"63 digits":  func(q wire) string { return good(q)[1:] },
		"65 digits":  func(q wire) string { return good(q) + "0" },
		"128 digits": func(q wire) string { return good(q) + good(q) },
		"upper case": func(q wire) string { return strings.ToUpper(good(q)) },
		"base64": func(q wire) string {
			raw, _ := hex.DecodeString(good(q))
			return base64.StdEncoding.EncodeToString(raw)
		},
	} {
		t.Run("S02 "+name, func(t *testing.T) {
			q := w.request()
			q.signature = alter(q)
			w.clean(t, q, 400, malformed)
		})
	}
}

func TestS03EachBitCounts(t *testing.T) {
	w := newWorld(t)
	for bit := range 256 {
		q := w.request()
		raw, _ := hex.DecodeString(q.sign())
		raw[bit/8] ^= 1 << (bit % 8)
		q.signature = hex.EncodeToString(raw)
		want(t, w.send(t, q), 401, invalid)
	}
	if w.handled.Load() != 0 || w.mechanism.Replays.(*mapStore).claims != 0 {
		t.Error("a forged request was recorded or handled")
	}
}

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
				w.mechanism.ClientAddr = func(*http.Request) netip.Addr {
					addr, _ := netip.ParseAddr(test.addr)
					return addr
				}
			})
			want(t, w.send(t, w.request()), test.status, test.detail)
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
			mac := hmac.New(sha256.New, []byte(key))
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

func TestS07Methods(t *testing.T) {
	w := newWorld(t)
	t.Run("S07 message with a lower-case method", func(t *testing.T) {
		q := w.request()
		lower := q
		lower.method = "get"
		q.signature = lower.sign()
		w.clean(t, q, 401, invalid)
	})
	t.Run("S07 lower-case method in the request line", func(t *testing.T) {
		q := w.request()
		q.method = "get"
		w.clean(t, q, 405, "invalidArgument.method")
	})
	t.Run("S08 signed POST, sent DELETE", func(t *testing.T) {
		q := w.request()
		q.method = "POST"
		q.signature = q.sign()
		q.method = "DELETE"
		w.clean(t, q, 401, invalid)
	})
	t.Run("S08 X-HTTP-Method-Override is never read", func(t *testing.T) {
		q := w.request()
		q.method, q.lines = "POST", []string{"X-HTTP-Method-Override: DELETE", "Content-Length: 0"}
		reply := w.send(t, q)
		want(t, reply, 200, "ann")
		if !strings.Contains(reply.Text, `"POST"`) {
			t.Errorf("handled as %s", reply.Text)
		}
	})
}

func TestS09OnlyTheCommandIsSigned(t *testing.T) {
	w := newWorld(t)
	for name, command := range map[string]string{
		"with query": "/connections?limit=5", "with org and version": "/acme/v2/connections",
		"with trailing slash": "/connections/", "without leading slash": "connections",
	} {
		t.Run("S09 "+name, func(t *testing.T) {
			q := w.request()
			q.command = command
			w.clean(t, q, 401, invalid)
		})
	}
	t.Run("a trailing slash in the request is not signed", func(t *testing.T) {
		q := w.request()
		q.target = "/acme/v2/connections/"
		want(t, w.send(t, q), 200, "ann")
	})
	t.Run("the root is one slash", func(t *testing.T) {
		for _, target := range []string{"/acme/v2", "/acme/v2/"} {
			q := w.request()
			q.target, q.command = target, "/"
			want(t, w.send(t, q), 200, "ann")
		}
	})
}

func TestS10UncleanPathsAreRefused(t *testing.T) {
	w := newWorld(t)
	for _, command := range []string{"//connections", "/connections//", "/x/../connections", "/%2e%2e/connections",
		"/%63onnections", "/a%00", "/a%0a", "/a%7F", "/a%5C", "/a%FF", `/a\`, `/a"`, "/a<", "/a{", "/a|", "/a^", "/é",
		"/c_x/a%2Fb|"} {
		t.Run("S10 "+command, func(t *testing.T) {
			q := w.request()
			q.target, q.command = "/acme/v2"+command, command
			reply := w.send(t, q)
			want(t, reply, 400, "invalidArgument.path")
			if reply.Header.Get("Location") != "" {
				t.Error("redirected")
			}
		})
	}
}

func TestS11PathsAreDecodedOnce(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		sent, signed string
		status       int
		detail       string
	}{
		{"/c_x/a%2Fb", "/c_x/a%2Fb", 200, "ann"},
		{"/c_x/a%2Fb", "/c_x/a/b", 401, invalid},
		{"/c_x/a/b", "/c_x/a%2Fb", 401, invalid},
		{"/c_x/a%252Fb", "/c_x/a%2Fb", 401, invalid},
		{"/c_x/a%252Fb", "/c_x/a/b", 401, invalid},
		{"/c_x/a%7Cb%27c%5Ed", "/c_x/a|b'c^d", 200, "ann"},
		{"/c_x/a%7Cb%27c%5Ed", "/c_x/a%7Cb%27c%5Ed", 200, "ann"},
		{"/c_x/a%7Cb%27c%5Ed", "/c_x/a|b%27c%5Ed", 401, invalid},
	} {
		t.Run("S11 sent "+test.sent+" signed "+test.signed, func(t *testing.T) {
			q := w.request()
			q.target, q.command = "/acme/v2"+test.sent, test.signed
			want(t, w.send(t, q), test.status, test.detail)
		})
	}
}

func TestS13QueryAndBodyAreNotSigned(t *testing.T) {
	w := newWorld(t)
	q := w.request()
	q.signature = q.sign()
	q.target = "/acme/v2/connections?limit=500&where=%7B%7D"
	want(t, w.send(t, q), 200, "ann")

	q = w.request()
	q.method, q.lines = "POST", []string{"Content-Length: 2"}
	text := strings.Join(append([]string{"POST /acme/v2/connections HTTP/1.1", "Host: x"}, q.header()...), "\r\n")
	want(t, rawhttp.Write(t, w.Server, text+"\r\n\r\n{}"), 200, "ann")
}

func TestS14Siblings(t *testing.T) {
	again := func(q wire, n int) wire {
		q.nonce = "sibling" + strconv.Itoa(100000000+n)
		return q
	}
	t.Run("S14 at once, and the ninth", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		for n := range 8 {
			want(t, w.send(t, again(q, n)), 200, "ann")
		}
		reply := w.send(t, again(q, 8))
		want(t, reply, 401, replayed)
		if got := reply.Header.Get("WWW-Authenticate"); got != `Signature error="replayed"` {
			t.Errorf("challenge %q", got)
		}
	})
	t.Run("S14 after 2 s", func(t *testing.T) {
		var w *world
		w = newWorld(t, func(n *world) {
			n.mechanism.Policy.Now = func() time.Time { return time.Now().Add(w.offset) }
			w = n
		})
		q := w.request()
		want(t, w.send(t, again(q, 1)), 200, "ann")
		w.offset = 2001 * time.Millisecond
		want(t, w.send(t, again(q, 2)), 401, replayed)
	})
	t.Run("S14 with SingleUse", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.mechanism.Policy.SingleUse = true })
		q := w.request()
		want(t, w.send(t, again(q, 1)), 200, "ann")
		want(t, w.send(t, again(q, 2)), 401, replayed)
	})
	t.Run("S14 with an account header", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		q.account = "bob"
		want(t, w.send(t, again(q, 1)), 200, "bob")
		want(t, w.send(t, again(q, 2)), 401, replayed)
	})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		t.Run("S14b "+method, func(t *testing.T) {
			w := newWorld(t)
			q := w.request()
			q.method = method
			want(t, w.send(t, again(q, 1)), 200, "ann")
			want(t, w.send(t, again(q, 2)), 401, replayed)
		})
		t.Run("S14b "+method+" with UnsafeMethodSiblings", func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.mechanism.Policy.UnsafeMethodSiblings = true })
			q := w.request()
			q.method = method
			want(t, w.send(t, again(q, 1)), 200, "ann")
			want(t, w.send(t, again(q, 2)), 200, "ann")
		})
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
			// The nonce is spent: a captured request is no oracle for accounts.
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

func TestS16HeadersThatComeTwice(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"Service-Client-Key", "Service-Client-Signature", "Service-Client-Timestamp", "Service-Client-Nonce"} {
		for spelling, again := range map[string]string{"same case": name, "other case": strings.ToLower(name)} {
			t.Run("S16 "+name+" "+spelling, func(t *testing.T) {
				q := w.request()
				for _, line := range q.header() {
					if strings.HasPrefix(line, name+":") {
						q.lines = []string{again + strings.TrimPrefix(line, name)}
					}
				}
				want(t, w.send(t, q), 400, ambiguous)
				q.lines = []string{again + ": other"}
				w.clean(t, q, 400, ambiguous)
			})
		}
	}
}

func TestS17HeaderValues(t *testing.T) {
	w := newWorld(t)
	for name, alter := range map[string]func(*wire){
		"8 KiB":          func(q *wire) { q.key = strings.Repeat("k", 8<<10) },
		"not ASCII":      func(q *wire) { q.key = "acmeKéy" },
		"8 KiB account":  func(q *wire) { q.account = strings.Repeat("a", 8<<10) },
		"a folded value": func(q *wire) { q.signature = q.sign()[:32] + "\r\n " + q.sign()[32:] },
	} {
		t.Run("S17 "+name, func(t *testing.T) {
			q := w.request()
			alter(&q)
			reply := w.send(t, q)
			if reply.StatusCode != 400 && reply.StatusCode != 431 {
				t.Errorf("got %d %s", reply.StatusCode, reply.Text)
			}
		})
	}
	if w.handled.Load() != 0 {
		t.Error("handled")
	}
}

func TestS20TrailersAndProxies(t *testing.T) {
	w := newWorld(t)
	t.Run("S20 credential headers in trailers", func(t *testing.T) {
		q := w.request()
		q.method = "POST"
		head := "POST /acme/v2/connections HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n" +
			"Trailer: Service-Client-Key, Service-Client-Signature, Service-Client-Timestamp, Service-Client-Nonce\r\n\r\n"
		reply := rawhttp.Write(t, w.Server, head+"2\r\n{}\r\n0\r\n"+strings.Join(q.header(), "\r\n")+"\r\n\r\n")
		want(t, reply, 401, missing)
	})
	t.Run("S20 named in Connection through a reverse proxy", func(t *testing.T) {
		target, _ := url.Parse(w.URL)
		proxy := httptest.NewServer(httputil.NewSingleHostReverseProxy(target))
		defer proxy.Close()
		q := w.request()
		q.lines = []string{"Connection: Service-Client-Key, Service-Client-Signature, Service-Client-Timestamp, Service-Client-Nonce"}
		reply := rawhttp.Send(t, proxy, append([]string{"GET " + q.target + " HTTP/1.1"}, q.header()...)...)
		want(t, reply, 401, missing)
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

	// The rotation ends: the credential is given a key without the older one.
	after := *w.credentials[acmeKey]
	after.Key = mustKey(t, acmeKey, acmeSecret)
	w.credentials[acmeKey] = &after
	q = w.request()
	q.secret = olderSecret
	w.clean(t, q, 401, invalid)
}

func TestN01NonceShape(t *testing.T) {
	w := newWorld(t)
	for name, nonce := range map[string]string{
		"15": "abcdefghijklmno", "17": "abcdefghijklmnopq", "empty": "", "hyphen": "abcdefgh-jklmnop",
		"space": "abcdefgh jklmnop", "é": "abcdefghéjklmno", "fullwidth digit": "abcdefghijklm１", "Kelvin sign": "abcdefghijklm\u212a",
	} {
		t.Run("N01 "+name, func(t *testing.T) {
			q := w.request()
			q.nonce = nonce
			w.clean(t, q, 400, malformed)
		})
	}
}

func TestN02ReplaysAreRefused(t *testing.T) {
	t.Run("N02 exact replay", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		want(t, w.send(t, q), 200, "ann")
		want(t, w.send(t, q), 401, replayed)
	})
	t.Run("N02 100 clients with one request over loopback", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.mechanism.Replays = signing.NewMemory(0) })
		q := w.request()
		statuses := make(chan int, 100)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { statuses <- w.send(t, q).StatusCode })
		}
		wg.Wait()
		close(statuses)
		passed := 0
		for status := range statuses {
			switch status {
			case 200:
				passed++
			case 401:
			default:
				t.Errorf("status %d", status)
			}
		}
		if passed != 1 || w.handled.Load() != 1 {
			t.Errorf("%d of 100 passed, %d were handled", passed, w.handled.Load())
		}
	})
	t.Run("N02b same nonce under a new timestamp", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		want(t, w.send(t, q), 200, "ann")
		next := w.request()
		next.nonce, next.timestamp = q.nonce, plus(t, q.timestamp, 1)
		want(t, w.send(t, next), 401, replayed)
	})
	t.Run("N03 same nonce under two client keys", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		want(t, w.send(t, q), 200, "ann")
		q.key, q.account = headless, "bob"
		want(t, w.send(t, q), 200, "bob")
	})
	t.Run("N04 bad MAC with a victim's nonce, then the victim", func(t *testing.T) {
		w := newWorld(t)
		q := w.request()
		q.signature = strings.Repeat("0", 64)
		w.clean(t, q, 401, invalid)
	})
}

func plus(t testing.TB, timestamp string, ms int64) string {
	t.Helper()
	n, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(n+ms, 10)
}

func TestN05TheWindowIsInclusive(t *testing.T) {
	now := time.UnixMilli(1_790_000_000_000)
	w := newWorld(t, func(w *world) { w.mechanism.Policy.Now = func() time.Time { return now } })
	for name, test := range map[string]struct {
		offset time.Duration
		status int
		detail string
	}{
		"oldest":       {-5 * time.Minute, 200, "ann"},
		"too old":      {-5*time.Minute - time.Millisecond, 401, stale},
		"newest":       {time.Minute, 200, "ann"},
		"too new":      {time.Minute + time.Millisecond, 401, stale},
		"a day behind": {-24 * time.Hour, 401, stale},
	} {
		t.Run("N05 "+name, func(t *testing.T) {
			q := w.request()
			q.timestamp = strconv.FormatInt(now.Add(test.offset).UnixMilli(), 10)
			reply := w.send(t, q)
			want(t, reply, test.status, test.detail)
			if got := reply.Header.Get("WWW-Authenticate"); test.status == 401 && got != `Signature error="stale"` {
				t.Errorf("challenge %q", got)
			}
		})
	}
}

func TestN06TimestampShape(t *testing.T) {
	w := newWorld(t)
	now := w.request().timestamp
	for name, timestamp := range map[string]string{
		"seconds": now[:10], "11 digits": now[:11], "16 digits": now + "000", "plus": "+" + now,
		"hexadecimal": "0x1a0c3e7b8c0", "exponent": "1e12", "underscore": now[:1] + "_" + now[1:],
		"Arabic digits": "١٧٩٠٠٠٠٠٠٠٠٠٠", "negative": "-" + now, "leading zero": "0" + now, "fraction": now + ".0",
		"N07 the largest number": "9223372036854775807", "N07 one more": "9223372036854775808", "empty": "",
	} {
		t.Run("N06 "+name, func(t *testing.T) {
			q := w.request()
			q.timestamp = timestamp
			w.clean(t, q, 400, malformed)
		})
	}
}

func TestN08RetentionCountsFromTheSignedTime(t *testing.T) {
	w := newWorld(t)
	start := time.Now()
	var offset time.Duration
	store := &keeping{}
	w.mechanism.Policy.Now = func() time.Time { return start.Add(offset) }
	w.mechanism.Replays = store
	q := w.request()
	q.timestamp = strconv.FormatInt(start.Add(time.Minute).UnixMilli(), 10)
	want(t, w.send(t, q), 200, "ann")
	offset = 6*time.Minute - time.Millisecond
	if !store.keep.After(start.Add(offset)) {
		t.Errorf("kept until %v, and accepted until %v", store.keep.Sub(start), offset)
	}
}

func TestN09AFullStoreIsTooBusy(t *testing.T) {
	w := newWorld(t, func(w *world) {
		memory := signing.NewMemory(40)
		memory.PerKey = 20
		w.mechanism.Replays = memory
	})
	var full atomic.Int64
	var wg sync.WaitGroup
	for range 6 { // clients
		requests := make([]wire, 10)
		for i := range requests {
			requests[i] = w.request()
		}
		wg.Go(func() {
			for _, q := range requests {
				reply := w.send(t, q)
				switch reply.StatusCode {
				case 200:
				case 503:
					full.Add(1)
					want(t, reply, 503, "tooBusy.storeFull")
					if reply.Header.Get("Retry-After") == "" {
						t.Error("503 without Retry-After")
					}
				default:
					t.Errorf("got %d %s", reply.StatusCode, reply.Text)
				}
			}
		})
	}
	wg.Wait()
	if full.Load() != 40 {
		t.Errorf("%d of 60 requests were refused by a quota of 20", full.Load())
	}
	other := w.request()
	other.key, other.account = headless, "bob"
	want(t, w.send(t, other), 200, "bob")
}

func TestN11AStoreThatFails(t *testing.T) {
	for name, after := range map[string]bool{"down": false, "answers with an error after writing": true} {
		t.Run("N11 "+name, func(t *testing.T) {
			w := newWorld(t)
			store := w.mechanism.Replays.(*mapStore)
			store.err, store.after = http.ErrServerClosed, after
			q := w.request()
			reply := w.send(t, q)
			want(t, reply, 503, "error.storeUnavailable")
			if reply.Header.Get("Retry-After") == "" || w.handled.Load() != 0 {
				t.Error("without Retry-After, or handled")
			}
			store.err = nil
			if after {
				want(t, w.send(t, q), 401, replayed)
			}
			want(t, w.send(t, w.request()), 200, "ann")
		})
	}
	t.Run("N11 slow", func(t *testing.T) {
		w := newWorld(t, func(w *world) {
			w.guard.Timeout = 100 * time.Millisecond
			w.mechanism.Replays = hanging{}
		})
		began := time.Now()
		want(t, w.send(t, w.request()), 503, "error.storeUnavailable")
		if took := time.Since(began); took < 100*time.Millisecond {
			t.Errorf("refused after %v, before the deadline", took)
		}
		if w.handled.Load() != 0 {
			t.Error("handled")
		}
	})
	t.Run("N11 credentials down", func(t *testing.T) {
		w := newWorld(t, func(w *world) { w.mechanism.Credentials = brokenCredentials{} })
		want(t, w.send(t, w.request()), 503, "error.storeUnavailable")
	})
}

func TestN12AStoreThatHasJustStarted(t *testing.T) {
	w := newWorld(t)
	captured := w.request()
	time.Sleep(5 * time.Millisecond)
	w.mechanism.Replays = signing.NewMemory(0)
	time.Sleep(5 * time.Millisecond)
	reply := w.send(t, captured)
	want(t, reply, 401, stale)
	want(t, w.send(t, w.request()), 200, "ann")
}

func TestSecretsAreNotInFaults(t *testing.T) {
	w := newWorld(t)
	var seen bytes.Buffer
	for _, alter := range []func(*wire){
		func(q *wire) { q.signature = strings.Repeat("0", 64) },
		func(q *wire) { q.nonce = "short" },
		func(q *wire) { q.timestamp = "1" },
		func(q *wire) { q.account = "cat" },
	} {
		q := w.request()
		alter(&q)
		seen.WriteString(w.send(t, q).Text)
	}
	for _, secret := range []string{acmeSecret, acmeKey, "short", "cat"} {
		if strings.Contains(seen.String(), secret) {
			t.Errorf("a fault holds %q", secret)
		}
	}
}
