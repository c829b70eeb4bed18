package oauth_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

const bearerType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

var signer = ed25519.NewKeyFromSeed([]byte("a seed of thirty-two bytes, used"))

// newSigner returns a world in which acme's app has a public key and no secret.
func newSigner(t testing.TB) *world {
	w := newWorld(t)
	w.givePublic(t, signer)
	nextSecond()
	return w
}

// nextSecond waits until an iat, which has whole seconds, is later than now. What was signed before
// a record began is refused.
func nextSecond() { time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) }

func (w *world) givePublic(t testing.TB, keys ...ed25519.PrivateKey) {
	t.Helper()
	var public []ed25519.PublicKey
	for _, key := range keys {
		public = append(public, key.Public().(ed25519.PublicKey))
	}
	key, err := signing.NewPublicKey(acmeKey, public...)
	if err != nil {
		t.Fatal(err)
	}
	w.change(acmeKey, func(c *signature.Credential) { c.Key = key })
}

// payload returns the claims of an honest assertion. Pairs replace claims; nil removes one.
func payload(pairs ...any) jwt.MapClaims {
	now := time.Now().Unix()
	c := jwt.MapClaims{"iss": acmeKey, "sub": acmeKey, "aud": "https://api.example.test/base/acme/v2",
		"iat": now, "nbf": now, "exp": now + 60, "jti": rand.Text()}
	for i := 0; i < len(pairs); i += 2 {
		c[pairs[i].(string)] = pairs[i+1]
	}
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// asserted returns an assertion that golang-jwt makes. A header of nil leaves a member out.
func asserted(t testing.TB, claims jwt.MapClaims, header ...any) string {
	t.Helper()
	return assertedBy(t, jwt.SigningMethodEdDSA, signer, claims, header...)
}

func assertedBy(t testing.TB, method jwt.SigningMethod, key any, claims jwt.MapClaims, header ...any) string {
	t.Helper()
	made := jwt.NewWithClaims(method, claims)
	for i := 0; i < len(header); i += 2 {
		made.Header[header[i].(string)] = header[i+1]
	}
	maps.DeleteFunc(made.Header, func(_ string, v any) bool { return v == nil })
	text, err := made.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func askBy(assertion string, pairs ...string) question {
	return ask("/base/acme/v2/oauth/token", "", "", append([]string{"grant_type", "client_credentials",
		"client_assertion_type", bearerType, "client_assertion", assertion}, pairs...)...)
}

func TestAssertionsThatAreAccepted(t *testing.T) {
	w := newSigner(t)
	second := ed25519.NewKeyFromSeed([]byte("another seed of 32 bytes, unused"))
	w.givePublic(t, second, signer) // during a rotation
	now := time.Now().Unix()
	for name, assertion := range map[string]string{
		"as golang-jwt makes it":       asserted(t, payload()),
		"with the new name of EdDSA":   asserted(t, payload(), "alg", "Ed25519"),
		"with a key id":                asserted(t, payload(), "kid", "mine"),
		"with the type of the draft":   asserted(t, payload(), "typ", "client-authentication+jwt"),
		"without a type":               asserted(t, payload(), "typ", nil),
		"without iat and nbf":          asserted(t, payload("iat", nil, "nbf", nil, "exp", now+299)),
		"with claims that we ignore":   asserted(t, payload("htm", "POST", "cnf", map[string]any{"x": 1})),
		"of the other key":             assertedBy(t, jwt.SigningMethodEdDSA, second, payload()),
		"from a clock a bit ahead":     asserted(t, payload("iat", now+30, "nbf", now+30)),
		"as long as an assertion may":  asserted(t, payload("exp", now+299, "iat", now)),
		"with an id of 512 characters": asserted(t, payload("jti", strings.Repeat("x", 512))),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "without iat and nbf" { // it could be older than the record of assertions
				w.signature.Replays = anything{}
			}
			a := w.send(t, askBy(assertion, "client_id", acmeKey))
			want(t, a, 200, "")
			if status := w.me(t, "acme", a.Token); status != 200 {
				t.Errorf("the token is answered with %d", status)
			}
		})
	}
	raw := w.record(t, acmeKey, "acme", "ann", 0)
	q := askBy(asserted(t, payload()), "token", raw)
	q.path = "/base/acme/v2/oauth/introspect"
	if a := w.send(t, q); !a.Active {
		t.Errorf("got %s", a.text)
	}
	q = askBy(asserted(t, payload()), "token", raw)
	q.path = "/base/acme/v2/oauth/revoke"
	want(t, w.send(t, q), 200, "")
	if status := w.me(t, "acme", raw); status != 401 {
		t.Errorf("the token is answered with %d", status)
	}
}

