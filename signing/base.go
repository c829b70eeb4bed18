package signing

import (
	"fmt"
	"net/http"
	"strings"
)

// base is what a signature of version 2 covers: the signature base of RFC 9421,
// section 2.5. All values come from the request as the server routes it, never from
// what the client says that it has signed.
type base struct {
	method    string
	authority string
	mount     string // the path of the base URL
	path      string // the escaped path below it
	query     string // without its question mark
	digest    string
	account   string
	names     *prefixed

	list  string // the components, without their brackets
	input string // the value of @signature-params
}

// maxBase is how long a signature base may be.
const maxBase = 32 << 10

// append appends the base. Its components are in the order of the list.
func (b *base) append(dst []byte) []byte {
	for name := range strings.SplitSeq(b.list, " ") {
		dst = append(append(dst, name...), ": "...)
		switch b.names.component(name) {
		case coversMethod:
			dst = append(dst, b.method...)
		case coversAuthority:
			dst = append(dst, b.authority...)
		case coversPath:
			dst = b.appendPath(dst)
		case coversQuery:
			dst = append(append(dst, '?'), b.query...)
		case coversDigest:
			dst = append(dst, b.digest...)
		case coversAccount:
			dst = append(dst, b.account...)
		}
		dst = append(dst, '\n')
	}
	return append(append(dst, `"@signature-params": `...), b.input...)
}

// appendPath appends the path of the URL; that of a URL without one is "/".
func (b *base) appendPath(dst []byte) []byte {
	if b.mount == "" && b.path == "" {
		return append(dst, '/')
	}
	return append(append(dst, b.mount...), b.path...)
}

// isTooLong reports whether the base may be longer than maxBase. What is not counted
// here has a bound of its own.
func (b *base) isTooLong() bool {
	const rest = 1 << 10 // method, authority, account and the names
	return len(b.mount)+len(b.path)+len(b.query)+len(b.digest)+len(b.list)+len(b.input)+rest > maxBase
}

// from sets the parts of a base that are those of a request.
func (b *base) from(r *http.Request, names *prefixed, covered component) {
	b.names, b.method, b.query = names, r.Method, r.URL.RawQuery
	if covered&coversDigest != 0 {
		b.digest = r.Header[digestHeader][0]
	}
	if covered&coversAccount != 0 {
		b.account = r.Header[names.Account][0]
	}
}

// check refuses what other programs could read as another text.
func (b *base) check() error {
	switch {
	case len(b.path) > maxCommand:
		return errLong
	case !visible.holds(b.query, 0, len(b.query)):
		return fmt.Errorf("%w: a query holds visible ASCII alone", ErrMalformed)
	case b.isTooLong():
		return fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxBase)
	}
	return nil
}
