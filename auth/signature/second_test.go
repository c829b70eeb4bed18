package signature_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/testing/rawhttp"
	"github.com/tenantkit/tenantkit/signing"
)

const (
	badDigest = "invalidArgument.contentDigest"
	tooLarge  = "invalidArgument.bodyTooLarge"
)

// second is a request of version 2 before it is sent. It is signed by the text of the interface,
// without package signing.
type second struct {
	method, path, query, body string // query with its question mark
	authority, account        string
	tag, created, nonce       string
	secret                    string
	fold                      string   // inserted into Signature-Input
	lines                     []string // additional header lines
	sent                      *second  // what goes over the wire instead; nil: what was signed
}

func (w *world) second() second {
	w.nonces++
	return second{
		method: "GET", path: "/acme/v2/connections", query: "?limit=5", authority: "api.example.test", tag: "service-v2",
		created: fmt.Sprint(time.Now().Add(w.offset).Unix()), nonce: fmt.Sprintf("nonce%011d", w.nonces), secret: acmeSecret,
	}
}

func (q second) digest() string {
	sum := sha256.Sum256([]byte(q.body))
	return "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
}

// header returns the lines of the signature, Content-Length apart.
func (q second) header() []string {
	list, lines := `"@method" "@authority" "@path" "@query"`, []string{}
	base := fmt.Sprintf("\"@method\": %s\n\"@authority\": %s\n\"@path\": %s\n\"@query\": ?%s\n",
		q.method, q.authority, q.path, strings.TrimPrefix(q.query, "?"))
	if q.body != "" {
		list += ` "content-digest"`
		base += `"content-digest": ` + q.digest() + "\n"
		lines = append(lines, "Content-Digest: "+q.digest())
	}
	if q.account != "" {
		list += ` "service-client-account"`
		base += `"service-client-account": ` + q.account + "\n"
		lines = append(lines, "Service-Client-Account: "+q.account)
	}
	input := "(" + list + `);created=` + q.created + `;nonce="` + q.nonce + `";keyid="` + acmeKey + `";alg="hmac-sha256";tag="` + q.tag + `"`
	mac := hmac.New(sha256.New, []byte(acmeKey+q.secret))
	mac.Write([]byte(base + `"@signature-params": ` + input))
	return append(lines, "Signature-Input: sig="+strings.Replace(input, ";created", q.fold+";created", 1), "Signature: sig=:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+":")
}

func (w *world) sendSecond(t testing.TB, q second) rawhttp.Reply {
	t.Helper()
	sent := q
	if q.sent != nil {
		sent = *q.sent
	}
	lines := append([]string{sent.method + " " + sent.path + sent.query + " HTTP/1.1", "Host: other.example"}, q.header()...)
	lines = append(lines, q.lines...)
	if sent.body != "" && !strings.Contains(strings.Join(q.lines, "\n"), "Transfer-Encoding") {
		lines = append(lines, fmt.Sprint("Content-Length: ", len(sent.body)))
	}
	return rawhttp.Write(t, w.Server, strings.Join(lines, "\r\n")+"\r\n\r\n"+sent.body)
}

// refuses sends a request that must leave nothing: afterwards its nonce is still good.
func (w *world) refuses(t testing.TB, q second, status int, detail string) {
	t.Helper()
	handled := w.handled.Load()
	want(t, w.sendSecond(t, q), status, detail)
	if w.handled.Load() != handled {
		t.Error("the handler ran")
	}
	honest := w.second()
	honest.nonce = q.nonce
	want(t, w.sendSecond(t, honest), 200, "ann")
}

func with(f func(*second)) func(second) second {
	return func(q second) second { f(&q); return q }
}

// sending changes the request on its way.
func sending(f func(*second)) func(second) second {
	return func(q second) second {
		q.method, q.body = "POST", `{"c_text":"hi"}`
		sent := q
		f(&sent)
		q.sent = &sent
		return q
	}
}

func line(lines ...string) func(second) second {
	return with(func(q *second) { q.lines = lines })
}

func TestSecondIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		name   string
		change func(second) second
		status int
		detail string
	}{
		{"V01 another org", sending(func(q *second) { q.path = "/globex/v2/connections" }), 401, invalid},
		{"V01 another resource", sending(func(q *second) { q.path = "/acme/v2/c_x/1" }), 401, invalid},
		{"V01 another method", sending(func(q *second) { q.method = "PUT" }), 401, invalid},
		{"V01 another query", sending(func(q *second) { q.query = "?limit=6" }), 401, invalid},
		{"V01 a trailing slash", sending(func(q *second) { q.path += "/" }), 401, invalid},
		{"V01 another secret", with(func(q *second) { q.secret = olderSecret }), 401, invalid},
		{"V03 two signatures", with(func(q *second) { q.lines = q.header() }), 400, ambiguous},
		{"V03 garbage in Signature-Input", line("Signature-Input: ("), 400, malformed},
		{"V05 too old", with(func(q *second) { q.created = fmt.Sprint(time.Now().Unix() - 302) }), 401, stale},
		{"V05 too far ahead", with(func(q *second) { q.created = fmt.Sprint(time.Now().Unix() + 70) }), 401, stale},
		{"V08 another body", sending(func(q *second) { q.body = `{"c_text":"ho"}` }), 400, badDigest},
		{"V08 no body", sending(func(q *second) { q.body = "" }), 400, badDigest},
		{"V08 a body without a digest", func(q second) second {
			sent := q
			sent.body = "x"
			q.sent = &sent
			return q
		}, 400, badDigest},
		{"V08 a chunked body without a digest", func(q second) second {
			sent := q
			sent.body = "1\r\nx\r\n0\r\n\r\n"
			q.sent, q.lines = &sent, []string{"Transfer-Encoding: chunked"}
			return q
		}, 400, badDigest},
		{"V08 the digest as a trailer", func(q second) second {
			sent := q
			sent.body = "1\r\nx\r\n0\r\nContent-Digest: sha-256=:LXEWQrcmsEQBYnypegiUrdZsCyhrRSk3tXkVt98HKMA=:\r\n\r\n"
			q.sent, q.lines = &sent, []string{"Transfer-Encoding: chunked", "Trailer: Content-Digest"}
			return q
		}, 400, badDigest},
		{"V08 a body over the bound", with(func(q *second) { q.body = strings.Repeat("x", 1<<20+1) }), 413, tooLarge},
		{"V09 another authority", with(func(q *second) { q.authority = "other.example" }), 401, invalid},
		{"V10 a query outside ASCII", with(func(q *second) { q.query = "?x=é" }), 400, malformed},
		{"V11 a folded header", with(func(q *second) { q.fold = "\r\n " }), 400, malformed},
		{"V12 a signature of version 1 beside it", line(w.request().header()...), 400, ambiguous},
		{"V12 another client key header", line("Service-Client-Key: " + globexKey), 400, ambiguous},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.refuses(t, test.change(w.second()), test.status, test.detail)
		})
	}
}

