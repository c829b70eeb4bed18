package signature_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/testing/rawhttp"
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

func TestS22TheCommandIsBounded(t *testing.T) {
	w := newWorld(t)
	for _, head := range []string{"/c_x/", "/c_x/%7C"} {
		q := w.request()
		q.command = head + strings.Repeat("a", 2049-len(head))
		q.target = "/acme/v2" + q.command
		t.Run("S22 2049 bytes of "+head, func(t *testing.T) { w.clean(t, q, 400, "invalidArgument.path") })
		q = w.request()
		q.command = head + strings.Repeat("a", 2048-len(head))
		q.target = "/acme/v2" + q.command
		want(t, w.send(t, q), 200, "ann")
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

// Whatever the headers hold, a request is admitted only by the MAC of its own command, key and
// time. The directory is not asked before that.
func FuzzHeaders(f *testing.F) {
	f.Add("@", "@", "@", "@", "")
	f.Add("@", "@", "@", "@", "bob")
	f.Add("@", "@", "@", "@", "cat")
	f.Add("@ ", "@", "@", "@", "")
	f.Add("@", "@a", "@", "@", "")
	f.Add("@", "@", "0@", "@", "")
	f.Add("@", "@", "+@", "@", "")
	f.Add("@", "@", "@", "@@", "")
	f.Add(globexKey, "@", "@", "@", "")
	w := newWorld(f)
	w.mechanism.Replays = accepting{}
	h := w.guard.Mount(w.guard.Require(auth.Authenticated)(http.HandlerFunc(w.answer)))
	f.Fuzz(func(t *testing.T, key, sig, timestamp, nonce, account string) {
		q := w.request()
		r := httptest.NewRequest(q.method, q.target, nil)
		set := func(name, value, honest string) string {
			value = strings.ReplaceAll(value, "@", honest)
			r.Header["Service-Client-"+name] = []string{value}
			return value
		}
		given := q
		given.key, given.timestamp = set("Key", key, q.key), set("Timestamp", timestamp, q.timestamp)
		given.signature, given.nonce = set("Signature", sig, q.sign()), set("Nonce", nonce, q.nonce)
		if account != "" {
			set("Account", account, "ann")
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		mac := wire{method: q.method, command: q.command, key: given.key, secret: acmeSecret, timestamp: given.timestamp}.sign()
		signed := given.key == acmeKey && given.signature == mac && nonceShape.MatchString(given.nonce)
		acts := slices.Contains([]string{"", "ann", "bob"}, strings.ReplaceAll(account, "@", "ann"))
		if rec.Code == 200 && (!signed || !acts) {
			t.Errorf("%+v as %q got in", given, account)
		}
		if rec.Code >= 500 {
			t.Errorf("%+v: got %d", given, rec.Code)
		}
	})
}
