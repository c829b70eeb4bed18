package signing

import (
	"net/http"
	"net/textproto"
	"sync"
)

// DefaultPrefix is the header prefix if none is configured.
const DefaultPrefix = "Service-"

// Headers are the names of the headers under one prefix. They are in canonical form,
// so they may index an http.Header.
type Headers struct {
	ClientKey  string
	Signature  string
	Timestamp  string
	Nonce      string
	Account    string
	ServerTime string
}

// HeadersFor returns the names under a prefix such as "Service-"; "" means
// DefaultPrefix. The names of each prefix are kept for the life of the process. So a
// prefix must come from configuration, not from a request.
func HeadersFor(prefix string) Headers { return *headersFor(prefix) }

// Signed reports whether h presents a signature: whether it has a signature,
// timestamp or nonce header, however malformed. A client key alone is not a
// credential, because clients send it with bearer tokens too.
func (n Headers) Signed(h http.Header) bool {
	return len(h[n.Signature])+len(h[n.Timestamp])+len(h[n.Nonce]) > 0
}

// headerNames holds a *Headers for each prefix in use. Making the canonical names for
// every request would allocate.
var headerNames sync.Map

var defaultHeaders = newHeaders(DefaultPrefix)

func headersFor(prefix string) *Headers {
	if prefix == "" || prefix == DefaultPrefix {
		return defaultHeaders
	}
	if names, ok := headerNames.Load(prefix); ok {
		return names.(*Headers)
	}
	names, _ := headerNames.LoadOrStore(prefix, newHeaders(prefix))
	return names.(*Headers)
}

func newHeaders(prefix string) *Headers {
	return &Headers{
		ClientKey:  textproto.CanonicalMIMEHeaderKey(prefix + "Client-Key"),
		Signature:  textproto.CanonicalMIMEHeaderKey(prefix + "Client-Signature"),
		Timestamp:  textproto.CanonicalMIMEHeaderKey(prefix + "Client-Timestamp"),
		Nonce:      textproto.CanonicalMIMEHeaderKey(prefix + "Client-Nonce"),
		Account:    textproto.CanonicalMIMEHeaderKey(prefix + "Client-Account"),
		ServerTime: textproto.CanonicalMIMEHeaderKey(prefix + "Server-Time"),
	}
}
