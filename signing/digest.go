package signing

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// parse reads the lines of the header. Algorithms that are not known are refused, and so is a
// second value of one: not every reader would check both.
func (d *digests) parse(lines []string) bool {
	for m, ok := range members(lines, nil) {
		var sum []byte
		var has *bool
		switch m.key {
		case "sha-256":
			sum, has = d.sum256[:], &d.has256
		case "sha-512":
			sum, has = d.sum512[:], &d.has512
		}
		if !ok || m.params != "" || has == nil || *has || !parseBytes(sum, m.value) {
			return false
		}
		*has = true
	}
	return d.has256 || d.has512
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
	held := &heldBody{Closer: r.Body}
	body, err := p.readBody(r, held.short[:0])
	switch {
	case err != nil:
		return err
	case !d.match(body):
		return ErrDigest
	}
	held.again.Reset(body)
	r.Body = held
	return nil
}

// heldBody is a body that was read, and is read again. Close closes the connection's.
type heldBody struct {
	again bytes.Reader
	io.Closer
	short [448]byte // a short body, which then needs no allocation of its own; 512 bytes in all
}

func (b *heldBody) Read(p []byte) (int, error) { return b.again.Read(p) }

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

// shortBody is how much memory the announced length of a body takes before it comes.
// Beyond that, memory is at most twice what has come: the length costs its sender
// nothing, and no signature covers it.
const shortBody = 16 << 10

// isShort reports whether a body is at most shortBody bytes long.
func isShort(r *http.Request) bool { return 0 <= r.ContentLength && r.ContentLength <= shortBody }

// readBody reads the body as it was sent, up to the bound. It appends to body, which
// is empty, as far as that has room.
func (p *Policy) readBody(r *http.Request, body []byte) ([]byte, error) {
	most := p.maxBody()
	if r.ContentLength > most {
		return nil, ErrBodyTooLarge
	}
	// One byte more than the length has room for the end, so nothing grows.
	body = slices.Grow(body, int(min(r.ContentLength, shortBody)+1))
	for {
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		_, limited := errors.AsType[*http.MaxBytesError](err)
		switch {
		case limited || int64(len(body)) > most:
			return nil, ErrBodyTooLarge
		case err == io.EOF:
			return body, nil
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrDigest, err)
		case len(body) == cap(body):
			body = append(make([]byte, 0, 2*cap(body)), body...)
		}
	}
}