// anything records nothing.
type anything struct{}

func (anything) Claim(context.Context, signing.Use) error { return nil }

// counted counts what is claimed.
type counted struct {
	signing.Replays
	claims int
}

func (c *counted) Claim(ctx context.Context, u signing.Use) error {
	c.claims++
	return c.Replays.Claim(ctx, u)
}

func TestRefusedAssertions(t *testing.T) {
	w := newSigner(t)
	record := &counted{Replays: w.signature.Replays}
	w.signature.Replays = record
	now := time.Now().Unix()
	other := ed25519.NewKeyFromSeed([]byte("a seed that nobody has been told"))
	honest := asserted(t, payload())
	parts := strings.Split(honest, ".")
	appKey := keys[0]()
	replies := map[string]bool{}
	for name, q := range map[string]question{
		"O33 another key":                     askBy(assertedBy(t, jwt.SigningMethodEdDSA, other, payload())),
		"O33 no signature":                    askBy(parts[0] + "." + parts[1] + "."),
		"O33 another payload":                 askBy(parts[0] + "." + strings.Split(asserted(t, payload()), ".")[1] + "." + parts[2]),
		"O33 not a JWT":                       askBy("x"),
		"O33 a JWT of four parts":             askBy(honest + ".x"),
		"O33 padding":                         askBy(honest + "="),
		"O33 alg none":                        askBy(assertedBy(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, payload())),
		"O33 the public key as an HMAC key":   askBy(assertedBy(t, jwt.SigningMethodHS256, []byte(signer.Public().(ed25519.PublicKey)), payload())),
		"O33 the app's own key for tokens":    askBy(assertedBy(t, jwt.SigningMethodRS256, appKey, payload())),
		"O33 that key, called EdDSA":          askBy(assertedBy(t, renamed{jwt.SigningMethodRS256}, appKey, payload())),
		"O33 the right key, called none":      askBy(asserted(t, payload(), "alg", "none")),
		"O33 the right key, without an alg":   askBy(asserted(t, payload(), "alg", nil)),
		"O33 a key in the header":             askBy(asserted(t, payload(), "jwk", map[string]any{"kty": "OKP"})),
		"O33 crit":                            askBy(asserted(t, payload(), "crit", []string{"exp"})),
		"O33 another type":                    askBy(asserted(t, payload(), "typ", "logout+jwt")),
		"O33 a header of 2 KiB":               askBy(asserted(t, payload(), "kid", strings.Repeat("x", 2<<10))),
		"O33 larger than 8 KiB":               askBy(asserted(t, payload("x", strings.Repeat("x", 9<<10)))),
		"O33 another type of assertion":       ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials", "client_assertion", honest, "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"),
		"O33 no type of assertion":            ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials", "client_assertion", honest),
		"O33 no assertion":                    ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials", "client_assertion_type", bearerType),
		"O34 aud as an array":                 askBy(asserted(t, payload("aud", []string{"https://api.example.test/base/acme/v2"}))),
		"O34 the token endpoint as aud":       askBy(asserted(t, payload("aud", "https://api.example.test/base/acme/v2/oauth/token"))),
		"O34 another org as aud":              askBy(asserted(t, payload("aud", "https://api.example.test/base/globex/v2"))),
		"O34 aud with a slash":                askBy(asserted(t, payload("aud", "https://api.example.test/base/acme/v2/"))),
		"O34 no aud":                          askBy(asserted(t, payload("aud", nil))),
		"O34 sub is another client":           askBy(asserted(t, payload("sub", otherKey))),
		"O34 iss is another client":           askBy(asserted(t, payload("iss", otherKey))),
		"O34 no iss":                          askBy(asserted(t, payload("iss", nil, "sub", nil))),
		"O34 the id of another client":        askBy(asserted(t, payload()), "client_id", otherKey),
		"O34 a client without a public key":   askBy(asserted(t, payload("iss", otherKey, "sub", otherKey))),
		"O34 an unknown client":               askBy(asserted(t, payload("iss", nobodyKey, "sub", nobodyKey))),
		"O34 a client key of another org":     askBy(asserted(t, payload("iss", globexKey, "sub", globexKey))),
		"O35 exp beyond 5 minutes":            askBy(asserted(t, payload("exp", now+310, "iat", nil))),
		"O35 a life of more than 5 minutes":   askBy(asserted(t, payload("exp", now+200, "iat", now-200))),
		"O35 exp has passed":                  askBy(asserted(t, payload("exp", now))),
		"O35 no exp":                          askBy(asserted(t, payload("exp", nil))),
		"O35 exp is a text":                   askBy(asserted(t, payload("exp", "1"))),
		"O35 exp is a fraction":               askBy(asserted(t, payload("exp", float64(now)+60.5))),
		"O35 exp is negative":                 askBy(asserted(t, payload("exp", -1))),
		"O35 iat far ahead":                   askBy(asserted(t, payload("iat", now+90, "exp", now+100))),
		"O35 nbf far ahead":                   askBy(asserted(t, payload("nbf", now+90, "exp", now+100))),
		"O35 no jti":                          askBy(asserted(t, payload("jti", nil))),
		"O35 a jti that is empty":             askBy(asserted(t, payload("jti", ""))),
		"O35 a jti of more than 512 bytes":    askBy(asserted(t, payload("jti", strings.Repeat("x", 513)))),
		"O35 a jti that is a number":          askBy(asserted(t, payload("jti", 7))),
		"O35 a claim twice":                   askBy(twice(t)),
		"O34 only the client id, and nothing": ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials", "client_id", acmeKey),
	} {
		t.Run(name, func(t *testing.T) {
			a := w.send(t, q)
			want(t, a, 401, "invalid_client")
			if challenge := a.header.Get("WWW-Authenticate"); challenge != "" {
				t.Errorf("the challenge is %q", challenge)
			}
			replies[a.text] = true
		})
	}
	if len(replies) != 1 || record.claims != 0 {
		t.Errorf("%d different replies, %d claims", len(replies), record.claims)
	}
	w.directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme", Disabled: true})
	want(t, w.send(t, askBy(honest)), 401, "invalid_client")
	w.directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme"})
	if record.claims != 0 {
		t.Errorf("%d claims", record.claims)
	}
	want(t, w.send(t, askBy(honest)), 200, "")
}

