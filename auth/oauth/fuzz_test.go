package oauth_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// fixed is the time in which the fuzz targets run, so that their corpus stays valid.
var fixed = time.Unix(1767355200, 0)

// fuzzed returns a function that sends a form to the introspection endpoint and returns the
// status. It uses no network.
func fuzzed(f *testing.F) func(question) int {
	w := newWorld(f, func(w *world) { w.guard.Now = func() time.Time { return fixed } })
	w.givePublic(f, signer)
	w.signature.Replays = anything{}
	mux := w.guard.Mux()
	w.server.Register(mux)
	return func(q question) int {
		r := httptest.NewRequest(http.MethodPost, "/acme/v2/oauth/introspect", strings.NewReader(q.body))
		r.Header = q.header
		reply := httptest.NewRecorder()
		mux.ServeHTTP(reply, r)
		return reply.Code
	}
}

// FuzzAssertion checks that golang-jwt accepts each assertion that is accepted.
func FuzzAssertion(f *testing.F) {
	send := fuzzed(f)
	jwt.RegisterSigningMethod("Ed25519", func() jwt.SigningMethod { return jwt.SigningMethodEdDSA })
	const issuer = "https://api.example.test/base/acme/v2"
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithAudience(issuer), jwt.WithIssuer(acmeKey),
		jwt.WithSubject(acmeKey), jwt.WithExpirationRequired(), jwt.WithStrictDecoding(), jwt.WithTimeFunc(func() time.Time { return fixed }),
		jwt.WithLeeway(time.Minute))
	claims := `"iss":"` + acmeKey + `","sub":"` + acmeKey + `","aud":"` + issuer + `","exp":1767355260,"jti":"x"`
	f.Add(`{"alg":"EdDSA","typ":"JWT"}`, "{"+claims+"}")
	f.Add(`{"alg":"Ed25519","kid":"x"}`, "{"+claims+`,"iat":1767355200,"nbf":1767355200}`)
	f.Add(`{"alg":"none"}`, "{"+claims+`,"aud":["`+issuer+`"]}`)
	f.Fuzz(func(t *testing.T, header, payload string) {
		signed := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
		signature, err := jwt.SigningMethodEdDSA.Sign(signed, signer)
		if err != nil {
			t.Fatal(err)
		}
		text := signed + "." + base64.RawURLEncoding.EncodeToString(signature)
		switch send(askBy(text, "token", "x")) {
		case 200:
		case 401:
			return
		default:
			t.Fatal("neither accepted nor refused")
		}
		var got jwt.RegisteredClaims
		if _, err := parser.ParseWithClaims(text, &got, func(*jwt.Token) (any, error) { return signer.Public(), nil }); err != nil {
			t.Fatalf("golang-jwt refuses it: %v", err)
		}
		if len(got.Audience) != 1 || got.ID == "" || got.ExpiresAt.Sub(fixed) > 5*time.Minute || !got.ExpiresAt.After(fixed) {
			t.Fatalf("accepted %+v", got)
		}
	})
}

// FuzzForm checks that each parameter of a form that is accepted occurs once, and has the value that
// net/url reads.
func FuzzForm(f *testing.F) {
	send := fuzzed(f)
	f.Add("token=x")
	f.Add("token=x&token=x")
	f.Add("token=%20&token_type_hint=")
	f.Add("token=x;y=z")
	f.Fuzz(func(t *testing.T, body string) {
		q := ask("", otherKey, otherSecret)
		q.body = body
		values, err := url.ParseQuery(body)
		plain := err == nil && values.Get("token") != ""
		for _, all := range values {
			plain = plain && len(all) == 1 && strings.ToValidUTF8(all[0], "") == all[0]
		}
		for _, other := range []string{"client_id", "client_secret", "client_assertion", "client_assertion_type"} {
			plain = plain && values.Get(other) == ""
		}
		if status := send(q); (status == 200) != plain && len(body) < 1<<10 {
			t.Fatalf("%q is answered with %d", body, status)
		}
	})
}
