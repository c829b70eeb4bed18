package bearer_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
)

const (
	otherURL = "https://id.example.test/realms/acme"
	otherAud = "notes"
	setURL   = "https://id.example.test/keys"
)

var ecKey = sync.OnceValue(func() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
})

var edKey = ed25519.NewKeyFromSeed([]byte("another issuer's key, 32 bytes .."[:32]))

// site stands for the web: documents by URL. It counts requests.
type site struct {
	mu    sync.Mutex
	pages map[string]func(*http.Request) (*http.Response, error)
	asked []string
}

func (s *site) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r.URL.String())
	page := s.pages[r.URL.String()]
	s.mu.Unlock()
	if page == nil {
		return nil, errors.New("no such host")
	}
	return page(r)
}

func (s *site) put(url string, page func(*http.Request) (*http.Response, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pages == nil {
		s.pages = map[string]func(*http.Request) (*http.Response, error){}
	}
	s.pages[url] = page
}

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

func respond(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// jwk returns a key as a JWK, written by hand.
func jwk(kid string, public crypto.PublicKey, pairs ...any) map[string]any {
	b := func(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
	var m map[string]any
	switch k := public.(type) {
	case *rsa.PublicKey:
		m = map[string]any{"kty": "RSA", "n": b(k.N.Bytes()), "e": "AQAB"}
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		m = map[string]any{"kty": "EC", "crv": "P-256", "x": b(point[1:33]), "y": b(point[33:])}
	case ed25519.PublicKey:
		m = map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b(k)}
	}
	m["kid"], m["use"] = kid, "sig"
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func keySet(keys ...map[string]any) string { return asJSON(map[string]any{"keys": keys}) }

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// otherSet is the honest key set of the other issuer.
func otherSet() string {
	return keySet(jwk("rsa", &keys[3]().PublicKey, "alg", "RS256"), jwk("ec", &ecKey().PublicKey), jwk("ed", edKey.Public()))
}

// foreign returns the claims of an honest token of the other issuer. Pairs replace claims.
func foreign(pairs ...any) map[string]any {
	c := claims("iss", otherURL, "aud", otherAud, "service/scp", nil)
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// by signs a token with a key of the test's, without code of the library. key is an
// *rsa.PrivateKey, an *ecdsa.PrivateKey or an ed25519.PrivateKey.
func by(key crypto.Signer, header, payload any) string {
	signed := b64([]byte(asJSON(header))) + "." + b64([]byte(asJSON(payload)))
	digest := sha256.Sum256([]byte(signed))
	var signature []byte
	var err error
	switch k := key.(type) {
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(nil, k, crypto.SHA256, digest[:])
	case *ecdsa.PrivateKey:
		r, s, failed := ecdsa.Sign(rand.Reader, k, digest[:])
		if err = failed; err == nil {
			size := (k.Params().BitSize + 7) / 8
			signature = append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
		}
	case ed25519.PrivateKey:
		signature = ed25519.Sign(k, []byte(signed))
	}
	if err != nil {
		panic(err)
	}
	return signed + "." + b64(signature)
}

// header returns the header of an honest token. Pairs add members, and replace them.
func header(alg, kid string, pairs ...any) map[string]any {
	h := map[string]any{"alg": alg, "kid": kid, "typ": "JWT"}
	for i := 0; i < len(pairs); i += 2 {
		h[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(h, func(_ string, v any) bool { return v == nil })
	return h
}

// ofOther returns a valid token of the other issuer.
func ofOther(pairs ...any) string { return by(edKey, header("EdDSA", "ed"), foreign(pairs...)) }

var readsNotes = []string{"object.read.c_note"}

// subject is a Map: the account is the sub.
func subject(_ context.Context, _ *auth.Tenant, f *bearer.Foreign) (bearer.Grant, error) {
	return bearer.Grant{Account: f.Text("sub"), App: appA, Scope: readsNotes}, nil
}

// newOther returns a world that accepts the other issuer in acme, with a clock and its web.
func newOther(t testing.TB, alter ...func(*world, *bearer.Issuer)) (*world, *site, *fakeClock) {
	t.Helper()
	web, clock := new(site), &fakeClock{now: time.Now()}
	web.put(setURL, respond(200, otherSet()))
	w := newWorld(t, func(w *world) {
		i := &bearer.Issuer{Org: "acme", URL: otherURL, Audience: otherAud, JWKS: setURL, Base: web, Map: subject}
		w.mechanism.Issuers = []*bearer.Issuer{i}
		w.guard.Now = clock.Now
		for _, f := range alter {
			f(w, i)
		}
	})
	return w, web, clock
}

type fakeClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
