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

	names   *prefixed
	covered components
	input   string // the value of @signature-params
}

// maxBase is how long a signature base may be.
const maxBase = 32 << 10

// read sets the base of a request, with the URL as the server knows it.
func (b *base) read(r *http.Request, v *Verifier, s *v2, names *prefixed) (err error) {
	b.covered, b.input = s.covered, s.text
	b.from(r, names)
	if b.authority, b.mount, err = splitBase(v.BaseURL); err != nil {
		return err
	}
	if b.path = v.Path; b.path == "" {
		if b.path, err = escapedPath(r.URL); err != nil {
			return err
		}
	}
	return b.check()
}

// from sets the parts of a base that are those of a request.
func (b *base) from(r *http.Request, names *prefixed) {
	b.names, b.method, b.query = names, r.Method, r.URL.RawQuery
	if b.covered.has(coversDigest) {
		b.digest = r.Header[digestHeader][0]
	}
	if b.covered.has(coversAccount) {
		b.account = r.Header[names.Account][0]
	}
}

// splitBase returns the authority of a base URL as signatures cover it, and its path
// without a trailing slash. It does not parse the URL, which would allocate.
func splitBase(text string) (authority, mount string, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	host, _, _ := strings.Cut(rest, "/")
	port := ":443"
	if strings.EqualFold(scheme, "http") {
		port = ":80"
	} else if !strings.EqualFold(scheme, "https") {
		return "", "", errBaseURL
	}
	authority = strings.TrimSuffix(strings.ToLower(host), port)
	if authority == "" || strings.Contains(host, "@") || strings.ContainsAny(rest, "?#") {
		return "", "", errBaseURL
	}
	return authority, strings.TrimSuffix(rest[len(host):], "/"), nil
}

// check refuses what other programs could read as another text.
func (b *base) check() error {
	const rest = 1 << 10 // method, authority, account, and the names of the components
	switch {
	case len(b.path) > maxCommand:
		return errLong
	case !visible.holds(b.query, 0, len(b.query)):
		return fmt.Errorf("%w: a query holds visible ASCII alone", ErrMalformed)
	case len(b.mount)+len(b.path)+len(b.query)+len(b.digest)+len(b.input)+rest > maxBase:
		return fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxBase)
	}
	return nil
}

// append appends the base. Its components are in the order of the list.
func (b *base) append(dst []byte) []byte {
	for _, c := range b.covered.list[:b.covered.n] {
		dst = append(append(dst, b.names.components[c]...), ": "...)
		switch c {
		case coversMethod:
			dst = append(dst, b.method...)
		case coversAuthority:
			dst = append(dst, b.authority...)
		case coversPath:
			if dst = append(append(dst, b.mount...), b.path...); len(b.mount)+len(b.path) == 0 {
				dst = append(dst, '/') // as the path of a URL without one
			}
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
