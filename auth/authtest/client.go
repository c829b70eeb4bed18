package authtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// Clients makes clients of a server under test, with a credential of each kind. They call the
// server's handler without a network, so URL can have any scheme and host, such as the subdomain
// of a tenant. They send the remote address of httptest.NewRequest. The fields must not be changed
// while a client is in use.
type Clients struct {
	Handler http.Handler // required: the server, with its middleware

	// URL is the address of the mount, as clients see it: https://api.example.com/acme/v2, or
	// https://acme.example.com/v1. Required. Clients with a credential of a header send nothing
	// elsewhere. Cookies with the prefix __Host- need https.
	URL string

	// Guard is that of the server. Clients use its Brand and its clock. nil: the default Brand,
	// and time.Now.
	Guard *auth.Guard
}

// Signed returns a client that signs its requests as clientKey.
func (c Clients) Signed(clientKey string, secret signing.Secret) *http.Client {
	t := &signing.Transport{BaseURL: c.URL, ClientKey: clientKey, Secret: secret, Base: direct{c.Handler}}
	if c.Guard != nil {
		t.Header, t.Now = c.Guard.Brand.Header, c.Guard.Now
	}
	return &http.Client{Transport: t}
}

// Bearer returns a client that sends a token, or an API key: token.Token(key).
func (c Clients) Bearer(t token.Token) *http.Client {
	return &http.Client{Transport: &token.Transport{BaseURL: c.URL, Token: t, Base: direct{c.Handler}}}
}

// Browser returns a client that keeps cookies, like a browser. Its jar already has the given ones
// for URL, with their names and values only.
func (c Clients) Browser(cookies ...*http.Cookie) *http.Client {
	jar, _ := cookiejar.New(nil) // it never fails without options
	if at, err := url.Parse(c.URL); err == nil {
		for _, cookie := range cookies {
			jar.SetCookies(at, []*http.Cookie{{Name: cookie.Name, Value: cookie.Value, Path: "/", Secure: at.Scheme == "https"}})
		}
	}
	return &http.Client{Transport: direct{c.Handler}, Jar: jar}
}

// SignedIn posts body as JSON to a path below URL, and returns the Browser that did so, with the
// cookies of the reply. It returns an error unless the status is 2xx.
func (c Clients) SignedIn(path string, body any) (*http.Client, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("authtest: the body of the login: %w", err)
	}
	browser := c.Browser()
	reply, err := browser.Post(c.URL+path, "application/json", bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("authtest: the login: %w", err)
	}
	defer reply.Body.Close()
	if reply.StatusCode/100 != 2 {
		return nil, fmt.Errorf("authtest: the login was answered with %s", reply.Status)
	}
	return browser, nil
}

// direct is a transport that calls a handler.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	arrived := httptest.NewRequestWithContext(r.Context(), r.Method, r.URL.String(), r.Body)
	// As a server gets it: the URL is in two parts, and the body's length is known.
	arrived.URL.Scheme, arrived.URL.Host = "", ""
	arrived.RequestURI = arrived.URL.RequestURI()
	arrived.Header, arrived.ContentLength = r.Header.Clone(), r.ContentLength
	arrived.Host = cmp.Or(r.Host, arrived.Host)
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, arrived)
	reply := w.Result()
	reply.Request = r
	return reply, nil
}
