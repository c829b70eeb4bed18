package signing

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Errors of the body of a request of version 2.
var (
	// ErrDigest: there is a body without a Content-Digest, or the header is malformed,
	// has an unknown algorithm, or does not belong to the body that came.
	ErrDigest = errors.New("signing: Content-Digest does not match the body")

	// ErrBodyTooLarge: the body is longer than Policy.MaxBody.
	ErrBodyTooLarge = errors.New("signing: body is too large to verify")
)

// digests are the values of a Content-Digest header (RFC 9530).
type digests struct {
	has256, has512 bool
	sum256         [sha256.Size]byte
	sum512         [sha512.Size]byte
}

// parse reads the header. Algorithms that are not known are refused, and so is a
// second value of one: not every reader would check both.
func (d *digests) parse(value string) bool {
	list := dictionary{lines: []string{value}}
	for {
		m, more, ok := list.next()
		if !ok || !more {
			return ok && (d.has256 || d.has512)
		}
		switch {
		case m.params != "":
			return false
		case m.key == "sha-256" && !d.has256:
			d.has256 = parseBytes(d.sum256[:], m.value)
			ok = d.has256
		case m.key == "sha-512" && !d.has512:
			d.has512 = parseBytes(d.sum512[:], m.value)
			ok = d.has512
		default:
			return false
		}
		if !ok {
			return false
		}
	}
}

// match reports whether all values belong to the body.
func (d *digests) match(body []byte) bool {
	return (!d.has256 || d.sum256 == sha256.Sum256(body)) &&
		(!d.has512 || d.sum512 == sha512.Sum512(body))
}

// checkBody compares the body of r with its digests. If it has any, checkBody reads the
// whole body and puts it back for the handler. Without them, no byte may come.
func (p *Policy) checkBody(r *http.Request, d *digests) error {
	none := r.Body == nil || r.Body == http.NoBody
	switch {
	case none && d.match(nil):
		return nil
	case none:
		return ErrDigest
	case !d.has256 && !d.has512:
		return expectNothing(r.Body)
	}
	body, err := p.readBody(r)
	switch {
	case err != nil:
		return err
	case !d.match(body):
		return ErrDigest
	}
	r.Body = readAgain{bytes.NewReader(body), r.Body}
	return nil
}

// readAgain reads a body that was read before, and closes the connection's.
type readAgain struct {
	io.Reader
	io.Closer
}

// expectNothing refuses a body with a byte in it.
func expectNothing(body io.Reader) error {
	switch n, err := io.ReadFull(body, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("%w: there is none", ErrDigest)
	case err != io.EOF:
		return fmt.Errorf("%w: %w", ErrDigest, err)
	}
	return nil
}

// readBody reads the body as it was sent, up to the bound.
func (p *Policy) readBody(r *http.Request) ([]byte, error) {
	most := cmp.Or(p.MaxBody, defaultMaxBody)
	if r.ContentLength > most {
		return nil, ErrBodyTooLarge
	}
	var body bytes.Buffer
	body.Grow(int(max(0, r.ContentLength)) + bytes.MinRead) // one allocation if the length is known
	_, err := body.ReadFrom(io.LimitReader(r.Body, most+1))
	if _, limited := errors.AsType[*http.MaxBytesError](err); limited || int64(body.Len()) > most {
		return nil, ErrBodyTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDigest, err)
	}
	return body.Bytes(), nil
}
