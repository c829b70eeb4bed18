package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// oauth sends a form as a client.
func (s *server) oauth(t *testing.T, path, clientKey, secret string, pairs ...string) answer {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r, err := http.NewRequest(http.MethodPost, s.BaseURL+"/"+s.Org+"/v2/oauth/"+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(clientKey, secret)
	return send(t, r)
}

func TestOAuth(t *testing.T) {
	t.Parallel()
	s := start(t)
	t.Run("a narrow client gets a token for its scope", func(t *testing.T) {
		got := s.oauth(t, "token", s.NarrowClientKey, s.NarrowClientSecret, "grant_type", "client_credentials").ok(t)
		raw, _ := got["access_token"].(string)
		if got["scope"] != "object.read.c_message" || got["token_type"] != "Bearer" {
			t.Errorf("got %v", got)
		}
		s.bearing(t, raw, "GET", "/c_messages", "").ok(t)
		if got := s.bearing(t, raw, "GET", "/connections", ""); got.status != 403 {
			t.Errorf("got %d %s", got.status, got.text)
		}
	})
	t.Run("a client that may not send its secret", func(t *testing.T) {
		got := s.oauth(t, "token", s.V2ClientKey, s.V2ClientSecret, "grant_type", "client_credentials")
		if got.status != 400 || !strings.Contains(got.text, `"error":"unauthorized_client"`) {
			t.Errorf("got %d %s", got.status, got.text)
		}
	})
	t.Run("a client of another org", func(t *testing.T) {
		got := s.oauth(t, "token", s.OtherClientKey, s.OtherClientSecret, "grant_type", "client_credentials")
		if got.status != 401 || !strings.Contains(got.text, `"error":"invalid_client"`) {
			t.Errorf("got %d %s", got.status, got.text)
		}
	})
	t.Run("introspection spends no use of the demo's token", func(t *testing.T) {
		for range 5 {
			got := s.oauth(t, "introspect", s.NarrowClientKey, s.NarrowClientSecret, "token", s.LimitedToken).ok(t)
			if got["active"] != true || got["sub"] != s.AccountID {
				t.Fatalf("got %v", got)
			}
		}
		for range 3 {
			s.bearing(t, s.LimitedToken, "GET", "/accounts/me", "").ok(t)
		}
		if got := s.oauth(t, "introspect", s.ClientKey, s.ClientSecret, "token", s.LimitedToken); got.text != `{"active":false}` {
			t.Errorf("got %s", got.text)
		}
	})
	t.Run("the metadata is outside of the orgs", func(t *testing.T) {
		for _, name := range []string{"oauth-authorization-server", "oauth-protected-resource"} {
			got := s.consoleCall(t, http.MethodGet, "/.well-known/"+name+"/"+s.Org+"/v2", nil)
			if got.status != 200 || !strings.Contains(got.text, `"`+s.BaseURL+"/"+s.Org+`/v2"`) {
				t.Errorf("got %d %s", got.status, got.text)
			}
			s.refused(t, s.consoleCall(t, http.MethodGet, "/.well-known/"+name+"/nowhere/v2", nil), 404, "notFound.env")
		}
		s.refused(t, s.consoleCall(t, http.MethodGet, "/.well-known/openid-configuration", nil), 404, "notFound.unspecified")
	})
	t.Run("tokens by OAuth count against the quota on minting", func(t *testing.T) {
		var last answer
		for n := 0; n < 500 && last.status != 429; n++ {
			last = s.oauth(t, "token", s.ClientKey, s.ClientSecret, "grant_type", "client_credentials")
		}
		if last.status != 429 || !strings.Contains(last.text, "temporarily_unavailable") || last.header.Get("Retry-After") == "" {
			t.Errorf("got %d %s", last.status, last.text)
		}
	})
}