func TestSecondIsAccepted(t *testing.T) {
	w := newWorld(t)
	chunked := func(q second) second {
		q.method, q.body = "POST", "hi"
		sent := q
		sent.body = "1\r\nh\r\n1\r\ni\r\n0\r\nX-Trailer: y\r\n\r\n"
		q.sent, q.lines = &sent, []string{"Transfer-Encoding: chunked", "Trailer: X-Trailer"}
		return q
	}
	for name, change := range map[string]func(second) second{
		"a page":                      with(func(*second) {}),
		"V08 a body":                  sending(func(*second) {}),
		"V08 a chunked body":          chunked,
		"V08 a body that is awaited":  with(func(q *second) { q.method, q.body, q.lines = "POST", "hi", []string{"Connection: close"} }),
		"V01 a trailing slash":        with(func(q *second) { q.path += "/" }),
		"V10 a question mark alone":   with(func(q *second) { q.query = "?" }),
		"V10 no query":                with(func(q *second) { q.query = "" }),
		"V10 escapes and a plus":      with(func(q *second) { q.query = "?a=%2f&a=%2F&b=1+2" }),
		"V11 a folded one of a proxy": line(`Signature-Input: proxy=("@method" `, ` "@path");tag="proxy"`),
		"V03 beside one of a proxy":   line(`Signature-Input: proxy=("@method");tag="proxy"`, "Signature: proxy=:aGk=:"),
		"V09 in absolute form, of another host": func(q second) second {
			sent := q
			sent.path = "http://evil.example" + q.path
			q.sent, q.lines = &sent, []string{"X-Forwarded-Host: evil.example"}
			return q
		},
		"V12 the same client key too": line("Service-Client-Key: " + acmeKey),
	} {
		t.Run(name, func(t *testing.T) { want(t, w.sendSecond(t, change(w.second())), 200, "ann") })
	}
	q := w.second()
	q.account = "bob"
	want(t, w.sendSecond(t, q), 200, "bob")
	q = w.second()
	q.account = "cat"
	want(t, w.sendSecond(t, q), 403, principal)
}

