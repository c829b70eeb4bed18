package issuer_test

import (
	"crypto"
	"encoding/base64"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/auth/issuer"
)

// FuzzForeign signs any header and any payload with the issuer's key. What is accepted is accepted
// by golang-jwt, too, with the same key and the strictest options.
func FuzzForeign(f *testing.F) {
	f.Add(`{"alg":"EdDSA","kid":"ed","x5t":"x"}`, asJSON(foreign("exp", 1790003600, "iat", 1790000000)))
	f.Add(`{"alg":"EdDSA","typ":"at+jwt","kid":"ed"}`, asJSON(foreign("exp", 1790003600, "iat", 1790000000, "aud", []string{"x", otherAud}, "nbf", 1790000000)))
	f.Add(`{"alg":"none","kid":"ed"}`, asJSON(foreign("exp", 1790003600, "iat", 1790000000)))
	f.Add(`{"alg":"EdDSA","kid":"ed"}`, `{"iss":"`+otherURL+`","aud":["notes"],"sub":"ann","exp":1790003600.5,"iat":null}`)
	w, _, clock := newOther(f, func(_ *world, i *issuer.Issuer) {
		i.JWKS, i.Keys = "", map[string]crypto.PublicKey{"ed": edKey.Public(), "ec": &ecKey().PublicKey}
	})
	clock.now = time.Unix(1790000060, 0)
	f.Fuzz(func(t *testing.T, header, payload string) {
		raw := b64([]byte(header)) + "." + b64([]byte(payload))
		signature, err := edKey.Sign(nil, []byte(raw), crypto.Hash(0))
		if err != nil {
			t.Fatal(err)
		}
		raw += "." + b64(signature)
		r := httptest.NewRequest("GET", "/acme/v2/me", nil)
		r.Header.Set("Authorization", "Bearer "+raw)
		reply := httptest.NewRecorder()
		if w.mux.ServeHTTP(reply, r); reply.Code != 200 {
			return
		}
		parser := jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer(otherURL), jwt.WithAudience(otherAud),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(time.Minute), jwt.WithStrictDecoding(), jwt.WithTimeFunc(clock.Now))
		claims := jwt.MapClaims{}
		if _, err := parser.ParseWithClaims(raw, claims, func(*jwt.Token) (any, error) { return edKey.Public(), nil }); err != nil {
			t.Errorf("golang-jwt refuses it: %v\n%s\n%s", err, header, payload)
		}
		exp, err := claims.GetExpirationTime()
		if err != nil || !exp.After(clock.now) || claims["sub"] != "ann" {
			t.Errorf("expires at %v, %v, sub %v", exp, err, claims["sub"])
		}
	})
}

// FuzzForeignText sends any text instead of a token. Only the tokens of the seeds are accepted.
func FuzzForeignText(f *testing.F) {
	honest := by(edKey, json.RawMessage(`{"alg":"EdDSA","kid":"ed"}`), foreign("exp", 1790003600, "iat", 1790000000))
	f.Add(honest)
	f.Add(honest[:len(honest)-1])
	f.Add(strings.Replace(honest, ".", "..", 1))
	f.Add(base64.StdEncoding.EncodeToString([]byte(honest)))
	w, _, clock := newOther(f)
	clock.now = time.Unix(1790000060, 0)
	f.Fuzz(func(t *testing.T, raw string) {
		r := httptest.NewRequest("GET", "/acme/v2/me", nil)
		r.Header["Authorization"] = []string{"Bearer " + raw}
		reply := httptest.NewRecorder()
		if w.mux.ServeHTTP(reply, r); (reply.Code == 200) != (raw == honest) {
			t.Errorf("%d for %q", reply.Code, raw)
		}
	})
}
