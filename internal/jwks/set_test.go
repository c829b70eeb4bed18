package jwks_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/internal/jwks"
)

const setURL = "https://id.example/keys"

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func seeded(n byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(append(make([]byte, 31), n)).Public().(ed25519.PublicKey)
}

// ed returns an Ed25519 key as a JWK. Pairs add members.
func ed(kid string, n byte, pairs ...any) map[string]any {
	m := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(seeded(n)), "kid": kid}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func setOf(keys ...map[string]any) string {
	text, err := json.Marshal(map[string]any{"keys": keys})
	if err != nil {
		panic(err)
	}
	return string(text)
}

// issuer answers for all URLs.
type issuer struct {
	answer atomic.Value // func(*http.Request) (*http.Response, error)
	asked  atomic.Int64
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.asked.Add(1)
	return i.answer.Load().(func(*http.Request) (*http.Response, error))(r)
}

func (i *issuer) serve(answer func(*http.Request) (*http.Response, error)) { i.answer.Store(answer) }

func (i *issuer) text(status int, body string, header ...string) {
	i.serve(func(*http.Request) (*http.Response, error) { return reply(status, body, header...), nil })
}

func reply(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func newSet() (*jwks.Set, *issuer) {
	i := new(issuer)
	i.text(200, setOf(ed("a", 1)))
	return &jwks.Set{URL: setURL, Base: i}, i
}

// state says what Key answers: the key, that it is unknown, or that nothing is known.
func state(t *testing.T, s *jwks.Set, now time.Time, kid string) string {
	t.Helper()
	key, err := s.Key(t.Context(), now, kid)
	switch {
	case key != nil && err == nil:
		return "key"
	case errors.Is(err, jwks.ErrUnknown):
		return "unknown"
	}
	return "unavailable"
}

func TestSetsThatAreRefused(t *testing.T) {
	huge := `{"keys":[` + strings.Repeat(" ", 10<<20) + `]}`
	many := make([]map[string]any, 65)
	for i := range many {
		many[i] = ed(fmt.Sprint("k", i), byte(i))
	}
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){
		"O08 10 MB":              func(*http.Request) (*http.Response, error) { return reply(200, huge), nil },
		"O08 65 keys":            func(*http.Request) (*http.Response, error) { return reply(200, setOf(many...)), nil },
		"O08 deep":               func(*http.Request) (*http.Response, error) { return reply(200, strings.Repeat("[", 1<<17)), nil },
		"O08 empty":              func(*http.Request) (*http.Response, error) { return reply(200, ""), nil },
		"O08 not JSON":           func(*http.Request) (*http.Response, error) { return reply(200, "<html>"), nil },
		"O08 keys twice":         func(*http.Request) (*http.Response, error) { return reply(200, `{"keys":[],"keys":[]}`), nil },
		"O08 no keys":            func(*http.Request) (*http.Response, error) { return reply(200, `{}`), nil },
		"O11 a redirect":         func(*http.Request) (*http.Response, error) { return reply(302, "", "Location", setURL+"2"), nil },
		"O11 304 without a tag":  func(*http.Request) (*http.Response, error) { return reply(304, ""), nil },
		"an error":               func(*http.Request) (*http.Response, error) { return reply(500, setOf(ed("a", 1))), nil },
		"a connection that ends": func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF },
	} {
		t.Run(name, func(t *testing.T) {
			s, i := newSet()
			i.serve(answer)
			if got := state(t, s, start, "a"); got != "unavailable" || i.asked.Load() != 1 {
				t.Errorf("%s after %d requests", got, i.asked.Load())
			}
			// The issuer recovers, and is asked again when the pause has passed.
			i.text(200, setOf(ed("a", 1)))
			if got := state(t, s, start.Add(9*time.Second), "a"); got != "unavailable" || i.asked.Load() != 1 {
				t.Errorf("within the pause: %s after %d requests", got, i.asked.Load())
			}
			if got := state(t, s, start.Add(10*time.Second), "a"); got != "key" {
				t.Errorf("after the pause: %s", got)
			}
		})
	}
}

