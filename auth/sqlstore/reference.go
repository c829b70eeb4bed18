package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// referenced is a signer that Options.Signer returned for a reference. The store keeps the reference
// in place of a private key.
type referenced struct {
	crypto.Signer
	reference string
}

// Sign makes a signature. An HSM that is away makes nothing but the answer unknown.
func (r *referenced) Sign(random io.Reader, digest []byte, o crypto.SignerOpts) ([]byte, error) {
	signature, err := r.Signer.Sign(random, digest, o)
	if err != nil {
		return nil, auth.Unavailable(fmt.Errorf("signer %q: %w", r.reference, err))
	}
	return signature, nil
}

// referencePrefix begins a reference in the column of the sealed private keys. Those are DER, which
// begins with another byte.
var referencePrefix = []byte("reference ")

// PutReference is Put for a private key that stays in an HSM or a KMS: the store keeps its public key
// and the reference, sealed, with which Options.Signer finds the signer again. A reference has 1 to 512
// visible ASCII characters, such as the URI of RFC 7512 or the name of a version of a key in a KMS. It
// is no secret, and errors quote it. One with a pin-value is refused.
//
// PutReference asks Options.Signer for the signer and has it sign once. If it is unknown or away, the
// error names the reference and wraps auth.ErrUnavailable, and nothing is changed. Later that is the
// error of Signer or of the signature, so that such an app gets no token. Its tokens are verified
// meanwhile. A signer of another public key is an error, too. The app's key stays exposed if it was.
// PutReference returns the public key.
//
// Generate, Rotate and Put never bring the key of such an app back into the database: their errors match
// token.ErrBadKey. To do so, call Delete first.
func (k *Keys) PutReference(ctx context.Context, org auth.OrgKey, clientKey, reference string) (*token.PublicKey, error) {
	pair, err := k.pairOf(ctx, reference)
	return k.replace(ctx, org, clientKey, pair, err)
}

// RotateToReference is Rotate, to the private key that a reference names: see PutReference.
func (k *Keys) RotateToReference(ctx context.Context, org auth.OrgKey, clientKey, reference string, overlap time.Duration) (*token.PublicKey, error) {
	return k.rotate(ctx, org, clientKey, overlap, func() (*token.KeyPair, error) { return k.pairOf(ctx, reference) })
}

func (k *Keys) pairOf(ctx context.Context, reference string) (*token.KeyPair, error) {
	notVisible := func(c rune) bool { return c <= ' ' || c > '~' }
	if len(reference) == 0 || len(reference) > 512 || strings.ContainsFunc(reference, notVisible) || strings.Contains(reference, "pin-value") {
		return nil, fmt.Errorf("%w: a reference is 1 to 512 visible ASCII characters without a PIN", token.ErrBadKey)
	}
	signer, err := k.store.signerOf(ctx, reference)
	if err != nil {
		return nil, failed("refer to a key pair", err)
	}
	return token.NewPair(signer)
}

// signerOf returns the signer of a reference, or an error that names the reference.
func (s *Store) signerOf(ctx context.Context, reference string) (crypto.Signer, error) {
	var signer crypto.Signer
	var err error
	if s.options.Signer != nil {
		signer, err = s.options.Signer(ctx, reference)
	}
	if signer == nil {
		err = cmp.Or(err, errors.New("Options.Signer knows none"))
	}
	if err != nil {
		return nil, auth.Unavailable(fmt.Errorf("signer %q: %w", reference, err))
	}
	return &referenced{signer, reference}, nil
}

// keepReference returns an error if pair would bring the key of an app with a reference into the database.
func (k *Keys) keepReference(ctx context.Context, q conn, pair *token.KeyPair) error {
	if _, ok := pair.Signer.(*referenced); ok {
		return nil
	}
	var sealed []byte
	err := q.one(ctx, `SELECT sealed FROM {keys} WHERE client_key = $1 AND org = $2`, []any{pair.ClientKey, pair.Org}, &sealed)
	if found(err, nil) != nil {
		return err
	}
	if secret, _ := k.store.unseal(location{keyPair, pair.Org, pair.ClientKey}, sealed); bytes.HasPrefix(secret, referencePrefix) {
		return fmt.Errorf("%w: the app's private key stays where its reference says, until Delete", token.ErrBadKey)
	}
	return nil
}

// signerIn returns the signer of a private key or a reference, as encode has written it.
func (k *Keys) signerIn(ctx context.Context, secret []byte) (crypto.Signer, error) {
	if reference, ok := bytes.CutPrefix(secret, referencePrefix); ok {
		return k.store.signerOf(ctx, string(reference))
	}
	private, _ := x509.ParsePKCS8PrivateKey(secret)
	signer, ok := private.(crypto.Signer)
	if !ok {
		return nil, errors.New("a private key cannot be read")
	}
	return signer, nil
}
