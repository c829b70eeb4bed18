package main

import (
	"encoding/json"
	"net/http"
	"testing"
)

// TestDocsURL asks for a page of the org, and for one outside of it, without a credential. A client
// that prefers problems gets the link as their type, and the id of its request.
func TestDocsURL(t *testing.T) {
	t.Parallel()
	const page = "https://docs.example.com/errors/"
	s := start(t, "-docs-url", page)
	for url, code := range map[string]string{
		s.BaseURL + "/" + s.Org + "/v2/accounts/me": "accessDenied.noCredentialsSupplied",
		s.BaseURL + "/nothing-here":                 "notFound.unspecified",
	} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/problem+json")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var got struct{ Type, Instance, ErrCode string }
		if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if link := response.Header.Get("Link"); link != "<"+page+"#"+code+`>; rel="help"` {
			t.Errorf("%s: link %s", url, link)
		}
		if id := response.Header.Get("Request-Id"); got.Type != page+"#"+code || got.ErrCode != "service."+code || got.Instance != id || id == "" {
			t.Errorf("%s: %+v, request %s", url, got, id)
		}
	}
}