func TestKeysThatAreNotUsed(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	n := new(big.Int).Rsh(short.N, 1025).Bytes()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, _ := ec.PublicKey.Bytes()
	off := append([]byte(nil), point[33:]...)
	off[31] ^= 1
	jwk := func(pairs ...any) map[string]any {
		m := map[string]any{"kid": "a"}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i].(string)] = pairs[i+1]
		}
		return m
	}
	for name, keys := range map[string][]map[string]any{
		"O09 a private key":              {ed("a", 1, "d", b64(make([]byte, 32)))},
		"O09 a private part that is odd": {ed("a", 1, "d", 7)},
		"O09 a symmetric key":            {jwk("kty", "oct", "k", "c2VjcmV0")},
		"O09 a symmetric key and RSA":    {jwk("kty", "RSA", "n", b64(short.N.Bytes()), "e", "AQAB", "k", "c2VjcmV0")},
		"O10 two of one kid":             {ed("a", 1), ed("a", 2)},
		"O10 three of one kid":           {ed("a", 1), ed("a", 2), ed("a", 1)},
		"O10 one of them private":        {ed("a", 1), ed("a", 1, "d", b64(make([]byte, 32)))},
		"for encryption":                 {ed("a", 1, "use", "enc")},
		"for other operations":           {ed("a", 1, "key_ops", []string{"sign"})},
		"of another algorithm":           {ed("a", 1, "alg", "RS256")},
		"of HMAC, by its alg":            {ed("a", 1, "alg", "HS256")},
		"a member twice":                 nil,
		"an unknown type":                {jwk("kty", "AKP", "alg", "ML-DSA-44", "pub", "AA")},
		"a short RSA key":                {jwk("kty", "RSA", "n", b64(n), "e", "AQAB")},
		"an even exponent":               {jwk("kty", "RSA", "n", b64(short.N.Bytes()), "e", "BA")},
		"a point off the curve":          {jwk("kty", "EC", "crv", "P-256", "x", b64(point[1:33]), "y", b64(off))},
		"O41 Ed25519 of order 1":         {jwk("kty", "OKP", "crv", "Ed25519", "x", b64(append([]byte{1}, make([]byte, 31)...)))},
		"O41 Ed25519 of order 4":         {jwk("kty", "OKP", "crv", "Ed25519", "x", b64(make([]byte, 32)))},
		"O41 RSA that can be factored":   {jwk("kty", "RSA", "n", b64(powerOf65537().Bytes()), "e", "AQAB")},
		"another curve":                  {jwk("kty", "EC", "crv", "P-384", "x", b64(point[1:33]), "y", b64(point[33:]))},
	} {
		t.Run(name, func(t *testing.T) {
			s, i := newSet()
			text := setOf(append(keys, ed("b", 3, "x5t", "not a thumbprint", "key_ops", []string{"verify"}, "use", "sig"))...)
			if keys == nil {
				text = strings.Replace(text, `"kid":"b"`, `"kid":"a","kid":"b"`, 1)
			}
			i.text(200, text)
			got := state(t, s, start, "a") + " " + state(t, s, start, "b")
			if keys == nil && got != "unavailable unavailable" || keys != nil && got != "unknown key" {
				t.Error(got)
			}
		})
	}
}

// A real server that redirects: the transport must not follow.
func TestO11NoRedirectIsFollowed(t *testing.T) {
	var asked []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.URL.Path != "/next" {
			http.Redirect(w, r, "/next", http.StatusTemporaryRedirect)
			return
		}
		io.WriteString(w, setOf(ed("a", 1)))
	}))
	defer server.Close()
	s := &jwks.Set{URL: server.URL + "/keys", Base: server.Client().Transport}
	if got := state(t, s, start, "a"); got != "unavailable" || len(asked) != 1 {
		t.Error(got, asked)
	}
	direct := &jwks.Set{URL: server.URL + "/next", Base: server.Client().Transport}
	if got := state(t, direct, start, "a"); got != "key" {
		t.Error(got)
	}
	untrusted := &jwks.Set{URL: server.URL + "/next"} // its certificate is unknown
	if got := state(t, untrusted, start, "a"); got != "unavailable" {
		t.Error(got)
	}
}

