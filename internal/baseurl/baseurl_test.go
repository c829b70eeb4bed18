package baseurl_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/tenantkit/tenantkit/internal/baseurl"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]bool{
		"https://api.example.com":            true,
		"https://api.example.com/acme/v2":    true,
		"http://[::1]:8080/":                 true,
		"":                                   false,
		"api.example.com":                    false,
		"ftp://api.example.com":              false,
		"https://":                           false,
		"https://:443":                       false,
		"https://ann:secret@api.example.com": false,
		"https://api.example.com?a=b":        false,
		"https://api.example.com#a":          false,
		"https://api.example.com/%zz":        false,
		"https:api.example.com":              false,
	} {
		if _, ok := baseurl.Parse(text); ok != want {
			t.Errorf("Parse(%q) = %t, want %t", text, ok, want)
		}
	}
}

func TestHas(t *testing.T) {
	base, _ := baseurl.Parse("https://API.example.com:443/acme")
	if got := baseurl.Origin(base); got != "https://api.example.com" {
		t.Errorf("Origin = %q", got)
	}
	for _, c := range []struct {
		name, url, host string
		want            bool
	}{
		{"the host", "https://api.example.com/x", "", true},
		{"in other letters, with its port", "https://Api.Example.Com:443/x", "API.EXAMPLE.COM", true},
		{"another host", "https://example.com/x", "", false},
		{"a host that begins like it", "https://api.example.com.evil.test/x", "", false},
		{"another port", "https://api.example.com:444/x", "", false},
		{"another scheme", "http://api.example.com/x", "", false},
		{"the port of another scheme", "https://api.example.com:80/x", "", false},
		{"another Host", "https://api.example.com/x", "example.com", false},
		{"a Host with another port", "https://api.example.com/x", "api.example.com:8443", false},
		{"no path apart from the scheme", "https:api.example.com", "", false},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := baseurl.Has(base, &http.Request{URL: u, Host: c.host}); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
	if baseurl.Has(base, new(http.Request)) {
		t.Error("a request without a URL belongs to it")
	}
}