func TestSecondIsNeverAcceptedAgain(t *testing.T) {
	w := newWorld(t)
	q := w.second()
	want(t, w.sendSecond(t, q), 200, "ann")
	for name, again := range map[string]second{
		"V14 the same":                q,
		"V14 with a new time":         with(func(q *second) { q.created = fmt.Sprint(time.Now().Unix() + 5) })(q),
		"V14 the nonce for something": with(func(q *second) { q.path = "/acme/v2/c_x/1" })(q),
	} {
		t.Run(name, func(t *testing.T) {
			reply := w.sendSecond(t, again)
			want(t, reply, 401, replayed)
			if got := reply.Header.Get("WWW-Authenticate"); got != `Signature error="replayed", versions="1 2"` {
				t.Errorf("challenge %q", got)
			}
		})
	}
}

func TestMinVersion(t *testing.T) {
	w := newWorld(t)
	w.credentials[acmeKey].MinVersion = 2
	t.Run("V15 version 1 for a key that refuses it", func(t *testing.T) {
		reply := w.send(t, w.request())
		want(t, reply, 401, invalid)
		if got := reply.Header.Get("WWW-Authenticate"); got != `Signature error="version", versions="2"` {
			t.Errorf("challenge %q", got)
		}
		forged := w.request()
		forged.signature = strings.Repeat("0", 64)
		if got := w.send(t, forged).Header.Get("WWW-Authenticate"); got != `Signature versions="1 2"` {
			t.Errorf("a stranger learns of the key: %q", got)
		}
		if n := w.mechanism.Replays.(*mapStore).claims; n != 0 {
			t.Errorf("%d claims", n)
		}
		want(t, w.sendSecond(t, w.second()), 200, "ann")
	})
	t.Run("V15 a version that is none", func(t *testing.T) {
		w.credentials[acmeKey].MinVersion = 3
		want(t, w.sendSecond(t, w.second()), 401, invalid)
	})
	for version, c := range map[int]struct {
		first, second int
		challenge     string
	}{1: {200, 401, "Signature"}, 2: {401, 200, `Signature versions="2"`}} {
		t.Run(fmt.Sprint("V15 a server of version ", version), func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.mechanism.Policy.Version = version })
			if got := w.send(t, w.request()).StatusCode; got != c.first {
				t.Errorf("version 1: %d", got)
			}
			if got := w.sendSecond(t, w.second()).StatusCode; got != c.second {
				t.Errorf("version 2: %d", got)
			}
			if got := rawhttp.Send(t, w.Server, "GET /acme/v2/connections HTTP/1.1").Header.Get("WWW-Authenticate"); got != c.challenge {
				t.Errorf("challenge %q", got)
			}
		})
	}
}

// tokens is a mechanism that is presented by any Authorization.
type tokens struct{}

func (tokens) Challenge(*auth.Tenant, error) string { return "" }

func (tokens) Name() string { return "tokens" }

func (tokens) Bind(*auth.Settings) error { return nil }

func (tokens) Presented(r *http.Request) auth.Presence {
	if r.Header["Authorization"] != nil {
		return auth.InHeader
	}
	return auth.Absent
}