func TestO13Fetchable(t *testing.T) {
	for _, c := range []struct {
		url           string
		plain, plain2 bool
	}{
		{"https://id.example/keys", true, true}, {"https://id.example:8443/keys?x=1", true, true},
		{"http://127.0.0.1:8080/keys", false, true}, {"http://localhost/keys", false, true}, {"http://[::1]/keys", false, true},
		{"http://id.example/keys", false, false}, {"http://127.0.0.1.example/keys", false, false}, {"http://10.0.0.1/keys", false, false},
		{"http://localhost.example/", false, false}, {"HTTP://id.example/", false, false}, {"//id.example/keys", false, false},
		{"https://", false, false}, {"https://user:pass@id.example/", false, false}, {"file:///keys", false, false}, {"", false, false},
		{"https://id.example/#keys", false, false}, {"\x00", false, false},
	} {
		if a, b := jwks.Fetchable(c.url, false), jwks.Fetchable(c.url, true); a != c.plain || b != c.plain2 {
			t.Errorf("%q: %v, unsafe %v", c.url, a, b)
		}
	}
}

func TestO18Discovery(t *testing.T) {
	const url = "https://id.example/realm/"
	for name, c := range map[string]struct {
		document, want string
		asked          int64
	}{
		"honest":                  {`{"issuer":"` + url + `","jwks_uri":"` + setURL + `","scopes_supported":["openid"]}`, "key", 2},
		"O18 another issuer":      {`{"issuer":"https://id.example/realm","jwks_uri":"` + setURL + `"}`, "unavailable", 1},
		"O18 no issuer":           {`{"jwks_uri":"` + setURL + `"}`, "unavailable", 1},
		"O18 issuer twice":        {`{"issuer":"x","issuer":"` + url + `","jwks_uri":"` + setURL + `"}`, "unavailable", 1},
		"O18 keys over http":      {`{"issuer":"` + url + `","jwks_uri":"http://id.example/keys"}`, "unavailable", 1},
		"O18 keys in a file":      {`{"issuer":"` + url + `","jwks_uri":"file:///etc/keys"}`, "unavailable", 1},
		"O18 no keys":             {`{"issuer":"` + url + `"}`, "unavailable", 1},
		"O18 keys without a host": {`{"issuer":"` + url + `","jwks_uri":"/keys"}`, "unavailable", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, i := newSet()
			s.URL, s.Issuer = "", url
			i.serve(func(r *http.Request) (*http.Response, error) {
				switch r.URL.String() {
				case "https://id.example/realm/.well-known/openid-configuration":
					return reply(200, c.document), nil
				case setURL:
					return reply(200, setOf(ed("a", 1))), nil
				}
				return nil, errors.New("asked for " + r.URL.String())
			})
			if got := state(t, s, start, "a"); got != c.want || i.asked.Load() != c.asked {
				t.Errorf("%s after %d requests", got, i.asked.Load())
			}
		})
	}
}

// Thousands of unknown kids ask the issuer once in 10 seconds, and delay no known one.
func TestO19UnknownKids(t *testing.T) {
	s, i := newSet()
	for n := range 1000 {
		state(t, s, start.Add(time.Duration(n)*time.Millisecond), fmt.Sprint("x", n))
	}
	if got := state(t, s, start.Add(5*time.Second), "a"); got != "key" || i.asked.Load() != 1 {
		t.Errorf("%s after %d requests", got, i.asked.Load())
	}
	i.text(200, setOf(ed("a", 1), ed("new", 2)))
	if got := state(t, s, start.Add(9*time.Second), "new"); got != "unknown" {
		t.Errorf("within the pause: %s", got)
	}
	if got := state(t, s, start.Add(11*time.Second), "new"); got != "key" || i.asked.Load() != 2 {
		t.Errorf("after it: %s after %d requests", got, i.asked.Load())
	}
}

// A thousand requests at once share one fetch.
func TestOneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, i := newSet()
		i.serve(func(r *http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return reply(200, setOf(ed("a", 1))), nil
		})
		var wg sync.WaitGroup
		began := time.Now()
		for range 1000 {
			wg.Go(func() {
				if got := state(t, s, began, "a"); got != "key" || time.Since(began) != time.Second {
					t.Errorf("%s after %s", got, time.Since(began))
				}
			})
		}
		wg.Wait()
		if i.asked.Load() != 1 {
			t.Errorf("%d requests", i.asked.Load())
		}
	})
}

