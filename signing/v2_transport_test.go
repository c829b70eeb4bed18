package signing_test

import (
	"bytes"
	"crypto"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/signing"
)

// otherSigner is a key of another kind.
type otherSigner struct{}

func (otherSigner) Public() crypto.PublicKey { return "no key" }
func (otherSigner) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("not called")
}

// echo serves version 2 alone, and answers with the body that its handler has read. The
// answer of wrap comes first.
func echo(t *testing.T, keys signing.Keys, wrap func(http.Handler) http.Handler) *httptest.Server {
	v := &signing.Verifier{Keys: keys, Replays: new(mapReplays), Policy: signing.Policy{Version: 2}}
	s := httptest.NewUnstartedServer(nil)
	v.BaseURL = "http://" + s.Listener.Addr().String()
	inner := v.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(names.ClientKey) != clientKey {
			t.Errorf("the handler sees the client key %q", r.Header.Get(names.ClientKey))
		}
		io.Copy(w, r.Body)
	}))
	general := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := generalVerify(r, strings.TrimPrefix(v.BaseURL, "http://"), "service-v2", []byte(macKey), demoPublic); err != nil {
			t.Errorf("a stock library: %v", err)
		}
		inner.ServeHTTP(w, r)
	})
	s.Config.Handler = wrap(general)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func asItIs(h http.Handler) http.Handler { return h }

func TestTransportSignsSecond(t *testing.T) {
	bySecret := keyring{clientKey: newKey(t, clientKey, secret)}
	byPublic := keyring{clientKey: must(signing.NewPublicKey(clientKey, demoPublic))}
	for name, c := range map[string]struct {
		keys      signing.Keys
		transport *signing.Transport
	}{
		"hmac-sha256": {bySecret, &signing.Transport{ClientKey: clientKey, Secret: secret, Version: 2}},
		"ed25519":     {byPublic, &signing.Transport{ClientKey: clientKey, Signer: demoSigner}},
	} {
		s := echo(t, c.keys, asItIs)
		c.transport.BaseURL = s.URL
		client := &http.Client{Transport: c.transport}
		for _, r := range []*http.Request{
			newRequest(t, "GET", s.URL, nil),
			newRequest(t, "GET", s.URL+"/acme/v2/c_names/a%2Fb/?x=%2f&x=+", nil),
			newRequest(t, "POST", s.URL+"/acme/v2/x?", strings.NewReader(`{"c_text":"héllo ☃"}`)),
			newRequest(t, "POST", s.URL+"/acme/v2/x", io.NopCloser(strings.NewReader("of unknown length"))),
			newRequest(t, "DELETE", s.URL+"/acme/v2/x", http.NoBody),
		} {
			r.Header.Set(names.Account, "5b0000000000000000000001")
			r.Header.Set("Content-Digest", "left over")
			for range 3 { // within one second
				if r.GetBody == nil && r.Body != nil {
					break
				}
				res := must(client.Do(r.Clone(t.Context())))
				body := must(io.ReadAll(res.Body))
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					t.Errorf("%s: %s %s: %d %s", name, r.Method, r.URL, res.StatusCode, body)
				}
				if r.GetBody == nil {
					continue
				}
				if want := must(io.ReadAll(must(r.GetBody()))); !bytes.Equal(body, want) {
					t.Errorf("%s: the handler read %q", name, body)
				}
				r.Body = must(r.GetBody())
			}
			if r.Header.Get("Content-Digest") != "left over" || r.Header.Get("Signature") != "" {
				t.Errorf("%s: the caller's request has changed: %v", name, r.Header)
			}
		}
		res := must(client.Do(newRequest(t, "PUT", s.URL+"/x", io.NopCloser(strings.NewReader("of unknown length")))))
		if body := must(io.ReadAll(res.Body)); string(body) != "of unknown length" {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
		res.Body.Close()
	}
}

// A server may say that it has seen a request, or that its time was wrong. The next
// attempt has a nonce of its own, and the same body.
func TestTransportSignsSecondAgain(t *testing.T) {
	for reason, methods := range map[string]map[string]bool{
		"stale":    {"GET": true, "HEAD": true, "POST": true},
		"replayed": {"GET": true, "HEAD": true, "POST": false},
		"version":  {"GET": false, "POST": false},
	} {
		for method, again := range methods {
			var inputs []string
			s := echo(t, keyring{clientKey: newKey(t, clientKey, secret)}, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if inputs = append(inputs, r.Header.Get("Signature-Input")); len(inputs) == 1 {
						w.Header().Set("WWW-Authenticate", `Bearer, Signature error="`+reason+`", versions="2"`)
						w.WriteHeader(http.StatusUnauthorized)
						return
					}
					h.ServeHTTP(w, r)
				})
			})
			client := &http.Client{Transport: &signing.Transport{BaseURL: s.URL, ClientKey: clientKey, Secret: secret, Version: 2}}
			body := io.Reader(nil)
			if method == "POST" {
				body = io.NopCloser(strings.NewReader("hi"))
			}
			res := must(client.Do(newRequest(t, method, s.URL+"/x", body)))
			got := must(io.ReadAll(res.Body))
			res.Body.Close()
			if want := map[bool]int{true: 200, false: 401}[again]; res.StatusCode != want {
				t.Errorf("%s %s: %d", reason, method, res.StatusCode)
			}
			if again && (len(inputs) != 2 || inputs[0] == inputs[1] || method == "POST" && string(got) != "hi") {
				t.Errorf("%s %s: %d attempts, %q", reason, method, len(inputs), got)
			}
		}
	}
}

func TestTransportRefusesToSignSecond(t *testing.T) {
	sent := roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("sent")
		return nil, io.EOF
	})
	transport := &signing.Transport{BaseURL: demoBase, ClientKey: clientKey, Secret: secret, Version: 2, Base: sent}
	long := newRequest(t, "POST", demoBase+"/x", io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20+1))))
	if _, err := transport.RoundTrip(long); !errors.Is(err, signing.ErrBodyTooLarge) {
		t.Errorf("a long body: %v", err)
	}
	broken := newRequest(t, "POST", demoBase+"/x", io.NopCloser(brokenReader{}))
	if _, err := transport.RoundTrip(broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken body: %v", err)
	}
	outside := newRequest(t, "GET", demoBase+"/x", nil)
	outside.URL = &url.URL{Scheme: "https", Host: "api.example.com", Path: "/x", RawQuery: "x=é"}
	if _, err := transport.RoundTrip(outside); !errors.Is(err, signing.ErrMalformed) {
		t.Errorf("a query outside ASCII: %v", err)
	}
}
