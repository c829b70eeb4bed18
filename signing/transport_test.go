package signing_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

// peer is a server that answers as told and records its requests.
type peer struct {
	*httptest.Server
	mu     sync.Mutex
	got    []*http.Request
	bodies []string
}

// newPeer answers the n-th request, counted from 0, with answer(n).
func newPeer(t *testing.T, answer func(n int, w http.ResponseWriter)) *peer {
	p := &peer{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		n := len(p.got)
		p.got, p.bodies = append(p.got, r), append(p.bodies, string(body))
		p.mu.Unlock()
		answer(n, w)
	}))
	t.Cleanup(p.Close)
	return p
}

func fine(int, http.ResponseWriter) {}

// refuse answers the first requests, times of them, with 401 and the challenges.
func refuse(times int, challenges ...string) func(int, http.ResponseWriter) {
	return func(n int, w http.ResponseWriter) {
		if n >= times {
			return
		}
		for _, challenge := range challenges {
			w.Header().Add("WWW-Authenticate", challenge)
		}
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"object":"fault"}`)
	}
}

func (p *peer) client() *http.Client {
	return &http.Client{Transport: p.transport()}
}

func (p *peer) transport() *signing.Transport {
	return &signing.Transport{BaseURL: p.URL + "/acme/v2", ClientKey: clientKey, Secret: secret}
}

func do(t *testing.T, client *http.Client, r *http.Request) *http.Response {
	t.Helper()
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res
}

func newRequest(t *testing.T, method, url string, body io.Reader) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTransportSigns(t *testing.T) {
	tests := []struct{ name, method, path, command string }{
		{"a resource", "GET", "/connections?limit=2", "/connections"},
		{"a trailing slash", "GET", "/connections/", "/connections"},
		{"the mount", "GET", "", "/"},
		{"the mount and a slash", "GET", "/", "/"},
		{"an escaped slash", "DELETE", "/c_x/a%2Fb%20c", "/c_x/a%2Fb%20c"},
		{"a name that has to be escaped", "PATCH", "/c_names/é☃", "/c_names/%C3%A9%E2%98%83"},
		{"brackets", "POST", "/c_x/1/c_set[]", "/c_x/1/c_set[]"},
		{"a bar, sent escaped", "GET", "/a|b", "/a%7Cb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPeer(t, fine)
			r := newRequest(t, test.method, p.URL+"/acme/v2"+test.path, nil)
			before := time.Now().UnixMilli()
			do(t, p.client(), r)
			if len(r.Header) != 0 {
				t.Errorf("the caller's request was changed: %v", r.Header)
			}
			h := p.got[0].Header
			timestamp := h.Get(names.Timestamp)
			if ms, err := strconv.ParseInt(timestamp, 10, 64); err != nil || ms < before || ms > time.Now().UnixMilli() {
				t.Errorf("timestamp %q", timestamp)
			}
			if want := signing.Sign(clientKey, secret, test.command, test.method, timestamp); h.Get(names.Signature) != want {
				t.Errorf("not the signature of %s %s", test.method, test.command)
			}
			if !nonceShape.MatchString(h.Get(names.Nonce)) || h.Get(names.ClientKey) != clientKey {
				t.Errorf("headers %v", h)
			}
			if _, ok := h[names.Account]; ok {
				t.Error("an account nobody asked for")
			}
		})
	}
}

func TestTransportReplacesOldHeaders(t *testing.T) {
	p := newPeer(t, fine)
	r := newRequest(t, "GET", p.URL+"/acme/v2/x", nil)
	for _, name := range []string{names.ClientKey, names.Signature, names.Timestamp, names.Nonce} {
		r.Header[name] = []string{"old", "older"}
	}
	kept := r.Header.Clone()
	do(t, p.client(), r)
	if diff := cmp.Diff(kept, r.Header); diff != "" {
		t.Errorf("the caller's headers (-before +after):\n%s", diff)
	}
	for name, values := range p.got[0].Header {
		if slices.Contains(values, "old") {
			t.Errorf("%s: %v", name, values)
		}
	}
}

func TestTransportAccount(t *testing.T) {
	tests := []struct {
		name, transport, request, want string
	}{
		{"of the Transport", "a", "", "a"},
		{"of the request", "", "b", "b"},
		{"of both", "a", "b", "b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPeer(t, fine)
			transport := p.transport()
			transport.Account = test.transport
			transport.Header = "X-Acme-"
			r := newRequest(t, "GET", p.URL+"/acme/v2/x", nil)
			if test.request != "" {
				r.Header.Set("X-Acme-Client-Account", test.request)
			}
			do(t, &http.Client{Transport: transport}, r)
			if diff := cmp.Diff([]string{test.want}, p.got[0].Header["X-Acme-Client-Account"]); diff != "" {
				t.Errorf("account (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTransportStaysInsideItsBaseURL(t *testing.T) {
	sent := 0
	transport := &signing.Transport{
		BaseURL:   "https://api.example.com/acme/v2",
		ClientKey: clientKey,
		Secret:    secret,
		Base: roundTrip(func(*http.Request) (*http.Response, error) {
			sent++
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
		}),
	}
	inside := []string{
		"https://api.example.com/acme/v2",
		"https://api.example.com/acme/v2/x",
		"https://api.example.com:443/acme/v2/x",
		"https://API.example.com/acme/v2/x",
	}
	outside := []string{
		"http://api.example.com/acme/v2/x",
		"https://api.example.com:8443/acme/v2/x",
		"https://evil.example/acme/v2/x",
		"https://api.example.com.evil.example/acme/v2/x",
		"https://evil.example@api.example.com.evil.example/acme/v2/x",
		"https://api.example.com/other/v2/x",
		"https://api.example.com/acme/v1/x",
		"https://api.example.com/acme/v20/x",
		"https://api.example.com/acme",
		"https://api.example.com/",
		"https://api.example.com",
		"https://api.example.com./acme/v2/x",
	}
	for _, address := range inside {
		if _, err := transport.RoundTrip(newRequest(t, "GET", address, nil)); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if sent != len(inside) {
		t.Fatalf("%d sent, want %d", sent, len(inside))
	}
	refused := func(name string, r *http.Request, want error) {
		body := &closing{Reader: strings.NewReader("{}")}
		r.Body = body
		if _, err := transport.RoundTrip(r); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if sent != len(inside) {
			t.Fatalf("%s: sent", name)
		}
		if body.closed.Load() != 1 {
			t.Errorf("%s: body closed %d times", name, body.closed.Load())
		}
	}
	for _, address := range outside {
		refused(address, newRequest(t, "GET", address, nil), signing.ErrOutside)
	}
	fronted := newRequest(t, "GET", inside[1], nil)
	fronted.Host = "evil.example"
	refused("another Host header", fronted, signing.ErrOutside)
	opaque := newRequest(t, "GET", inside[1], nil)
	opaque.URL.Opaque = "//evil.example/"
	refused("an opaque URL", opaque, signing.ErrOutside)
	refused("no URL", &http.Request{Method: "GET"}, signing.ErrOutside)
	for _, path := range []string{"/../../other/v2/x", "/..%2F..%2Fother", "//x", "/x/./y", "/%2e%2e/x", "/" + strings.Repeat("x", 2048)} {
		refused(path, newRequest(t, "GET", "https://api.example.com/acme/v2"+path, nil), signing.ErrPath)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTransportIncomplete(t *testing.T) {
	whole := signing.Transport{BaseURL: "https://api.example.com", ClientKey: clientKey, Secret: secret}
	tests := map[string]func(*signing.Transport){
		"no base URL":                     func(t *signing.Transport) { t.BaseURL = "" },
		"a base URL without a scheme":     func(t *signing.Transport) { t.BaseURL = "api.example.com/acme" },
		"a base URL without a host":       func(t *signing.Transport) { t.BaseURL = "https:///acme" },
		"a base URL of another scheme":    func(t *signing.Transport) { t.BaseURL = "ftp://api.example.com" },
		"a base URL with a query":         func(t *signing.Transport) { t.BaseURL += "/?a=b" },
		"a base URL with a fragment":      func(t *signing.Transport) { t.BaseURL += "/#a" },
		"a base URL with a password":      func(t *signing.Transport) { t.BaseURL = "https://u:hidden@api.example.com" },
		"a base URL with a dot segment":   func(t *signing.Transport) { t.BaseURL += "/a/../b" },
		"a base URL that does not parse":  func(t *signing.Transport) { t.BaseURL += "/%zz" },
		"no client key":                   func(t *signing.Transport) { t.ClientKey = "" },
		"a client key with a line feed":   func(t *signing.Transport) { t.ClientKey = "a\nb" },
		"no secret":                       func(t *signing.Transport) { t.Secret = "" },
		"a secret and a signer":           func(t *signing.Transport) { t.Signer = demoSigner },
		"a signer of version 1":           func(t *signing.Transport) { t.Secret, t.Signer, t.Version = "", demoSigner, 1 },
		"a signer that is not Ed25519":    func(t *signing.Transport) { t.Secret, t.Signer = "", otherSigner{} },
		"version 3":                       func(t *signing.Transport) { t.Version = 3 },
		"version -1":                      func(t *signing.Transport) { t.Version = -1 },
		"a quote in the key of version 2": func(t *signing.Transport) { t.Version, t.ClientKey = 2, `a"b` },
		"an account with a space":         func(t *signing.Transport) { t.Account = "a b" },
		"an account of 65 bytes":          func(t *signing.Transport) { t.Account = strings.Repeat("a", 65) },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			broken := &signing.Transport{
				BaseURL: whole.BaseURL, ClientKey: whole.ClientKey, Secret: whole.Secret,
				Base: roundTrip(func(*http.Request) (*http.Response, error) {
					t.Error("sent")
					return nil, io.EOF
				}),
			}
			spoil(broken)
			_, err := broken.RoundTrip(newRequest(t, "GET", "https://api.example.com/x", nil))
			if err == nil || !strings.HasPrefix(err.Error(), "signing: Transport.") {
				t.Fatalf("error %v", err)
			}
			if strings.Contains(err.Error(), string(secret)) || strings.Contains(err.Error(), "hidden") {
				t.Errorf("a secret in %v", err)
			}
		})
	}
}