// An issuer that hangs costs a request its own patience, and its fetch ends after 5 seconds.
func TestO12AnIssuerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, i := newSet()
		state(t, s, time.Now(), "a")
		i.serve(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		for _, c := range []struct {
			after time.Duration // since the last case
			kid   string
			want  string
			takes time.Duration
		}{
			{6 * time.Minute, "a", "key", 0},                                 // asks behind the request
			{time.Second, "x", "unavailable", 500 * time.Millisecond},        // waits for the fetch under way
			{10 * time.Second, "a", "key", 0},                                // it has failed
			{12 * time.Minute, "a", "key", 0},                                // last good keys
			{23 * time.Hour, "a", "key", 0},                                  //
			{time.Hour, "a", "unavailable", 500 * time.Millisecond},          // too old
			{time.Minute + time.Second, "a", "unavailable", time.Second / 2}, //
		} {
			time.Sleep(c.after)
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			key, err := s.Key(ctx, began, c.kid)
			cancel()
			if took := time.Since(began); (key != nil) != (c.want == "key") || errors.Is(err, jwks.ErrUnknown) || took != c.takes {
				t.Errorf("%s after %s: %v, %v, took %s", c.kid, c.after, key, err, took)
			}
		}
		i.text(200, setOf(ed("a", 1)))
		time.Sleep(time.Minute)
		if got := state(t, s, time.Now(), "a"); got != "key" {
			t.Errorf("recovered: %s", got)
		}
	})
}

// Keys that nobody asked for in ten minutes are asked for before they are used again.
func TestO19AWithdrawnKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, i := newSet()
		i.text(200, setOf(ed("a", 1), ed("b", 2)))
		if got := state(t, s, time.Now(), "b"); got != "key" {
			t.Fatal(got)
		}
		i.text(200, setOf(ed("a", 1)))
		time.Sleep(5 * time.Minute)
		state(t, s, time.Now(), "a") // begins the question
		synctest.Wait()
		if got := state(t, s, time.Now(), "b"); got != "unknown" {
			t.Errorf("after 5 minutes: %s", got)
		}
		i.text(200, setOf(ed("b", 2)))
		time.Sleep(10 * time.Minute)
		if got := state(t, s, time.Now(), "a"); got != "unknown" {
			t.Errorf("after 10 quiet minutes: %s", got)
		}
	})
}