func (tokens) Authenticate(context.Context, *http.Request, *auth.Tenant) (auth.Principal, error) {
	return auth.Principal{Org: "acme", Account: "ann", Mechanism: "tokens"}, nil
}

func TestSecondBesideAToken(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Mechanisms = append(w.guard.Mechanisms, tokens{}) })
	for name, c := range map[string]struct {
		change func(*second)
		status int
		detail string
	}{
		"V03 with another tag":           {func(q *second) { q.tag = "proxy" }, 200, "ann"},
		"V03 with the tag of a brand":    {func(q *second) { q.tag = "acme-v2" }, 200, "ann"},
		"V03 with our tag":               {func(*second) {}, 400, ambiguous},
		"V03 with a malformed signature": {func(q *second) { q.lines = append(q.lines, "Signature-Input: (") }, 400, ambiguous},
	} {
		t.Run(name, func(t *testing.T) {
			q := w.second()
			q.lines = []string{"Authorization: Token x"}
			c.change(&q)
			want(t, w.sendSecond(t, q), c.status, c.detail)
		})
	}
}

func TestAuthorityOfATenant(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.guard.BaseURL = "https://api.example.test/base"
		w.guard.Resolve = func(_ context.Context, r *http.Request) (auth.Address, error) {
			return auth.Address{Org: "acme", Version: "v2", Rest: strings.TrimPrefix(r.URL.EscapedPath(), "/api"),
				Authority: "acme.example.test"}, nil
		}
	})
	q := w.second()
	q.path, q.authority = "/base/api/connections", "acme.example.test"
	sent := q
	sent.path = "/api/connections"
	q.sent = &sent
	want(t, w.sendSecond(t, q), 200, "ann")
	q.authority = "api.example.test"
	want(t, w.sendSecond(t, q), 401, invalid)
}

// If Resolve finds the org outside of the path and names no Authority, the signature covers no org.
// The client key does: its app is of one org.
func TestASignatureThatCoversNoOrg(t *testing.T) {
	org := ""
	w := newWorld(t, func(w *world) {
		w.guard.Resolve = func(_ context.Context, r *http.Request) (auth.Address, error) {
			return auth.Address{Org: org, Version: "v2", Rest: r.URL.EscapedPath()}, nil
		}
	})
	q := w.second()
	q.path = "/connections"
	org = "globex"
	want(t, w.sendSecond(t, q), 401, invalid)
	org = "acme"
	want(t, w.sendSecond(t, q), 200, "ann")
}

func TestSecondOfAnotherBrand(t *testing.T) {
	w := newWorld(t, func(w *world) { w.guard.Brand.Header = "Acme-" })
	q := w.second()
	if reply := w.sendSecond(t, q); reply.StatusCode != 401 || !strings.Contains(reply.Text, missing) {
		t.Errorf("the tag of another brand: %d %s", reply.StatusCode, reply.Text)
	}
	q.tag = "acme-v2"
	if reply := w.sendSecond(t, q); reply.StatusCode != 200 {
		t.Errorf("got %d %s", reply.StatusCode, reply.Text)
	}
}

// The Guard's Timeout is one for stores. A client may take longer to send a body.
func TestASlowBodyIsNoSlowStore(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.guard.Timeout = time.Second
		w.mechanism.Replays = waiting{w.mechanism.Replays}
		w.mechanism.Credentials = timedCredentials{w.credentials}
	})
	q := w.second()
	q.method, q.body = "POST", "hi"
	r, err := http.NewRequest("POST", w.URL+q.path+q.query, slowBody{strings.NewReader(q.body)})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range q.header() {
		name, value, _ := strings.Cut(l, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("got %d", res.StatusCode)
	}
}

type slowBody struct{ *strings.Reader }

func (s slowBody) Read(p []byte) (int, error) {
	time.Sleep(1200 * time.Millisecond)
	return s.Reader.Read(p)
}

// waiting claims unless its context has ended.
type waiting struct{ signing.Replays }

func (w waiting) Claim(ctx context.Context, u signing.Use) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	default:
		return w.Replays.Claim(ctx, u)
	}
}