// renamed is a method of another algorithm that calls itself EdDSA.
type renamed struct{ *jwt.SigningMethodRSA }

func (renamed) Alg() string { return "EdDSA" }

func (m renamed) Sign(text string, key any) ([]byte, error) {
	return m.SigningMethodRSA.Sign(text, key.(*rsa.PrivateKey))
}

// twice returns an assertion whose payload has jti twice.
func twice(t testing.TB) string {
	t.Helper()
	method := jwt.SigningMethodEdDSA
	made := jwt.NewWithClaims(method, payload())
	text, err := made.SigningString()
	if err != nil {
		t.Fatal(err)
	}
	header, body, _ := strings.Cut(text, ".")
	decoded, err := jwt.NewParser().DecodeSegment(body)
	if err != nil {
		t.Fatal(err)
	}
	body = made.EncodeSegment([]byte(strings.TrimSuffix(string(decoded), "}") + `,"jti":"again"}`))
	signature, err := method.Sign(header+"."+body, signer)
	if err != nil {
		t.Fatal(err)
	}
	return header + "." + body + "." + made.EncodeSegment(signature)
}

func TestAnAssertionIsAcceptedOnce(t *testing.T) {
	w := newSigner(t)
	first := asserted(t, payload("jti", "one"))
	want(t, w.send(t, askBy(first)), 200, "")
	for name, assertion := range map[string]string{
		"O36 the same again":    first,
		"O36 its id once more":  asserted(t, payload("jti", "one", "exp", time.Now().Unix()+30)),
		"O36 with other claims": asserted(t, payload("jti", "one", "x", "y")),
	} {
		t.Run(name, func(t *testing.T) { want(t, w.send(t, askBy(assertion)), 401, "invalid_client") })
	}
	t.Run("O36 at another endpoint", func(t *testing.T) {
		q := askBy(first, "token", "x")
		q.path = "/base/acme/v2/oauth/introspect"
		want(t, w.send(t, q), 401, "invalid_client")
	})
	want(t, w.send(t, askBy(asserted(t, payload("jti", "two")))), 200, "")
}

