package main

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http/httptest"
	"testing"
	"time"
)

// startParts serves the demo orgs, and gives the test access to the platform.
func startParts(t *testing.T, ceiling bool) (*server, *platform) {
	t.Helper()
	web := httptest.NewUnstartedServer(nil)
	o, err := parseFlags([]string{"-db", memoryDB}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	o.storeTimeout, o.ceiling = patience, ceiling
	p, err := newPlatform(t.Context(), o, "http://"+web.Listener.Addr().String(), o.newLog(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.close() })
	f, err := p.seed(t.Context(), options{demoMessages: fewMessages})
	if err != nil {
		t.Fatal(err)
	}
	web.Config.Handler = p.handler(p.routes())
	web.Start()
	t.Cleanup(web.Close)
	return &server{facts: *f, brand: "Service-", faults: "service"}, p
}

// byHand signs a token with the key of the demo app as any JWT library would (RFC
// 7515), without this project's code.
func byHand(t *testing.T, s *server, p *platform, claims value) string {
	t.Helper()
	pair, err := p.stores.keys.Signer(t.Context(), s.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	all := value{"iss": s.ClientKey, "aud": s.BaseURL + "/" + s.Org + "/v2", "iat": time.Now().Unix()}
	for name, claim := range claims {
		all[name] = claim
	}
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(value{"alg": "RS256", "kid": pair.KeyID, "typ": "JWT"}) + "." + part(all)
	digest := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, pair.Signer.(*rsa.PrivateKey), crypto.SHA256, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// If a role is deleted, the accounts with that role lose its chains, and tokens
// that add the role become invalid.
func TestRolesThatAreDeleted(t *testing.T) {
	t.Parallel()
	s, p := startParts(t, false)
	minted := func(sub, more string) string {
		return s.mint(t, "", `{"sub":"`+sub+`","scope":[]`+more+`}`)["token"].(string)
	}
	adding := map[string]string{
		"ephemeral":         minted(s.AccountID, `,"roles":["reader"]`),
		"permanent":         minted(s.AccountID, `,"roles":["reader"],"permanent":true`),
		"signed by another": byHand(t, s, p, value{"sub": s.AccountID, "service/rls": []string{"reader"}}),
	}
	having := minted(s.ReaderAccountID, "")
	read := func(token string) answer { return s.bearing(t, token, "GET", "/c_messages?limit=1", "") }
	for _, token := range adding {
		read(token).ok(t)
	}
	read(having).ok(t)

	s.as(t, "", "DELETE", "/admin/roles/reader", "").ok(t)
	for name, token := range adding {
		t.Run("M16 a token that adds it, "+name, func(t *testing.T) {
			s.refused(t, read(token), 401, "accessDenied.invalidJwt")
		})
	}
	t.Run("M16 a token whose subject has it", func(t *testing.T) {
		s.scopeRefused(t, read(having), "object.read.c_message")
		if me := s.bearing(t, having, "GET", "/accounts/me", "").ok(t); me["_id"] != s.ReaderAccountID {
			t.Errorf("%v", me)
		}
	})
	t.Run("M16 a new token that would add it", func(t *testing.T) {
		s.refused(t, s.as(t, "", "POST", s.tokensPath(), wish(s.AccountID, `,"roles":["reader"]`)), 404, "notFound.unspecified")
	})
	t.Run("a role of this name that is made again", func(t *testing.T) {
		s.as(t, "", "POST", "/admin/roles", `{"name":"reader","scope":["object.read.c_conversation"]}`).ok(t)
		for _, token := range adding {
			s.scopeRefused(t, read(token), "object.read.c_message")
			s.bearing(t, token, "GET", "/c_conversations?limit=1", "").ok(t)
		}
	})
}

func TestTheReader(t *testing.T) {
	t.Parallel()
	s := start(t)
	b := s.browser(t)
	me := b.post(t, "/accounts/login", value{"email": s.ReaderEmail, "password": s.ReaderPassword}).ok(t)
	if roles := me["roles"].([]any); me["_id"] != s.ReaderAccountID || len(roles) != 1 || roles[0] != "reader" {
		t.Errorf("%v", me)
	}
	b.get(t, "/c_conversations?limit=1").ok(t) // a session is not limited by scopes
	s.refused(t, b.post(t, "/c_messages", value{"c_text": "x"}), 403, "accessDenied.unspecified")
}
