package signing

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/urlpath"
)

// second is what only a signature of version 2 has.
type second struct {
	input   input
	base    base
	digests digests
}

// parseSecond reads a request of version 2, whose member of Signature-Input was read.
func (v *Verifier) parseSecond(c *credential, r *http.Request, names *prefixed) error {
	s := &c.second
	if !s.input.parseSignature(r.Header) {
		return fmt.Errorf("%w: signature", ErrMalformed)
	}
	if err := s.input.fitsHeaders(r.Header, names); err != nil {
		return err
	}
	s.base.from(r, names, s.input.components)
	if err := v.setBase(&s.base, r); err != nil {
		return err
	}
	s.base.list, s.base.input = s.input.value[1:len(s.input.value)-1], s.input.text
	if err := s.base.check(); err != nil {
		return err
	}
	if s.input.components&coversDigest != 0 && !s.digests.parse(r.Header[digestHeader]) {
		return fmt.Errorf("%w: malformed, or an unknown algorithm", ErrDigest)
	}
	c.account = s.input.components&coversAccount != 0
	c.signed = s.input.created * 1000
	c.use.ClientKey = s.input.keyid
	c.use.Nonce = shortNonce(s.input.nonce)
	c.use.Signature = sha256.Sum256(s.input.signature[:s.input.size])
	return nil
}

// setBase sets the URL that the base names, as the server knows it.
func (v *Verifier) setBase(b *base, r *http.Request) (err error) {
	if b.authority, b.mount, err = splitBase(v.BaseURL); err != nil {
		return err
	}
	if b.path = v.Path; b.path != "" {
		return nil
	}
	var ok bool
	if b.path, ok = urlpath.Clean(r.URL); r.URL.Opaque != "" || !ok && r.URL.Path != "" {
		return ErrPath
	}
	return nil
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

// isExpired reports whether the client itself has set an end that has passed.
func (s *second) isExpired(now time.Time) bool {
	return s.input.expires != 0 && now.After(time.Unix(s.input.expires, 0))
}

// shortNonce maps a nonce to the 16 letters and digits that Replays records. That of
// version 2 differs from every nonce of version 1 that a client can choose on purpose.
func shortNonce(nonce string) string {
	var text [len("v2") + mostNonce]byte
	sum := sha256.Sum256(append(append(text[:0], "v2"...), nonce...))
	var short [nonceLength]byte
	for i := range short {
		short[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(short[:])
}