// timedCredentials starts the Guard's timer.
type timedCredentials struct{ signature.Credentials }

func (s timedCredentials) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	ctx.Done()
	return s.Credentials.Credential(ctx, clientKey)
}

func TestNarrowingKeepsTheVersion(t *testing.T) {
	w := newWorld(t)
	tenant := w.tenant(t)
	strict := signature.Credential{Key: w.credentials[acmeKey].Key, Account: "ann", MinVersion: 2}
	narrow := changed(strict, func(c *signature.Credential) { c.Scope = []string{"object.read"} })
	if !narrow.Narrows(&strict, tenant, acmeKey) {
		t.Error("the same version")
	}
	lower := changed(strict, func(c *signature.Credential) { c.MinVersion = 1 })
	if lower.Narrows(&strict, tenant, acmeKey) {
		t.Error("M22 a lower version narrows")
	}
	if !strict.Narrows(&lower, tenant, acmeKey) {
		t.Error("a higher version does not narrow")
	}
	none := changed(strict, func(c *signature.Credential) { c.MinVersion = 0 })
	if !none.Narrows(&lower, tenant, acmeKey) || !lower.Narrows(&none, tenant, acmeKey) {
		t.Error("0 is not 1")
	}
	if err := signature.Within(changed(permanent, granted("object.read")), tenant, acmeKey, &strict, lower); err == nil {
		t.Error("M22 a narrow token lowers the version")
	}
	public := changed(strict, func(c *signature.Credential) {
		c.Key, _ = signing.NewPublicKey(acmeKey, []byte(strings.Repeat("k", 32)))
	})
	if public.Key == nil || public.Narrows(&strict, tenant, acmeKey) {
		t.Error("M22 another public key narrows")
	}
}

// The handler of a route reads the body that the signature covers, also behind a middleware that
// replaces the request's context.
func TestTheHandlerReadsTheSignedBody(t *testing.T) {
	w := newWorld(t)
	mux := w.guard.Mux()
	type ownKey struct{}
	var read string
	handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Body.Close() != nil {
			t.Error(err)
		}
		read = string(body)
	})
	mux.Handle("POST /connections", auth.Authenticated, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), ownKey{}, 1)))
	}))
	q := w.second()
	q.method, q.body = "POST", `{"c_text":"hi"}`
	r := httptest.NewRequest(q.method, q.path+q.query, strings.NewReader(q.body))
	for _, l := range q.header() {
		name, value, _ := strings.Cut(l, ": ")
		r.Header.Set(name, value)
	}
	rw := httptest.NewRecorder()
	mux.ServeHTTP(rw, r)
	if rw.Code != 200 || read != q.body {
		t.Errorf("%d, and the handler read %q", rw.Code, read)
	}
}

// A captured request does not make the server read, and hold, a body for each of its copies.
func TestV18AUsedNonceReadsNoBody(t *testing.T) {
	for name, store := range map[string]func(signing.Replays) signing.Replays{
		"the store looks it up":    func(r signing.Replays) signing.Replays { return r },
		"the store cannot do that": func(r signing.Replays) signing.Replays { return struct{ signing.Replays }{r} },
	} {
		w := newWorld(t, func(w *world) { w.mechanism.Replays = store(w.mechanism.Replays) })
		mux := w.guard.Mux()
		mux.Handle("POST /connections", auth.Authenticated, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		q := w.second()
		q.method, q.body = "POST", strings.Repeat("x", 20<<10)
		read := 0
		for _, want := range []int{200, 401} {
			body := strings.NewReader(q.body)
			r := httptest.NewRequest(q.method, q.path+q.query, body)
			for _, l := range q.header() {
				name, value, _ := strings.Cut(l, ": ")
				r.Header.Set(name, value)
			}
			rw := httptest.NewRecorder()
			if mux.ServeHTTP(rw, r); rw.Code != want {
				t.Errorf("%s: %d, want %d", name, rw.Code, want)
			}
			read = len(q.body) - body.Len()
		}
		if looks := name == "the store looks it up"; looks != (read == 0) {
			t.Errorf("%s: %d bytes of the body were read again", name, read)
		}
	}
}
