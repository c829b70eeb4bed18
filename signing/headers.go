package signing

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/internal/baseurl"
	"github.com/tenantkit/tenantkit/internal/urlpath"
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
	if found, _ := new(signatureInput).find(h[inputHeader], n.Tag); found {
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

// ErrPath is returned by Command for a path that two programs could read differently,
// or that is not below the mount. Command and Verify return it for a command of more
// than 2 KiB.
var ErrPath = errors.New("signing: path is not clean")

var (
	errMount = fmt.Errorf("%w: not below the mount", ErrPath)
	errLong  = fmt.Errorf("%w: command is longer than %d bytes", ErrPath, maxCommand)
)

// maxCommand bounds the length of the message of a MAC. One MAC is computed for each live
// secret of a key, and for two spellings of the command.
const maxCommand = 2 << 10

// Command returns the command of r, which is the part of the path that a signature
// covers. It is the escaped path as it was sent, without the mount (such as
// "/acme/v2", or "" for none). It has a leading slash and no trailing one; the root
// is "/". Nothing is decoded, and the query is not part of it.
//
// A path that is not clean is refused with an error that wraps ErrPath, and is never
// repaired. A clean path has no
//
//   - empty segments or dot segments;
//   - bytes that should have been escaped;
//   - escaped letters, digits, '-', '_' or '.';
//   - control characters or backslashes;
//   - escapes that are not UTF-8.
//
// A command of more than 2 KiB is refused in the same way.
func Command(r *http.Request, mount string) (string, error) {
	escaped, err := escapedPath(r.URL)
	if err != nil {
		return "", err
	}
	return below(escaped, mount)
}

// escapedPath returns the escaped path of a URL, as it was sent. It is empty for a URL
// without one.
func escapedPath(u *url.URL) (string, error) {
	escaped, ok := urlpath.Clean(u)
	if u.Opaque != "" || !ok && u.Path != "" {
		return "", ErrPath
	}
	return escaped, nil
}

// below removes the mount from a clean escaped path.
func below(escaped, mount string) (string, error) {
	resource, ok := baseurl.Below(escaped, mount)
	switch {
	case !ok:
		return "", errMount
	case resource == "" || resource == "/":
		return "/", nil
	}
	command := strings.TrimSuffix(resource, "/")
	if len(command) > maxCommand {
		return "", errLong
	}
	return command, nil
}

// Clients built on the WHATWG URL rules may sign these three characters bare but send
// them escaped.
var bareSpelling = strings.NewReplacer("%7C", "|", "%27", "'", "%5E", "^")
