// Package baseurl decides which requests go to a service: those whose URL and Host
// name its origin. Transports send credentials only with these requests. Each
// transport checks the path itself.
package baseurl

import (
	"cmp"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Parse parses the base URL of a service, and reports whether it is valid. It must be
// http or https and have only a host and a path.
func Parse(text string) (base *url.URL, ok bool) {
	u, err := url.Parse(text)
	ok = err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" &&
		u.User == nil && u.RawQuery == "" && u.Fragment == ""
	return u, ok
}

// Origin returns scheme, host and port of a base URL. Equal origins have one
// spelling.
func Origin(base *url.URL) string { return origin(base.Scheme, base.Host) }

// Has reports whether a request goes to the origin of a base URL.
func Has(base *url.URL, r *http.Request) bool {
	if r.URL == nil || r.URL.Opaque != "" {
		return false
	}
	// Host is compared too: behind a shared proxy it decides who gets the request.
	host := cmp.Or(r.Host, r.URL.Host)
	return origin(r.URL.Scheme, r.URL.Host) == Origin(base) && origin(r.URL.Scheme, host) == Origin(base)
}

// Below returns the part of an escaped path below a base path, and whether there is one. It
// is empty or begins with a slash.
func Below(escaped, base string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(escaped, strings.TrimSuffix(base, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}

func origin(scheme, host string) string { return scheme + "://" + Authority(scheme, host) }

// Authority returns a host in lower case, with its port unless that is the default of the scheme.
func Authority(scheme, host string) string {
	port := ":443"
	if scheme == "http" {
		port = ":80"
	}
	return strings.TrimSuffix(strings.ToLower(host), port)
}

// IsLoopback reports whether a host is this machine, whatever the network.
func IsLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
