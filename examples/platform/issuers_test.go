package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// provider is an identity provider on this host. It signs with golang-jwt.
type provider struct {
	*httptest.Server
	key ed25519.PrivateKey
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: private}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(value{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		key := value{"kty": "OKP", "crv": "Ed25519", "kid": "one", "x": base64.RawURLEncoding.EncodeToString(public)}
		json.NewEncoder(w).Encode(value{"keys": []any{key}})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) token(t *testing.T, claims value) string {
	t.Helper()
	all := jwt.MapClaims{"iss": p.URL, "aud": []string{"account", "notes"}, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	unsigned := jwt.NewWithClaims(jwt.SigningMethodEdDSA, all)
	unsigned.Header["kid"], unsigned.Header["x5t"] = "one", "ignored"
	signed, err := unsigned.SignedString(p.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestTokensOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	known, discovered := newProvider(t), newProvider(t)
	s := start(t, "-issuer", "acme:known="+known.URL+",notes,"+known.URL+"/keys", "-issuer", "acme:discovered="+discovered.URL+",notes")
	get := func(org, path, raw string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(context.Background(), "GET", s.BaseURL+"/"+org+"/v2"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+raw)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		body, _ := io.ReadAll(reply.Body)
		var object struct {
			ID string `json:"_id"`
		}
		json.Unmarshal(body, &object)
		return reply.StatusCode, object.ID
	}
	for name, c := range map[string]struct {
		claims      value
		org         string
		status      int
		account     string
		listsStatus int
	}{
		"the sub is an id":                  {value{"sub": s.AccountID}, "acme", 200, s.AccountID, 403},
		"the sub is an address":             {value{"sub": s.AccountEmail}, "acme", 401, "", 401},
		"a verified address":                {value{"sub": "f:1", "email": s.AccountEmail, "email_verified": true}, "acme", 401, "", 401},
		"a scope":                           {value{"sub": s.AccountID, "scope": "openid object.read.c_message email"}, "acme", 200, s.AccountID, 200},
		"a scope beside":                    {value{"sub": s.AccountID, "scope": "openid object.read.c_conversation"}, "acme", 200, s.AccountID, 403},
		"an unknown sub":                    {value{"sub": "f:1"}, "acme", 401, "", 401},
		"another audience":                  {value{"sub": s.AccountID, "aud": "another"}, "acme", 401, "", 401},
		"another org, and its account":      {value{"sub": s.OtherAccountID}, s.OtherOrg, 401, "", 401},
		"an account of another org in acme": {value{"sub": s.OtherAccountID}, "acme", 401, "", 401},
	} {
		for _, p := range []*provider{known, discovered} {
			raw := p.token(t, c.claims)
			status, account := get(c.org, "/accounts/me", raw)
			lists, _ := get(c.org, "/c_messages", raw)
			if status != c.status || account != c.account || lists != c.listsStatus {
				t.Errorf("%s: %d %q, list %d", name, status, account, lists)
			}
		}
	}
	if status, _ := get("acme", "/accounts/me", s.EphemeralToken); status != 200 {
		t.Errorf("a token of the platform's own: %d", status)
	}
}
