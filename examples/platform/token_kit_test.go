package main

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bearing sends a request with a token, without the library.
func (s *server) bearing(t *testing.T, token, method, path, body string, header ...string) answer {
	t.Helper()
	r, err := http.NewRequest(method, s.BaseURL+"/"+s.Org+"/v2"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return send(t, r)
}

// as sends a request as an account. "" is the administrator whose key signs.
func (s *server) as(t *testing.T, account, method, path, body string) answer {
	t.Helper()
	return s.do(t, call{method: method, path: path, body: body, account: account})
}

// mint asks for a token of the demo app. The test fails if it gets none.
func (s *server) mint(t *testing.T, account, body string) value {
	t.Helper()
	return s.as(t, account, "POST", s.tokensPath(), body).ok(t)["data"].(value)
}

func (s *server) tokensPath() string { return "/apps/" + s.ClientKey + "/tokens" }

func (s *server) subjectPath(sub string) string {
	return "/apps/" + s.ClientKey + "/subjects/" + sub + "/tokens"
}

// wish returns the body of a request for a token, with a subject, the scope of
// everything, and more members.
func wish(sub, more string) string {
	return `{"sub":"` + sub + `","scope":[""]` + more + `}`
}

// works reports whether a token still authenticates.
func (s *server) works(t *testing.T, token string) bool {
	t.Helper()
	got := s.bearing(t, token, "GET", "/accounts/me", "")
	if got.status != 200 {
		s.refused(t, got, 401, "accessDenied.invalidJwt")
	}
	return got.status == 200
}

// scopeRefused checks the fault of a missing scope. It has a challenge for bearer
// tokens.
func (s *server) scopeRefused(t *testing.T, got answer, need string) {
	t.Helper()
	if want := `Bearer error="insufficient_scope", scope="` + need + `"`; got.header.Get("WWW-Authenticate") != want {
		t.Errorf("WWW-Authenticate is %q, want %q", got.header.Get("WWW-Authenticate"), want)
	}
	got.header.Del("WWW-Authenticate")
	if fault := s.refused(t, got, 403, "accessDenied.scope"); fault["reason"] != need {
		t.Errorf("reason is %v, want %s", fault["reason"], need)
	}
}

// claimsOf decodes the payload of a token without a check of its signature.
func claimsOf(t *testing.T, token any) value {
	t.Helper()
	text, _ := token.(string)
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		t.Fatalf("not a token: %v", token)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims value
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	return claims
}

// beyond checks which options of a refused token were in excess.
func (s *server) beyond(t *testing.T, got answer, want map[string]string) {
	t.Helper()
	fault := s.refused(t, got, 403, "accessDenied.delegation")
	if diff := cmp.Diff(want, children(fault)); diff != "" {
		t.Errorf("in excess (-want +got):\n%s", diff)
	}
}