func TestTransportTakesItsCredentialsNowhereElse(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(fmt.Sprint("redirected with ", status), func(t *testing.T) {
			elsewhere := newPeer(t, fine)
			p := newPeer(t, func(_ int, w http.ResponseWriter) {
				w.Header().Set("Location", elsewhere.URL+"/acme/v2/x")
				w.WriteHeader(status)
			})
			_, err := p.client().Do(newRequest(t, "POST", p.URL+"/acme/v2/x", strings.NewReader("{}")))
			if !errors.Is(err, signing.ErrOutside) {
				t.Errorf("error %v, want ErrOutside", err)
			}
			if len(elsewhere.got) != 0 {
				t.Errorf("sent elsewhere: %v", elsewhere.got[0].Header)
			}
		})
	}
	t.Run("a redirect inside is signed anew", func(t *testing.T) {
		p := newPeer(t, func(n int, w http.ResponseWriter) {
			if n == 0 {
				w.Header().Set("Location", "/acme/v2/y")
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
		})
		do(t, p.client(), newRequest(t, "POST", p.URL+"/acme/v2/x", strings.NewReader("{}")))
		if len(p.got) != 2 {
			t.Fatalf("%d requests", len(p.got))
		}
		h := p.got[1].Header
		if h.Get(names.Signature) != signing.Sign(clientKey, secret, "/y", "POST", h.Get(names.Timestamp)) {
			t.Error("the second is not signed for where it went")
		}
	})
}

