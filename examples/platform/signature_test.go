package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// aPublicKey is one of the demo's vectors.
const aPublicKey = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"

// ready waits until the server accepts signatures of version 2.
func (s *server) ready(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		res, err := http.Get(s.BaseURL + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatal("not ready")
		}
	}
}

// signer is who signs a request, and how. Without a key it is the demo app.
type signer struct {
	version     int
	key, secret string
	private     ed25519.PrivateKey // instead of the secret
}

// signed sends a request that signing.Transport signs, and edit has changed.
func (s *server) signed(t *testing.T, by signer, edit func(*http.Request), method, path, body string) answer {
	t.Helper()
	client := &signing.Transport{
		BaseURL: s.BaseURL + "/" + s.Org + "/v2", Header: s.brand, Version: by.version, ClientKey: cmp.Or(by.key, s.ClientKey),
	}
	if by.private != nil {
		client.Signer = by.private
	} else {
		client.Secret = signing.Secret(cmp.Or(by.secret, s.ClientSecret))
	}
	r, err := http.NewRequest(method, client.BaseURL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
		r.ContentLength = int64(len(body))
	}
	var sent *http.Request
	client.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	if _, err := client.RoundTrip(r); err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(sent)
	}
	return send(t, sent)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSignatureVersions(t *testing.T) {
	t.Parallel()
	for versions, accepted := range map[string][2]bool{"1": {true, false}, "2": {false, true}, "1,2": {true, true}} {
		t.Run(versions, func(t *testing.T) {
			s := start(t, "-signature-versions", versions)
			s.ready(t)
			for i, accepted := range accepted {
				got := s.signed(t, signer{version: i + 1}, nil, "GET", "/accounts/me", "")
				if accepted {
					got.ok(t)
					continue
				}
				s.refused(t, got, 401, "accessDenied.invalidRequestSignature")
				if challenge := got.header.Get("WWW-Authenticate"); !strings.Contains(challenge, `error="version"`) {
					t.Error(challenge)
				}
			}
		})
	}
	t.Run("others", func(t *testing.T) {
		for _, versions := range []string{"", "0", "3", "1,2,3", "2,1", "1, 2"} {
			if _, err := parseFlags([]string{"-signature-versions", versions}, io.Discard); err == nil {
				t.Errorf("%q is accepted", versions)
			}
		}
	})
}

// TestSignedBodies changes requests after their signature.
func TestSignedBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ready(t)
	two := signer{version: 2}
	const body = `{"c_text":"hello"}`
	if got := s.signed(t, two, nil, "POST", "/c_messages?draft=1", body); got.ok(t)["c_text"] != "hello" {
		t.Error(got.text)
	}
	for name, test := range map[string]struct {
		edit   func(*http.Request)
		status int
		detail string
	}{
		"another body": {func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(strings.ToUpper(body)))
		}, 400, "invalidArgument.contentDigest"},
		"another query":   {func(r *http.Request) { r.URL.RawQuery = "draft=2" }, 401, "accessDenied.invalidRequestSignature"},
		"another account": {func(r *http.Request) { r.Header.Set("Service-Client-Account", s.AccountID) }, 400, "invalidArgument.malformedRequestSignature"},
		"a signature of version 1 too": {func(r *http.Request) {
			s.sign(r, "/c_messages", s.ClientKey, s.ClientSecret)
		}, 400, "invalidArgument.ambiguousCredentials"},
	} {
		t.Run(name, func(t *testing.T) {
			s.refused(t, s.signed(t, two, test.edit, "POST", "/c_messages?draft=1", body), test.status, test.detail)
		})
	}
	t.Run("a body beyond the limit", func(t *testing.T) {
		long := `{"c_text":"` + strings.Repeat("x", maxBody) + `"}`
		s.refused(t, s.signed(t, two, nil, "POST", "/c_messages", long), 413, "invalidArgument.bodyTooLarge")
	})
	t.Run("a credential that refuses version 1", func(t *testing.T) {
		by := signer{key: s.V2ClientKey, secret: s.V2ClientSecret}
		got := s.signed(t, by, nil, "GET", "/accounts/me", "")
		s.refused(t, got, 401, "accessDenied.invalidRequestSignature")
		if challenge := got.header.Get("WWW-Authenticate"); !strings.Contains(challenge, `Signature error="version", versions="2"`) {
			t.Error(challenge)
		}
		by.version = 2
		if got := s.signed(t, by, nil, "GET", "/accounts/me", ""); got.ok(t)["_id"] != s.AccountID {
			t.Error(got.text)
		}
	})
}

