package token

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/baseurl"
	"github.com/tenantkit/tenantkit/internal/repeat"
	"github.com/tenantkit/tenantkit/internal/urlpath"
)

// Transport is an http.RoundTripper that adds a bearer token to every request it
// sends.
//
// A request outside BaseURL fails with ErrOutside and is not sent, also when a
// redirect leads there: the token never leaves the service. The fields must not
// change while the Transport is in use. It is safe for concurrent use, and prints
// REDACTED.
type Transport struct {
	hidden

	// BaseURL is the address of the service with its mount, such as
	// "https://api.example.com/acme/v2". Required. Over plain http, an attacker on
	// the network can read the token.
	BaseURL string

	Token Token             // required without Source
	Base  http.RoundTripper // nil: http.DefaultTransport

	// Source gives the token of each request instead. It may renew the token. It must be safe for
	// concurrent use.
	Source func(context.Context) (Token, error)

	// Repeat sends a POST or PATCH again whose answer was lost: after an error of Base, a 502, 503 or 504,
	// and a 409 with Retry-After. There are at most four tries, some hundred milliseconds apart, or what a
	// Retry-After of up to ten seconds asks for. All have one header Idempotency-Key: random, or what the
	// request has. A request whose body cannot be read again (Request.GetBody) is sent once, without a
	// random key.
	//
	// Set it only for a service that knows the header. Another one may execute the request each time.
	// Each try spends a use of a limited token, and asks Source again.
	Repeat bool
}

// ErrOutside is returned by Transport for a request outside its BaseURL.
var ErrOutside = errors.New("token: request is outside the base URL")

// RoundTrip implements http.RoundTripper. Its error matches ErrOutside, wraps the
// error of Source, or is the error of Base. Any other error names the field that is
// not set up, or says that Source returned no token.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	return repeat.Do(t.Repeat, r, t.send)
}

// send sends r once. lost tells whether an error is that of Base.
func (t *Transport) send(r *http.Request) (res *http.Response, lost bool, err error) {
	authorised, err := t.authorise(r)
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, false, err
	}
	res, err = cmp.Or(t.Base, http.DefaultTransport).RoundTrip(authorised)
	return res, err != nil, err
}

// authorise returns a copy of r with the token. A RoundTripper must not change the
// request that it was given.
func (t *Transport) authorise(r *http.Request) (authorised *http.Request, err error) {
	base, ok := baseurl.Parse(t.BaseURL)
	if !ok || !isClean(base.EscapedPath()) {
		return nil, errors.New("token: Transport.BaseURL must be an http or https URL of host and path alone")
	}
	path := r.URL.EscapedPath() // one that is not clean may lead out of the base
	if _, below := baseurl.Below(path, base.EscapedPath()); !below || !baseurl.Has(base, r) || !isClean(path) {
		return nil, ErrOutside
	}
	token := t.Token
	if t.Source != nil {
		if token, err = t.Source(r.Context()); err != nil {
			return nil, fmt.Errorf("token: source: %w", err)
		}
	}
	// Otherwise an error of a later step could quote the token.
	if token == "" || !ascii.Dotted.Only(string(token)) {
		return nil, errors.New("token: Transport has no token")
	}
	authorised = r.Clone(r.Context())
	if authorised.Header == nil {
		authorised.Header = http.Header{}
	}
	authorised.Header.Set("Authorization", "Bearer "+string(token))
	return authorised, nil
}

// isClean reports whether an escaped path is clean. A URL without a path stands for the root.
func isClean(escaped string) bool { return escaped == "" || urlpath.IsClean(escaped) }