func TestTransportSignsAgain(t *testing.T) {
	stale, replayed := `Signature error="stale"`, `Signature error="replayed"`
	text := func() io.Reader { return strings.NewReader("a body") }
	stream := func() io.Reader { return io.MultiReader(strings.NewReader("a body")) }
	tests := []struct {
		name   string
		method string
		body   func() io.Reader
		answer func(int, http.ResponseWriter)
		sent   int
		status int
	}{
		{"stale GET", "GET", nil, refuse(1, stale), 2, 200},
		{"stale POST with a body that can be read again", "POST", text, refuse(1, stale), 2, 200},
		{"stale POST without a body", "POST", nil, refuse(1, stale), 2, 200},
		{"stale POST with a body that cannot be read again", "POST", stream, refuse(1, stale), 1, 401},
		{"stale POST with a body that fails to be read again", "POST", text, refuse(1, stale), 1, 401},
		{"stale for ever", "POST", text, refuse(10, stale), 2, 401},
		{"replayed GET", "GET", nil, refuse(1, replayed), 2, 200},
		{"replayed HEAD", "HEAD", nil, refuse(1, replayed), 2, 200},
		{"replayed POST", "POST", text, refuse(1, replayed), 1, 401},
		{"replayed DELETE", "DELETE", nil, refuse(1, replayed), 1, 401},
		{"replayed for ever", "GET", nil, refuse(10, replayed), 2, 401},
		{"a wrong signature", "GET", nil, refuse(1, "Signature"), 1, 401},
		{"another mechanism's refusal", "GET", nil, refuse(1, `Bearer error="stale"`), 1, 401},
		{"beside other challenges", "GET", nil, refuse(1, "Bearer", `Session, Signature error="stale"`), 2, 200},
		{"a challenge without a refusal", "GET", nil, func(_ int, w http.ResponseWriter) {
			w.Header().Set("WWW-Authenticate", stale)
		}, 1, 200},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newPeer(t, test.answer)
			var body io.Reader
			if test.body != nil {
				body = test.body()
			}
			r := newRequest(t, test.method, p.URL+"/acme/v2/x", body)
			if strings.Contains(test.name, "fails to be read again") {
				r.GetBody = func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }
			}
			res := do(t, p.client(), r)
			if len(p.got) != test.sent || res.StatusCode != test.status {
				t.Fatalf("%d sent, status %d, want %d, %d", len(p.got), res.StatusCode, test.sent, test.status)
			}
			nonces := map[string]bool{}
			for i, r := range p.got {
				nonces[r.Header.Get(names.Nonce)] = true
				if test.body != nil && p.bodies[i] != "a body" {
					t.Errorf("attempt %d had the body %q", i, p.bodies[i])
				}
			}
			if len(nonces) != test.sent {
				t.Error("a nonce twice")
			}
			if test.sent == 2 && p.got[0].Header.Get(names.Timestamp) >= p.got[1].Header.Get(names.Timestamp) {
				t.Error("the timestamp did not grow")
			}
		})
	}
}

