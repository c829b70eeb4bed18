package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/auth0/go-jwt-middleware/v2/validator"
	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"
	"github.com/golang-jwt/jwt/v5"
	kataras "github.com/kataras/jwt"
	"github.com/lestrrat-go/jwx/v3/jwa"
	jwxjwt "github.com/lestrrat-go/jwx/v3/jwt"

	"github.com/tenantkit/tenantkit/token"
)

const (
	issuer   = "0aAbBcCdDeEfFgGhHiIjJk"
	subject  = "65f0a1b2c3d4e5f601234567"
	baseURL  = "https://api.example.com"
	audience = baseURL + "/acme/v2"
)

// rsaKeys are the keys of the app and of a stranger.
var rsaKeys = [2]func() *rsa.PrivateKey{sync.OnceValue(newRSA), sync.OnceValue(newRSA)}

func newRSA() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
}

func TestBearerFirst(t *testing.T)      { check(t, "BearerFirst", bearers(t, false)) }
func TestBearerAgain(t *testing.T)      { check(t, "BearerAgain", bearers(t, true)) }
func BenchmarkBearerFirst(b *testing.B) { race(b, bearers(b, false)) }
func BenchmarkBearerAgain(b *testing.B) { race(b, bearers(b, true)) }

func b64(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// claimsText returns the payload of an honest token; extra members begin with a comma.
func claimsText(aud string, expires time.Time, extra string) string {
	if !expires.IsZero() {
		extra = fmt.Sprintf(`,"exp":%d`, expires.Unix()) + extra
	}
	return fmt.Sprintf(`{"iss":%q,"sub":%q,"aud":%q,"iat":%d,"service/scp":["object.read.c_note"]%s}`,
		issuer, subject, aud, time.Now().Add(-2*time.Hour).Unix(), extra)
}

func header(t testing.TB) string {
	return fmt.Sprintf(`{"alg":"RS256","kid":%q,"typ":"JWT"}`, appPair(t).KeyID)
}

func appPair(t testing.TB) *token.KeyPair {
	pair, err := token.NewPair(rsaKeys[0]())
	if err != nil {
		t.Fatal(err)
	}
	pair.ClientKey, pair.Org = issuer, "acme"
	return pair
}

// sign makes a token by hand, so that no peer verifies a token it has made itself.
func sign(t testing.TB, key *rsa.PrivateKey, payload string) string {
	signed := b64(header(t)) + "." + b64(payload)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + b64(string(signature))
}

func goodToken(t testing.TB) string {
	return sign(t, rsaKeys[0](), claimsText(audience, time.Now().Add(time.Hour), ""))
}

func badTokens(t testing.TB) map[string]string {
	good, later := goodToken(t), time.Now().Add(time.Hour)
	parts := strings.Split(good, ".")
	return map[string]string{
		"another key":      sign(t, rsaKeys[1](), claimsText(audience, later, "")),
		"altered claims":   parts[0] + "." + b64(claimsText(audience, later, `,"admin":true`)) + "." + parts[2],
		"expired":          sign(t, rsaKeys[0](), claimsText(audience, time.Now().Add(-time.Hour), "")),
		"no expiry":        sign(t, rsaKeys[0](), claimsText(audience, time.Time{}, "")),
		"another audience": sign(t, rsaKeys[0](), claimsText("https://other.example.com", later, "")),
		"unsigned":         b64(`{"alg":"none"}`) + "." + parts[1] + ".",
		"a claim twice":    sign(t, rsaKeys[0](), claimsText(audience, later, fmt.Sprintf(`,"sub":%q`, subject))),
		"cut":              good[:len(good)-8],
	}
}

func bearers(t testing.TB, again bool) []contender {
	good, bad := goodToken(t), badTokens(t)
	public := &rsaKeys[0]().PublicKey
	of := func(name string, verify func(raw string) error) contender {
		c := contender{name: name, good: func() error { return verify(good) }, bad: map[string]func() error{}}
		for name, raw := range bad {
			c.bad[name] = func() error { return verify(raw) }
		}
		return c
	}
	floor := contender{name: "RSA", good: floorRSA(t, good, public)}
	if again {
		floor = contender{name: "map", good: floorMap(good)}
	}
	return []contender{
		floor,
		of(ours, ourBearer(t, again)),
		of("golang-jwt", golangJWT(public)),
		of("go-jose", goJose(public)),
		of("jwx", jwx(public)),
		of("kataras", katarasJWT(t, public)),
		of("auth0 validator", auth0(t, public)),
	}
}

func floorRSA(t testing.TB, good string, public *rsa.PublicKey) func() error {
	cut := strings.LastIndexByte(good, '.')
	digest := sha256.Sum256([]byte(good[:cut]))
	signature, err := base64.RawURLEncoding.DecodeString(good[cut+1:])
	if err != nil {
		t.Fatal(err)
	}
	return func() error { return rsa.VerifyPKCS1v15(public, crypto.SHA256, digest[:], signature) }
}

func floorMap(good string) func() error {
	seen := map[string]bool{good: true}
	raw := strings.Clone(good) // a clone: the same pointer would compare at once
	return func() error {
		if !seen[raw] {
			return errRefused
		}
		return nil
	}
}

func ourBearer(t testing.TB, cached bool) func(string) error {
	keys := &token.MemoryKeys{}
	if err := keys.Put(t.Context(), appPair(t)); err != nil {
		t.Fatal(err)
	}
	v := &token.Verifier{Keys: keys}
	if cached {
		v.Cache = &token.Cache{}
	}
	ctx, want := context.Background(), token.Expect{Org: "acme", Audience: audience}
	return func(raw string) error {
		_, err := v.Verify(ctx, raw, want)
		return err
	}
}

// claimsForm is the type into which golang-jwt decodes a token.
type claimsForm struct {
	jwt.RegisteredClaims
	Scope []string `json:"service/scp"`
}

func golangJWT(public *rsa.PublicKey) func(string) error {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer(issuer),
		jwt.WithAudience(audience), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	key := func(*jwt.Token) (any, error) { return public, nil }
	return func(raw string) error {
		_, err := parser.ParseWithClaims(raw, &claimsForm{}, key)
		return err
	}
}

func goJose(public *rsa.PublicKey) func(string) error {
	algorithms := []jose.SignatureAlgorithm{jose.RS256}
	expected := josejwt.Expected{Issuer: issuer, AnyAudience: josejwt.Audience{audience}}
	return func(raw string) error {
		parsed, err := josejwt.ParseSigned(raw, algorithms)
		if err != nil {
			return err
		}
		var c josejwt.Claims
		var own struct {
			Scope []string `json:"service/scp"`
		}
		if err := parsed.Claims(public, &c, &own); err != nil {
			return err
		}
		return c.ValidateWithLeeway(expected.WithTime(time.Now()), 0)
	}
}

func jwx(public *rsa.PublicKey) func(string) error {
	options := []jwxjwt.ParseOption{jwxjwt.WithKey(jwa.RS256(), public), jwxjwt.WithIssuer(issuer),
		jwxjwt.WithAudience(audience), jwxjwt.WithRequiredClaim("exp")}
	return func(raw string) error {
		_, err := jwxjwt.ParseString(raw, options...)
		return err
	}
}

// katarasJWT finds its key by kid. Without a key finder, kataras refuses a header with
// a kid.
func katarasJWT(t testing.TB, public *rsa.PublicKey) func(string) error {
	keys := kataras.Keys{}
	keys.Register(kataras.RS256, appPair(t).KeyID, public, nil)
	expected := kataras.Expected{Issuer: issuer, Audience: kataras.Audience{audience}}
	return func(raw string) error {
		verified, err := kataras.VerifyWithHeaderValidator(nil, nil, []byte(raw), keys.ValidateHeader, expected)
		if err != nil {
			return err
		}
		var own struct {
			Scope []string `json:"service/scp"`
		}
		return verified.Claims(&own)
	}
}

// auth0Claims are the custom claims of auth0's validator.
type auth0Claims struct {
	Scope []string `json:"service/scp"`
}

func (*auth0Claims) Validate(context.Context) error { return nil }

func newAuth0(t testing.TB, public *rsa.PublicKey) *validator.Validator {
	v, err := validator.New(func(context.Context) (any, error) { return public, nil }, validator.RS256, issuer,
		[]string{audience}, validator.WithCustomClaims(func() validator.CustomClaims { return &auth0Claims{} }))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func auth0(t testing.TB, public *rsa.PublicKey) func(string) error {
	v := newAuth0(t, public)
	return func(raw string) error {
		_, err := v.ValidateToken(context.Background(), raw)
		return err
	}
}