// TestPublicKeys gives apps public keys. The server then keeps no secret of them.
func TestPublicKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.ready(t)
	pair := func() (string, ed25519.PrivateKey) {
		public, private, err := ed25519.GenerateKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(public), private
	}
	me := func(key string, private ed25519.PrivateKey) answer {
		return s.signed(t, signer{key: key, private: private}, nil, "GET", "/accounts/me", "")
	}
	public, private := pair()
	app := s.as(t, "", "POST", "/apps", `{"name":"x","credential":{"account":"`+s.AccountID+`","publicKey":"`+public+`"}}`).ok(t)
	key := app["_id"].(string)
	one := "/apps/" + key
	credential := s.as(t, "", "GET", one, "").ok(t)["credential"].(value)
	if _, has := app["secret"]; has || credential["publicKey"] != public || credential["minVersion"] != 2.0 || credential["secrets"] != 0.0 {
		t.Errorf("%v with %v", app, credential)
	}
	if me(key, private).ok(t)["_id"] != s.AccountID {
		t.Error("acts as another account")
	}
	_, another := pair()
	s.refused(t, me(key, another), 401, "accessDenied.invalidRequestSignature")
	s.refused(t, s.as(t, "", "POST", one+"/secret", ""), 409, "conflict.unspecified")
	fault := s.refused(t, s.as(t, "", "PATCH", one, `{"credential":{"minVersion":1}}`), 400, "invalidArgument.body")
	if children(fault)["credential.minVersion"] == "" {
		t.Error(fault)
	}

	t.Run("another public key ends the former one", func(t *testing.T) {
		public, later := pair()
		s.as(t, "", "PATCH", one, `{"credential":{"publicKey":"`+public+`"}}`).ok(t)
		s.refused(t, me(key, private), 401, "accessDenied.invalidRequestSignature")
		me(key, later).ok(t)
	})
	t.Run("a public key ends the secrets", func(t *testing.T) {
		app := s.as(t, "", "POST", "/apps", `{"name":"x","credential":{"account":"`+s.AccountID+`"}}`).ok(t)
		s.signedBy(t, app, "GET", "/accounts/me", "").ok(t)
		public, private := pair()
		got := s.as(t, "", "PATCH", "/apps/"+app["_id"].(string), `{"name":"y","credential":{"publicKey":"`+public+`"}}`).ok(t)
		if got["name"] != "y" || got["credential"].(value)["account"] != s.AccountID {
			t.Errorf("%v", got)
		}
		s.refused(t, s.signedBy(t, app, "GET", "/accounts/me", ""), 401, "accessDenied.invalidRequestSignature")
		me(app["_id"].(string), private).ok(t)
	})
	t.Run("to give a public key, or to accept less, is making", func(t *testing.T) {
		bound := s.mint(t, "", `{"sub":"`+s.AdminAccountID+`","scope":["admin"]}`)["token"].(string)
		app := s.as(t, "", "POST", "/apps", `{"name":"x","credential":{"account":"`+s.AdminAccountID+`"}}`).ok(t)
		one := "/apps/" + app["_id"].(string)
		s.refused(t, s.bearing(t, bound, "PATCH", one, `{"credential":{"publicKey":"`+aPublicKey+`"}}`), 403, "accessDenied.delegation")
		s.bearing(t, bound, "PATCH", one, `{"credential":{"minVersion":2}}`).ok(t)
		for _, less := range []string{"1", "null"} {
			s.refused(t, s.bearing(t, bound, "PATCH", one, `{"credential":{"minVersion":`+less+`}}`), 403, "accessDenied.delegation")
		}
		got := s.as(t, "", "PATCH", one, `{"credential":{"minVersion":null}}`).ok(t)
		if got["credential"].(value)["minVersion"] != 1.0 {
			t.Error(got)
		}
	})
}

// TestReadyFromTheNextSecond asks in the second in which the stores were opened.
func TestReadyFromTheNextSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(300 * time.Millisecond)
		for version, want := range map[int]time.Duration{0: 700 * time.Millisecond, 1: 0, 2: 700 * time.Millisecond} {
			time.Sleep(time.Second - time.Duration(time.Now().Nanosecond()) + 300*time.Millisecond)
			began := secondsFrom(time.Now(), signing.Policy{Version: version})
			for _, want := range []time.Duration{want, 0} {
				asked := time.Now()
				if err := began(t.Context()); err != nil || time.Since(asked) != want {
					t.Errorf("version %d: after %v: %v", version, time.Since(asked), err)
				}
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if secondsFrom(time.Now(), signing.Policy{})(ctx) == nil {
			t.Error("ready without an answer")
		}
	})
}