func TestTransportClosesWhatItGets(t *testing.T) {
	refused := &closing{Reader: bytes.NewReader(make([]byte, 1<<20))}
	attempts := 0
	transport := &signing.Transport{BaseURL: "https://api.example.com", ClientKey: clientKey, Secret: secret,
		Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			r.Body.Close()
			attempts++
			if attempts == 2 {
				return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
			}
			return &http.Response{
				StatusCode: 401,
				Header:     http.Header{"Www-Authenticate": {`Signature error="stale"`}},
				Body:       refused,
			}, nil
		})}
	bodies := []*closing{{Reader: strings.NewReader("{}")}, {Reader: strings.NewReader("{}")}}
	r := newRequest(t, "POST", "https://api.example.com/x", bodies[0])
	r.GetBody = func() (io.ReadCloser, error) { return bodies[1], nil }
	res, err := transport.RoundTrip(r)
	if err != nil || res.StatusCode != 200 {
		t.Fatal(err)
	}
	if refused.closed.Load() != 1 || bodies[0].closed.Load() != 1 || bodies[1].closed.Load() != 1 {
		t.Errorf("closed: the refused reply %d times, the bodies %d and %d times",
			refused.closed.Load(), bodies[0].closed.Load(), bodies[1].closed.Load())
	}
	if left, _ := io.Copy(io.Discard, refused.Reader); left < 900<<10 {
		t.Errorf("%d bytes of the refused reply left unread, want most", left)
	}
}

func TestTransportTakesABareRequest(t *testing.T) {
	var got *http.Request
	transport := &signing.Transport{BaseURL: "https://api.example.com", ClientKey: clientKey, Secret: secret,
		Base: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})}
	bare := &http.Request{URL: &url.URL{Scheme: "https", Host: "api.example.com", Path: "/x"}}
	if _, err := transport.RoundTrip(bare); err != nil {
		t.Fatal(err)
	}
	if want := signing.Sign(clientKey, secret, "/x", "GET", got.Header.Get(names.Timestamp)); got.Header.Get(names.Signature) != want {
		t.Error("without a method it is not signed as GET")
	}
	if bare.Header != nil {
		t.Error("the caller's request was changed")
	}
}