func TestNewKey(t *testing.T) {
	p384, _ := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	for name, public := range map[string]crypto.PublicKey{
		"nil": nil, "bytes": []byte("secret"), "P-384": &p384.PublicKey, "a short Ed25519 key": ed25519.PublicKey("x"),
		"no modulus": &rsa.PublicKey{E: 3}, "no RSA key": (*rsa.PublicKey)(nil), "no ECDSA key": (*ecdsa.PublicKey)(nil), "no curve": &ecdsa.PublicKey{},
		"O41 order 1": ed25519.PublicKey(append([]byte{1}, make([]byte, 31)...)), "O41 order 4": ed25519.PublicKey(make([]byte, 32)),
		"O41 order 4, the other sign":        ed25519.PublicKey(append(make([]byte, 31), 0x80)),
		"O41 a modulus that can be factored": &rsa.PublicKey{N: powerOf65537(), E: 65537},
		"a huge modulus":                     &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), 4096), E: 65537},
	} {
		if key, err := jwks.NewKey(public); key != nil || err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The examples of RFC 7515 A.2 and A.3, and of RFC 8037 A.4.
func TestKnownSignatures(t *testing.T) {
	const payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
	for name, c := range map[string]struct{ jwk, token string }{
		"RFC 7515 A.2, RS256": {
			`{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB"}`,
			"eyJhbGciOiJSUzI1NiJ9." + payload + ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw",
		},
		"RFC 7515 A.3, ES256": {
			`{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`,
			"eyJhbGciOiJFUzI1NiJ9." + payload + ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
		},
		"RFC 8037 A.4, EdDSA": {
			`{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`,
			"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
		},
	} {
		s, i := newSet()
		i.text(200, `{"keys":[`+c.jwk+`]}`)
		key, err := s.Key(t.Context(), start, "")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cut := strings.LastIndexByte(c.token, '.')
		signature, _ := base64.RawURLEncoding.DecodeString(c.token[cut+1:])
		if !key.Verifies(c.token[:cut], signature) || !strings.HasSuffix(name, key.Algorithm) {
			t.Errorf("%s: not verified", name)
		}
		signature[3] ^= 1
		if key.Verifies(c.token[:cut], signature) || key.Verifies(c.token[:cut], nil) || key.Verifies(c.token[:cut]+"x", signature) {
			t.Errorf("%s: another signature is verified", name)
		}
	}
}

// FuzzSet checks that a key that is used is public, has a kid of its own, and is one that
// encoding/json finds, too.
func FuzzSet(f *testing.F) {
	f.Add(setOf(ed("a", 1), ed("b", 2, "d", "x"), ed("b", 2)))
	f.Add(setOf(ed("a", 1), ed("c", 3)) + " ")
	f.Add(`{"keys":[{"kty":"EC","crv":"P-256","kid":"a","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, i := newSet()
		i.text(200, text)
		if state(t, s, start, "a") != "key" {
			return
		}
		var set map[string]any // exact names
		if err := json.Unmarshal([]byte(text), &set); err != nil {
			t.Fatal(err)
		}
		var used []map[string]any
		for _, each := range set["keys"].([]any) {
			if key, ok := each.(map[string]any); ok && key["kid"] == "a" {
				used = append(used, key)
			}
		}
		if len(used) != 1 || used[0]["d"] != nil || used[0]["k"] != nil {
			t.Errorf("used: %v", used)
		}
	})
}

// A transport that panics or ends its goroutine is an issuer that does not answer.
func TestO12ATransportThatPanics(t *testing.T) {
	for name, fail := range map[string]func(){
		"panics":             func() { panic("of the transport") },
		"ends its goroutine": runtime.Goexit,
	} {
		t.Run(name, func(t *testing.T) {
			s, i := newSet()
			i.serve(func(*http.Request) (*http.Response, error) { fail(); return nil, nil })
			if got := state(t, s, start, "a"); got != "unavailable" {
				t.Error(got)
			}
			i.text(200, setOf(ed("a", 1)))
			if got := state(t, s, start.Add(10*time.Second), "a"); got != "key" {
				t.Errorf("recovered: %s", got)
			}
		})
	}
}

// A slow issuer delays a key that is known by 200 ms, also after a quiet night.
func TestO12ASlowIssuer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, i := newSet()
		state(t, s, time.Now(), "a")
		i.serve(func(*http.Request) (*http.Response, error) {
			time.Sleep(time.Second)
			return reply(200, setOf(ed("b", 2))), nil
		})
		time.Sleep(8 * time.Hour)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if key, err := s.Key(ctx, began, "a"); key == nil || time.Since(began) != 200*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		time.Sleep(time.Second)
		if got := state(t, s, time.Now(), "a"); got != "unknown" {
			t.Errorf("withdrawn, and the issuer has answered: %s", got)
		}
	})
}

// A clock that is set back must make neither keys last longer nor the pause.
func TestO19AClockThatIsSetBack(t *testing.T) {
	s, i := newSet()
	if got := state(t, s, start, "a"); got != "key" {
		t.Fatal(got)
	}
	i.text(200, setOf(ed("b", 2)))
	back := start.Add(-72 * time.Hour)
	if got := state(t, s, back, "b"); got != "key" {
		t.Errorf("a new kid: %s", got)
	}
	if got := state(t, s, back, "a"); got != "unknown" {
		t.Errorf("a withdrawn kid: %s", got)
	}
}

// UnsafePlaintext is for an issuer on this host. One elsewhere must not point to this host.
func TestO18NoWayBackToLoopback(t *testing.T) {
	const url = "https://id.example"
	s, i := newSet()
	s.URL, s.Issuer, s.UnsafePlaintext = "", url, true
	i.serve(func(r *http.Request) (*http.Response, error) {
		if r.URL.Scheme == "http" {
			return reply(200, setOf(ed("a", 1))), nil
		}
		return reply(200, `{"issuer":"`+url+`","jwks_uri":"http://127.0.0.1/keys"}`), nil
	})
	if got := state(t, s, start, "a"); got != "unavailable" || i.asked.Load() != 1 {
		t.Errorf("%s after %d requests", got, i.asked.Load())
	}
}

// powerOf65537 returns 2048 bits that are a power of 65537 modulo each small prime, as the moduli of
// CVE-2017-15361 are.
func powerOf65537() *big.Int {
	m := big.NewInt(1)
	for n, found := int64(2), 0; found < 126; n++ { // the primes of keys of this length
		if big.NewInt(n).ProbablyPrime(0) {
			m.Mul(m, big.NewInt(n))
			found++
		}
	}
	k := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(3), 2046), m)
	return k.Mul(k, m).Add(k, new(big.Int).Exp(big.NewInt(65537), big.NewInt(1_234_567), m))
}
