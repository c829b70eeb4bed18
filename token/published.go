package token

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/jwks"
)

// PublishedKeys are the public keys of an org's exposed apps, as its server publishes them. With
// these Keys another service verifies tokens for that org, without a store. It asks for one
// org, so its Keys have no Org, and Expect.Org is empty.
//
// The keys are fetched by GET and used for 5 minutes without a question, and for 24 hours if
// the server does not answer. For an unknown kid the server is asked again, once in 10 seconds.
// Calls at the same time share one fetch, which follows no redirect, ends after 5 seconds and
// reads 256 KiB at most. So a key that was replaced may verify for 10 minutes, or 24 hours
// without an answer. Keys that Validate refuses are left out. The fields must not be changed
// once it is in use. It is safe for concurrent use, and must not be copied.
type PublishedKeys struct {
	// URL is that of the PEM file, like https://api.example.com/acme/v2/auth/certs/pem. Its lines
	// name the owner of each key, which a JWK set does not. Required; https.
	URL string

	Base            http.RoundTripper // nil: http.DefaultTransport
	UnsafePlaintext bool              // also http, from a loopback host only

	once sync.Once
	set  jwks.Set
}

// Public implements Keys.
func (p *PublishedKeys) Public(ctx context.Context, kid string) (*PublicKey, error) {
	p.once.Do(func() {
		p.set.URL, p.set.Base, p.set.UnsafePlaintext, p.set.Parse = p.URL, p.Base, p.UnsafePlaintext, parsePEM
	})
	key, err := p.set.Key(ctx, time.Now(), kid)
	if errors.Is(err, jwks.ErrUnknown) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("token: published keys: %w", err)
	}
	return key.About.(*PublicKey), nil
}

var errPublished = errors.New("not a file of public keys in PEM")

// parsePEM reads what PEM writes. It leaves out a block that is no valid key, and keys that occur
// twice, because nothing says which owner is meant.
func parsePEM(text string) (map[string]*jwks.Key, error) {
	if !strings.HasPrefix(text, "# ") {
		return nil, errPublished // such as a page of a proxy: it must not look like an empty file
	}
	keys := map[string]*jwks.Key{}
	for {
		lines, rest, found := strings.Cut(text, pemBegins)
		if !found {
			return keys, nil
		}
		inside, after, ended := strings.Cut(rest, pemEnds)
		// Only this block: after a malformed one, Decode would go on to the key of another owner.
		block, _ := pem.Decode([]byte(pemBegins + inside + pemEnds))
		if !ended || block == nil || strings.Contains(inside, pemBegins) {
			return nil, errPublished
		}
		text = after
		var owner, kid string
		if _, err := fmt.Sscanf(strings.TrimSpace(lines), "# app: %s\n# kid: %s", &owner, &kid); err != nil {
			continue
		}
		public, _ := x509.ParsePKIXPublicKey(block.Bytes)
		rsaKey, _ := public.(*rsa.PublicKey)
		key := &PublicKey{KeyID: kid, ClientKey: owner, Key: rsaKey}
		if key.Validate() != nil {
			continue
		}
		if _, twice := keys[kid]; twice {
			keys[kid] = nil
			continue
		}
		keys[kid] = &jwks.Key{About: key}
	}
}

const (
	pemBegins = "-----BEGIN PUBLIC KEY-----"
	pemEnds   = "-----END PUBLIC KEY-----"
)
