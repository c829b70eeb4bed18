package token_test

import (
	"crypto/fips140"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenantkit/tenantkit/token"
)

// An app may use its key pair for other things than the tokens of this interface. None
// of them is accepted as a token: RFC 8725, sections 2.8, 3.11 and 3.12.
func TestOtherKindsOfJWTAreRefused(t *testing.T) {
	w := newWorld(t)
	k := kid(t, 0)
	typ := func(value string) string { return `{"alg":"RS256","kid":"` + k + `","typ":"` + value + `"}` }
	clientID := []any{"aud", "0oa1b2c3"}

	for name, c := range map[string]struct {
		header string
		claims map[string]any
	}{
		"an ID token":                             {header(t, 0), w.claims(append(clientID, "nonce", "n", "auth_time", 1)...)},
		"an ID token of several audiences":        {header(t, 0), w.claims("aud", []string{"0oa1b2c3", audience}, "azp", "0oa1b2c3")},
		"a client assertion":                      {header(t, 0), w.claims("sub", appA, "aud", "https://api.example.com/token")},
		"an access token of OAuth":                {typ("at+jwt"), w.claims()},
		"the same by its whole media type":        {typ("application/at+jwt"), w.claims()},
		"a logout token":                          {typ("logout+jwt"), w.claims("events", map[string]any{})},
		"a security event":                        {typ("secevent+jwt"), w.claims("events", map[string]any{})},
		"a DPoP proof":                            {`{"alg":"RS256","typ":"dpop+jwt","jwk":{"kty":"RSA"}}`, w.claims("htm", "GET", "htu", audience)},
		"a token of the same app for another org": {header(t, 0), w.claims("aud", "https://api.example.com/globex/v2")},
		"a token without any of our claims":       {header(t, 0), map[string]any{"email": "ann@example.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, w, forge(t, 0, c.header, payload(t, c.claims)), token.ErrInvalid)
		})
	}
}

// The public key of an app is public, so anybody can encrypt to it. An encrypted text
// is not accepted as a token: RFC 8725, sections 2.3 and 3.3.
func TestEncryptedTokensAreRefused(t *testing.T) {
	w := newWorld(t)
	for name, text := range map[string]string{
		"claims that nobody has signed": payload(t, w.claims()),
		"an honest token":               w.token(t),
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, w, encrypt(t, &rsaKeys[0]().PublicKey, kid(t, 0), text), token.ErrInvalid)
		})
	}
}

func encrypt(t *testing.T, key *rsa.PublicKey, kid, text string) string {
	t.Helper()
	to := jose.Recipient{Algorithm: jose.RSA_OAEP_256, Key: key, KeyID: kid}
	encrypter, err := jose.NewEncrypter(jose.A256GCM, to, (&jose.EncrypterOptions{}).WithContentType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	var sealed *jose.JSONWebEncryption
	fips140.WithoutEnforcement(func() { sealed, err = encrypter.Encrypt([]byte(text)) }) // attackers need not follow FIPS 140
	if err != nil {
		t.Fatal(err)
	}
	compact, err := sealed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

// The JSON serializations of RFC 7515 allow unprotected headers and several
// signatures. They are refused: RFC 8725, section 3.3.
func TestTheJSONSerializationIsRefused(t *testing.T) {
	w := newWorld(t)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: rsaKeys[0](), KeyID: kid(t, 0)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload(t, w.claims())))
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	accepted(t, w, compact)
	flattened := signed.FullSerialize()
	var members map[string]string
	if err := json.Unmarshal([]byte(flattened), &members); err != nil {
		t.Fatal(err)
	}
	general, err := json.Marshal(map[string]any{"payload": members["payload"], "signatures": []any{members}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"flattened": flattened, "general": string(general)} {
		t.Run(name, func(t *testing.T) {
			if got, err := w.verify(t, text); got != nil || !errors.Is(err, token.ErrInvalid) {
				t.Errorf("Verify = %v, %v, want ErrInvalid", got, err)
			}
		})
	}
}
