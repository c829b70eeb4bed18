package signing

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

func (t *Transport) version() int {
	if t.Version == 0 && t.Signer != nil {
		return 2
	}
	return max(1, t.Version)
}

// versionFits reports whether Version is a version, and one of the key.
func (t *Transport) versionFits() bool {
	if t.Signer == nil {
		return 0 <= t.Version && t.Version <= 2
	}
	public, ok := t.Signer.Public().(ed25519.PublicKey)
	return ok && len(public) == ed25519.PublicKeySize && t.version() == 2
}

// signV2 sets the headers of a signature of version 2.
func (t *Transport) signV2(r *http.Request, to target, method string) error {
	names := headersFor(t.Header)
	if delete(r.Header, digestHeader); to.digest != "" {
		r.Header.Set(digestHeader, to.digest)
	}
	b := base{authority: to.authority, path: to.path}
	b.from(r, names)
	b.method = method
	alg := algHMAC
	if t.Signer != nil {
		alg = algEd25519
	}
	covered := names.required(to.digest != "", len(r.Header[names.Account]) > 0)
	b.input = "(" + strings.Join(covered, " ") + ");created=" + strconv.FormatInt(to.clock.seconds(t.now()), 10) +
		`;nonce="` + random(keyLength) + `";keyid="` + t.ClientKey + `";alg="` + alg + `";tag="` + names.Tag + `"`
	if err := b.check(); err != nil {
		return err
	}
	signature, err := t.signature(b.append(nil))
	if err != nil {
		return fmt.Errorf("signing: Transport.Signer: %w", err)
	}
	r.Header.Set(inputHeader, "sig="+b.input)
	r.Header.Set(signatureHeader, "sig=:"+base64.StdEncoding.EncodeToString(signature)+":")
	return nil
}

func (t *Transport) signature(base []byte) ([]byte, error) {
	if t.Signer != nil {
		return t.Signer.Sign(rand.Reader, base, crypto.Hash(0))
	}
	return macOf(t.ClientKey, t.Secret, base), nil
}

// digested returns r and the Content-Digest of its body, or "" if it has none. If the
// body cannot be read twice, digested returns a copy of r whose body can.
func digested(r *http.Request) (*http.Request, string, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, "", nil
	}
	if r.GetBody == nil {
		var err error
		if r, err = buffered(r); err != nil {
			return r, "", err
		}
	}
	body, err := r.GetBody()
	if err != nil {
		return r, "", err
	}
	defer body.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, body); err != nil {
		return r, "", err
	}
	return r, "sha-256=:" + base64.StdEncoding.EncodeToString(sum.Sum(nil)) + ":", nil
}

// buffered returns a copy of r with its body in memory.
func buffered(r *http.Request) (*http.Request, error) {
	defer r.Body.Close()
	data, err := io.ReadAll(io.LimitReader(r.Body, defaultMaxBody+1))
	switch {
	case err != nil:
		return r, err
	case len(data) > defaultMaxBody:
		return r, fmt.Errorf("%w: more than 1 MiB without a Request.GetBody", ErrBodyTooLarge)
	}
	r = r.WithContext(r.Context())
	r.ContentLength = int64(len(data))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	r.Body, _ = r.GetBody()
	return r, nil
}
