// Package subdomain serves each org under a host of its own:
// https://acme.example.com/api/v1/notes.
//
// Guard.Resolve finds org, version and path. It reads the Host header, which
// the client writes. That does no harm: it says which org is asked for, as the
// path does elsewhere, and the credential must be of that org. A proxy in front
// must pass the header on.
//
// # What follows
//
// BaseURL stays one for the whole server, and what is made of it stays as it
// is: Tenant.URL, and so the audience of tokens, is
// https://api.example.com/acme/v1, and not the address that clients use. Whoever
// mints takes it from Tenant.URL. It names the org, so that a token of one org
// is never one of another.
//
// A client that signs has the address as its BaseURL: what it signs is the rest
// behind it, /notes, which is what Resolve returns.
//
// Cookies are bound to the host by their prefix __Host-. Subdomains are one site
// to a browser all the same; that a page of one org cannot send requests with
// the cookies of another is the work of the Manager's cross-origin check, which
// needs the Host header, too.
package subdomain

import (
	"net"
	"net/http"
	"strings"
)

// Resolve returns a function for Guard.Resolve of orgs below a domain such as
// "example.com".
func Resolve(domain string) func(*http.Request) (org, version, rest string, ok bool) {
	return func(r *http.Request) (org, version, rest string, ok bool) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		org, ok = strings.CutSuffix(strings.ToLower(host), "."+domain)
		if !ok {
			return "", "", "", false
		}
		// The escaped path: what has been decoded once cannot be told from what
		// was sent so, and a signature is made over what was sent.
		path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/")
		version, rest, _ = strings.Cut(path, "/")
		return org, version, "/" + rest, ok
	}
}