func TestTransportGivesBackTheErrorOfItsBase(t *testing.T) {
	down := errors.New("down")
	transport := &signing.Transport{BaseURL: "https://api.example.com", ClientKey: clientKey, Secret: secret,
		Base: roundTrip(func(*http.Request) (*http.Response, error) { return nil, down })}
	if _, err := transport.RoundTrip(newRequest(t, "GET", "https://api.example.com/x", nil)); !errors.Is(err, down) {
		t.Errorf("error %v", err)
	}
}

// timestamps returns the timestamps that a client signs when the server's time in
// replies is wrong by the given amount.
func timestamps(t *testing.T, headers ...http.Header) (offs []time.Duration) {
	p := newPeer(t, func(n int, w http.ResponseWriter) {
		for name, values := range headers[n] {
			w.Header()[name] = values
		}
	})
	client := p.client()
	for i := range headers {
		do(t, client, newRequest(t, "GET", p.URL+"/acme/v2/"+strconv.Itoa(i), nil))
		ms, err := strconv.ParseInt(p.got[i].Header.Get(names.Timestamp), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		offs = append(offs, time.Until(time.UnixMilli(ms)).Round(time.Minute))
	}
	return offs
}

func TestClockLearns(t *testing.T) {
	claim := func(off time.Duration, more ...string) http.Header {
		h := http.Header{names.ServerTime: {strconv.FormatInt(time.Now().Add(off).UnixMilli(), 10)}}
		for i := 0; i < len(more); i += 2 {
			h.Add(more[i], more[i+1])
		}
		return h
	}
	hour := time.Hour
	none := http.Header{}
	tests := []struct {
		name    string
		replies []http.Header
		want    []time.Duration
	}{
		{"from the first reply", []http.Header{claim(hour), none, none}, []time.Duration{0, hour, hour}},
		{"forward and back", []http.Header{claim(hour), claim(-hour), claim(0), none}, []time.Duration{0, hour, -hour, 0}},
		{"not from a stored reply", []http.Header{claim(hour, "Age", "0"), none}, []time.Duration{0, 0}},
		{"not from two times", []http.Header{claim(hour, names.ServerTime, "1790000000000"), none}, []time.Duration{0, 0}},
		{"not from text", []http.Header{{names.ServerTime: {"noon"}}, none}, []time.Duration{0, 0}},
		{"not from seconds", []http.Header{{names.ServerTime: {"1790000000"}}, none}, []time.Duration{0, 0}},
		{"not from a time that leaves no room ahead", []http.Header{{names.ServerTime: {"999999999999999"}}, none}, []time.Duration{0, 0}},
		{"not from another prefix", []http.Header{{"X-Acme-Server-Time": {"1590000000000"}}, none}, []time.Duration{0, 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, timestamps(t, test.replies...)); diff != "" {
				t.Errorf("off by (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClockSurvivesAbsurdTimes(t *testing.T) {
	for _, absurd := range []string{"999999990000000", "100000000000"} {
		now := http.Header{names.ServerTime: {strconv.FormatInt(time.Now().UnixMilli(), 10)}}
		got := timestamps(t, http.Header{names.ServerTime: {absurd}}, now, now)
		if got[1] == 0 || got[2] != 0 {
			t.Errorf("%s: off by %v, want only the second to be", absurd, got)
		}
	}
}

func TestClockKeepsHostsApart(t *testing.T) {
	ahead := newPeer(t, func(_ int, w http.ResponseWriter) {
		w.Header().Set(names.ServerTime, strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10))
	})
	right := newPeer(t, fine)
	var clock signing.Clock
	for _, p := range []*peer{ahead, right, ahead} {
		transport := p.transport()
		transport.Clock = &clock
		do(t, &http.Client{Transport: transport}, newRequest(t, "GET", p.URL+"/acme/v2/x", nil))
	}
	off := func(r *http.Request) time.Duration {
		ms, err := strconv.ParseInt(r.Header.Get(names.Timestamp), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(time.UnixMilli(ms)).Round(time.Minute)
	}
	got := []time.Duration{off(ahead.got[0]), off(right.got[0]), off(ahead.got[1])}
	if diff := cmp.Diff([]time.Duration{0, 0, time.Hour}, got); diff != "" {
		t.Errorf("off by (-want +got):\n%s", diff)
	}
}

// Transport and Verifier over a real connection, with a client whose clock is wrong.
func TestTransportAgainstVerifier(t *testing.T) {
	s := newServer(t)
	s.Now = nil
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	server := httptest.NewServer(http.StripPrefix("/acme/v2", s.Handler(echo)))
	defer server.Close()
	client := &http.Client{Transport: &signing.Transport{
		BaseURL:   server.URL + "/acme/v2",
		ClientKey: clientKey,
		Secret:    secret,
		Now:       func() time.Time { return time.Now().Add(-time.Hour) },
	}}
	for _, path := range []string{"/connections?limit=5", "/a|b", "/c_names/é", "/c_x/a%2Fb", "/", ""} {
		res, err := client.Do(newRequest(t, "PUT", server.URL+"/acme/v2"+path, strings.NewReader("a body")))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != 200 || string(body) != "a body" {
			t.Errorf("%s: status %d, %q, %v", path, res.StatusCode, body, err)
		}
	}
}

// FuzzServerTime answers with any Server-Time header. The next request must still
// have a timestamp of the shape on the wire.
func FuzzServerTime(f *testing.F) {
	for _, seed := range []string{"", "0", "1790000000000", "999999999999999", "1000000000000000", "099999999999",
		"100000000000", "-1790000000000", "1790000000000 ", "179000000000:", "1e12"} {
		f.Add(seed, false)
	}
	f.Add("1790000000000", true)
	f.Fuzz(func(t *testing.T, stamp string, stale bool) {
		var sent []string
		transport := &signing.Transport{
			BaseURL: "https://api.example.com", ClientKey: clientKey, Secret: secret,
			Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				sent = append(sent, r.Header.Get(names.Timestamp))
				res := &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{names.ServerTime: {stamp}}}
				if stale {
					res.StatusCode = http.StatusUnauthorized
					res.Header.Set("WWW-Authenticate", `Signature error="stale"`)
				}
				return res, nil
			}),
		}
		for range 2 {
			if _, err := transport.RoundTrip(newRequest(t, http.MethodGet, "https://api.example.com/x", nil)); err != nil {
				t.Fatal(err)
			}
		}
		for i, timestamp := range sent {
			if !timeShape.MatchString(timestamp) {
				t.Errorf("attempt %d has the timestamp %q", i+1, timestamp)
			}
		}
		if stale && len(sent) != 4 {
			t.Errorf("%d attempts for two requests, want 4", len(sent))
		}
	})
}

// A method is signed in upper case, and sent as it is. Every server would refuse the request.
func TestS23TransportRefusesOtherMethods(t *testing.T) {
	for _, version := range []int{1, 2} {
		sent := 0
		client := &signing.Transport{
			BaseURL: "https://api.example.com/acme/v2", ClientKey: clientKey, Secret: secret, Version: version, Clock: new(signing.Clock),
			Base: roundTrip(func(r *http.Request) (*http.Response, error) {
				sent++
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			}),
		}
		for method, good := range map[string]bool{
			"": true, "GET": true, "VERSION-CONTROL": true, "get": false, "Post": false, "GET;": false, "P\u00dcT": false, strings.Repeat("A", 33): false,
		} {
			sent = 0
			body := &closing{Reader: strings.NewReader("x")}
			r := newRequest(t, "GET", client.BaseURL+"/connections", nil)
			r.Method, r.Body = method, body
			_, err := client.RoundTrip(r)
			if good && (err != nil || sent != 1) {
				t.Errorf("version %d, %q: %v, sent %d times", version, method, err, sent)
			}
			if !good && (!errors.Is(err, signing.ErrMethod) || sent != 0 || body.closed.Load() == 0) {
				t.Errorf("version %d, %q: %v, sent %d times, body closed: %v", version, method, err, sent, body.closed.Load() > 0)
			}
		}
	}
}
