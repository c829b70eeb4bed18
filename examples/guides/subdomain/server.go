// Package subdomain serves each org under a host of its own:
// https://acme.example.com/api/v1/notes.
//
// Guard.Resolve finds org, version and path. It reads the Host header, which the
// client writes. This is safe: the host only says which org is asked for, as the
// path does elsewhere. The credential must be of that org. A proxy in front must
// pass the header on.
//
// # What follows
//
// The whole server has one BaseURL, and Tenant.URL is made from it. So the audience
// of tokens is https://api.example.com/acme/v1, and not the address that clients
// use. Code that mints tokens takes the audience from Tenant.URL. The URL names the
// org, so that a token of one org is never valid for another.
//
// A client that signs has the address that it calls as its BaseURL, here
// https://acme.example.com/api/v1. In version 1 it signs the rest of the path, /notes.
// Resolve returns the same rest. In version 2 it signs the host too. So Resolve returns
// the authority, made from the org and the domain.
//
// The prefix __Host- binds cookies to the host. To a browser, subdomains are still
// one site. The Manager's cross-origin check keeps a page of one org from sending
// requests with the cookies of another. This check needs the Host header, too.
package subdomain

import (
	"context"
	"net"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// Resolve returns a function for Guard.Resolve, for orgs below a domain such as
// "example.com".
func Resolve(domain string) func(context.Context, *http.Request) (auth.Address, error) {
	return func(_ context.Context, r *http.Request) (auth.Address, error) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		org, below := strings.CutSuffix(strings.ToLower(host), "."+domain)
		// The escaped path: a decoded path does not show what was sent, and a
		// signature covers what was sent.
		path, found := strings.CutPrefix(r.URL.EscapedPath(), "/api/")
		if !below || !found {
			return auth.Address{}, auth.ErrNotFound
		}
		version, rest, _ := strings.Cut(path, "/")
		return auth.Address{Org: org, Version: version, Rest: "/" + rest, Authority: org + "." + domain}, nil
	}
}
