package signing

import (
	"net/http"
	"net/textproto"
	"strings"
	"sync"
)

const defaultPrefix = "Service-"

// Headers are the names of the headers under one prefix. They are in canonical form,
// so they may index an http.Header. Version 2 has only the account header of them.
type Headers struct {
	ClientKey  string
	Signature  string
	Timestamp  string
	Nonce      string
	Account    string
	ServerTime string
	Tag        string // of signatures of version 2, such as "service-v2"; no header
}

// HeadersFor returns the names under a prefix such as "Acme-"; "" means
// "Service-". The names of each prefix are kept for the life of the process. So a
// prefix must come from configuration, not from a request.
func HeadersFor(prefix string) Headers { return headersFor(prefix).Headers }

// Version returns the version of the signature that h presents, however malformed, or
// 0 if there is none. A client key alone is not a credential, because clients send it
// with bearer tokens too.
//
// Version 1 has a signature, timestamp or nonce header. Version 2 has a member of
// Signature-Input with the tag of the prefix, such as "service-v2". Signatures with
// other tags are not ours: proxies may add them. For a request with both versions,
// which Verify refuses, the result is 1.
func (n Headers) Version(h http.Header) int {
	if n.hasV1(h) {
		return 1
	}
	if _, found, _ := findTagged(h[inputHeader], n.Tag); found {
		return 2
	}
	return 0
}

// hasV1 reports whether h presents a signature of version 1.
func (n *Headers) hasV1(h http.Header) bool {
	return len(h[n.Signature])+len(h[n.Timestamp])+len(h[n.Nonce]) > 0
}

// prefixed are the names under one prefix, and what is derived from them.
type prefixed struct {
	Headers
	components [6]string // of version 2: the account first and the digest last, so that each may be left out
}

// headerNames holds a *prefixed for each prefix in use. Making the canonical names for
// every request would allocate.
var headerNames sync.Map

var defaultHeaders = newHeaders(defaultPrefix)

func headersFor(prefix string) *prefixed {
	if prefix == "" || prefix == defaultPrefix {
		return defaultHeaders
	}
	if names, ok := headerNames.Load(prefix); ok {
		return names.(*prefixed)
	}
	names, _ := headerNames.LoadOrStore(prefix, newHeaders(prefix))
	return names.(*prefixed)
}

func newHeaders(prefix string) *prefixed {
	name := func(suffix string) string { return textproto.CanonicalMIMEHeaderKey(prefix + suffix) }
	names := Headers{
		ClientKey:  name("Client-Key"),
		Signature:  name("Client-Signature"),
		Timestamp:  name("Client-Timestamp"),
		Nonce:      name("Client-Nonce"),
		Account:    name("Client-Account"),
		ServerTime: name("Server-Time"),
		Tag:        strings.ToLower(prefix) + "v2",
	}
	return &prefixed{names, [6]string{
		`"` + strings.ToLower(names.Account) + `"`, coversMethod, coversAuthority, coversPath, coversQuery, coversDigest,
	}}
}