// answers is a record that answers always the same.
type answers struct{ err error }

func (a answers) Claim(context.Context, signing.Use) error { return a.err }

func TestRecordsOfAssertions(t *testing.T) {
	w := newSigner(t)
	w.signature.Replays = answers{signing.ErrFull}
	want(t, w.send(t, askBy(asserted(t, payload()))), 503, "temporarily_unavailable")
	w.signature.Replays = answers{context.DeadlineExceeded}
	want(t, w.send(t, askBy(asserted(t, payload()))), 503, "temporarily_unavailable")
	w.signature.Replays = signing.NewMemory(10)
	want(t, w.send(t, askBy(asserted(t, payload("iat", time.Now().Unix()-60)))), 401, "invalid_client")
}

func TestSecretOrAssertion(t *testing.T) {
	w := newSigner(t)
	t.Run("O37 a secret of a client with a public key", func(t *testing.T) {
		want(t, w.send(t, askToken()), 400, "unauthorized_client")
	})
	t.Run("O37 a secret of such a client, which is disabled", func(t *testing.T) {
		w := newWorld(t)
		w.givePublic(t, signer)
		w.change(acmeKey, func(c *signature.Credential) { c.Disabled = true })
		want(t, w.send(t, askToken()), 401, "invalid_client")
	})
	t.Run("O37 at another org nobody learns of that key", func(t *testing.T) {
		q := askToken()
		q.path = "/base/globex/v2/oauth/token"
		want(t, w.send(t, q), 401, "invalid_client")
	})
	w = newWorld(t)
	w.change(acmeKey, func(c *signature.Credential) { c.MinVersion = 2 })
	t.Run("O38 a secret of a client with minVersion 2", func(t *testing.T) {
		want(t, w.send(t, askToken()), 400, "unauthorized_client")
	})
	t.Run("O38 a secret in the form of such a client", func(t *testing.T) {
		q := ask("/base/acme/v2/oauth/token", "", "", "grant_type", "client_credentials", "client_id", acmeKey, "client_secret", string(acmeSecret))
		want(t, w.send(t, q), 400, "unauthorized_client")
	})
	t.Run("O38 a wrong secret of such a client", func(t *testing.T) {
		q := ask("/base/acme/v2/oauth/token", acmeKey, otherSecret, "grant_type", "client_credentials")
		want(t, w.send(t, q), 401, "invalid_client")
	})
}

// A server that takes no signatures of version 1 takes no secrets either.
func TestO45AServerForVersion2TakesNoSecrets(t *testing.T) {
	w := newWorld(t, func(w *world) { w.signature.Policy.Version = 2 })
	want(t, w.send(t, askToken()), 400, "unauthorized_client")
	form := ask("/base/acme/v2/oauth/introspect", "", "", "token", "x", "client_id", acmeKey, "client_secret", string(acmeSecret))
	want(t, w.send(t, form), 400, "unauthorized_client")
	want(t, w.send(t, ask("/base/acme/v2/oauth/token", acmeKey, otherSecret, "grant_type", "client_credentials")), 401, "invalid_client")
	a := w.send(t, question{method: "GET", path: "/.well-known/oauth-authorization-server/base/acme/v2"})
	if strings.Contains(a.text, "client_secret") || !strings.Contains(a.text, "private_key_jwt") {
		t.Errorf("the metadata offers what is refused: %s", a.text)
	}
	w.givePublic(t, signer)
	nextSecond()
	want(t, w.send(t, askBy(asserted(t, payload()))), 200, "")
}
