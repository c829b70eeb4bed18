package token_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/token"
)

const bearer = token.Token("aaaa.bbbb.cccc")

// recorder is the Base of a Transport. It records requests.
type recorder struct{ requests []*http.Request }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.requests = append(r.requests, request)
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: request}, nil
}

// body records whether it was closed.
type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

func TestTransportKeepsToItsBase(t *testing.T) {
	for _, c := range []struct {
		base, url string
		inside    bool
	}{
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v2", true},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v2/c_notes?limit=5", true},
		{"https://api.example.com/acme/v2/", "https://api.example.com/acme/v2/c_notes", true},
		{"https://api.example.com/acme/v2", "https://API.example.com:443/acme/v2/x", true},
		{"https://api.example.com:443", "https://api.example.com/x", true},
		{"http://localhost:8080", "http://localhost:8080/acme/v2", true},
		{"http://api.example.com", "http://api.example.com:80/x", true},
		{"http://[::1]:8080", "http://[::1]:8080/x", true},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v2/a%2Fb", true},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v20", false},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme", false},
		{"https://api.example.com/acme/v2", "https://api.example.com/ACME/v2/x", false},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme%2Fv2/x", false},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v2/../v3/x", false},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v2/%2e%2e/v3", false},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v2/..%2Fv3", false},
		{"https://api.example.com/acme/v2", `https://api.example.com/acme/v2/..%5Cv3`, false},
		{"https://api.example.com/acme/v2", "https://api.example.com/acme/v2/./x", false},
		{"https://api.example.com", "http://api.example.com/", false},
		{"http://api.example.com", "https://api.example.com/", false},
		{"https://api.example.com", "https://api.example.com:8443/", false},
		{"http://api.example.com", "http://api.example.com:443/", false},
		{"https://api.example.com", "https://api.example.com.evil.example/", false},
		{"https://api.example.com", "https://evil.example/api.example.com", false},
		{"https://api.example.com", "https://api.example.com@evil.example/", false},
		{"https://api.example.com", "https://xapi.example.com/", false},
	} {
		t.Run(c.base+" "+c.url, func(t *testing.T) {
			far := &recorder{}
			transport := &token.Transport{BaseURL: c.base, Token: bearer, Base: far}
			sent := &body{Reader: strings.NewReader("x")}
			request, err := http.NewRequest(http.MethodPost, c.url, sent)
			if err != nil {
				t.Fatal(err)
			}
			before := request.Clone(t.Context()).Header
			_, err = transport.RoundTrip(request)
			if diff := cmp.Diff(before, request.Header); diff != "" {
				t.Errorf("the request was changed: %s", diff)
			}
			if !c.inside {
				if !errors.Is(err, token.ErrOutside) || len(far.requests) != 0 || !sent.closed {
					t.Errorf("error %v, %d sent, body closed: %v", err, len(far.requests), sent.closed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"Bearer aaaa.bbbb.cccc"}, far.requests[0].Header["Authorization"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTransportAndRedirects(t *testing.T) {
	var elsewhere []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	var seen []string
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.URL.Path+" "+r.Header.Get("Authorization"))
		switch r.URL.Path {
		case "/v2/near":
			http.Redirect(w, r, "/v2/here", http.StatusTemporaryRedirect)
		case "/v2/out":
			http.Redirect(w, r, "/v3/there", http.StatusTemporaryRedirect)
		case "/v2/far":
			http.Redirect(w, r, other.URL+"/v2/there", http.StatusTemporaryRedirect)
		}
	}))
	defer service.Close()
	client := &http.Client{Transport: &token.Transport{BaseURL: service.URL + "/v2", Token: bearer}}

	for path, outside := range map[string]bool{"/near": false, "/out": true, "/far": true} {
		res, err := client.Post(service.URL+"/v2"+path, "text/plain", strings.NewReader("x"))
		if errors.Is(err, token.ErrOutside) != outside || !outside && err != nil {
			t.Errorf("%s: error %v", path, err)
		}
		if err != nil && strings.Contains(err.Error(), string(bearer)) {
			t.Errorf("%s: error quotes the token: %v", path, err)
		}
		if res != nil {
			res.Body.Close()
		}
	}
	if len(elsewhere) != 0 {
		t.Errorf("P19 requests elsewhere: %q", elsewhere)
	}
	for _, request := range seen {
		if !strings.HasPrefix(request, "/v2/") || !strings.HasSuffix(request, " Bearer aaaa.bbbb.cccc") {
			t.Errorf("request %q", request)
		}
	}
}

func TestTransportRefuses(t *testing.T) {
	const base = "https://api.example.com/acme/v2"
	for name, c := range map[string]struct {
		transport token.Transport
		change    func(*http.Request)
		want      error
	}{
		"no base URL":                    {token.Transport{Token: bearer}, nil, nil},
		"a base URL without a scheme":    {token.Transport{BaseURL: "api.example.com", Token: bearer}, nil, nil},
		"a base URL of another scheme":   {token.Transport{BaseURL: "ftp://api.example.com", Token: bearer}, nil, nil},
		"a base URL with a query":        {token.Transport{BaseURL: base + "?x", Token: bearer}, nil, nil},
		"a base URL with a user":         {token.Transport{BaseURL: "https://u@api.example.com", Token: bearer}, nil, nil},
		"a base URL with dots":           {token.Transport{BaseURL: base + "/../", Token: bearer}, nil, nil},
		"a base URL with a fragment":     {token.Transport{BaseURL: base + "#x", Token: bearer}, nil, nil},
		"a base URL without a host":      {token.Transport{BaseURL: "https:///acme/v2", Token: bearer}, nil, nil},
		"a base URL that does not parse": {token.Transport{BaseURL: "https://a b", Token: bearer}, nil, nil},
		"no source":                      {token.Transport{BaseURL: base}, nil, nil},
		"a source that fails":            {token.Transport{BaseURL: base, Source: failing}, nil, errBroken},
		"a source without a token":       {token.Transport{BaseURL: base, Token: token.Token("")}, nil, nil},
		"a token that breaks the header": {token.Transport{BaseURL: base, Token: token.Token("a\r\nX: y")}, nil, nil},
		"another Host": {token.Transport{BaseURL: base, Token: bearer},
			func(r *http.Request) { r.Host = "evil.example" }, token.ErrOutside},
		"another host in the URL": {token.Transport{BaseURL: base, Token: bearer},
			func(r *http.Request) { r.URL.Host = "evil.example" }, token.ErrOutside},
		"an opaque URL": {token.Transport{BaseURL: base, Token: bearer},
			func(r *http.Request) { r.URL.Opaque = "//evil.example/acme/v2" }, token.ErrOutside},
	} {
		t.Run(name, func(t *testing.T) {
			far := &recorder{}
			c.transport.Base = far
			request, err := http.NewRequest(http.MethodGet, base+"/x", nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.change != nil {
				c.change(request)
			}
			if _, err := c.transport.RoundTrip(request); err == nil || errors.Is(err, token.ErrOutside) != (c.want == token.ErrOutside) || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if len(far.requests) != 0 {
				t.Error("the request was sent")
			}
		})
	}
	t.Run("a request with other headers", func(t *testing.T) {
		far := &recorder{}
		request, err := http.NewRequest(http.MethodGet, base, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Accept": {"text/plain"}, "Authorization": {"Basic x", "Basic y"}}
		if _, err := (&token.Transport{BaseURL: base, Token: bearer, Base: far}).RoundTrip(request); err != nil {
			t.Fatal(err)
		}
		want := http.Header{"Accept": {"text/plain"}, "Authorization": {"Bearer aaaa.bbbb.cccc"}}
		if diff := cmp.Diff(want, far.requests[0].Header); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a request without headers", func(t *testing.T) {
		far := &recorder{}
		request, err := http.NewRequest(http.MethodGet, base, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = nil
		if _, err := (&token.Transport{BaseURL: base, Token: bearer, Base: far}).RoundTrip(request); err != nil {
			t.Fatal(err)
		}
	})
}

func failing(context.Context) (token.Token, error) { return "", errBroken }

// once is a Source that counts its tokens.
type once struct{ asked int }

func (o *once) next(context.Context) (token.Token, error) {
	o.asked++
	return token.Token(strconv.Itoa(o.asked)), nil
}

// TestTransportRepeats: each try has a token of its own, and spends it.
func TestTransportRepeats(t *testing.T) {
	for name, c := range map[string]struct {
		repeats bool
		method  string
		url     string
		tries   int
	}{
		"when asked":               {true, "POST", "/notes", 3},
		"not otherwise":            {false, "POST", "/notes", 1},
		"no other method":          {true, "DELETE", "/notes", 1},
		"nothing that is not sent": {true, "POST", "/../notes", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				keys, tokens, source := map[string]bool{}, map[string]bool{}, &once{}
				lossy := roundTrip(func(r *http.Request) (*http.Response, error) {
					keys[r.Header.Get("Idempotency-Key")], tokens[r.Header.Get("Authorization")] = true, true
					if len(tokens) < 3 {
						return nil, errBroken
					}
					return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
				})
				transport := &token.Transport{BaseURL: "https://api.example.com/acme/v2", Source: source.next, Base: lossy, Repeat: c.repeats}
				r, err := http.NewRequestWithContext(t.Context(), c.method, "https://api.example.com/acme/v2"+c.url, strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				_, err = transport.RoundTrip(r)
				want := errBroken
				switch c.tries {
				case 0:
					want = token.ErrOutside
				case 3:
					want = nil
				}
				if !errors.Is(err, want) || source.asked != c.tries || len(tokens) != c.tries || len(keys) != min(c.tries, 1) || keys[""] && c.repeats && c.method == "POST" {
					t.Errorf("%v, %d tokens, keys %v", err, len(tokens), keys)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
