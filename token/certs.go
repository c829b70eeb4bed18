package token

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/jwks"
)

// jwk is an RSA public key in the form of RFC 7517 and RFC 7518 section 6.3.1. It has
// no field for a private member.
type jwk struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

// jwkItem is a jwk as an item of a list.
type jwkItem struct {
	ID     string `json:"_id"`
	Object string `json:"object"`
	jwk
}

// jwkSet is a list envelope and an RFC 7517 set in one document.
type jwkSet struct {
	Object  string    `json:"object"`
	Data    []jwkItem `json:"data"`
	HasMore bool      `json:"hasMore"`
	Keys    []jwk     `json:"keys"`
}

// JWKSet writes public keys as one JSON document. It is both a list of section 2.1 of
// the interface and a set of RFC 7517:
//
//	{"object":"list","data":[…],"hasMore":false,"keys":[…]}
//
// An item of data is the JWK with two more members: _id, which is its kid, and
// object, which is "jwk". Keys that are not valid are left out.
func JWKSet(keys []PublicKey) []byte {
	set := jwkSet{Object: "list", Data: []jwkItem{}, Keys: []jwk{}}
	for _, k := range keys {
		if k.check() != nil {
			continue
		}
		bare := jwk{
			KeyType: "RSA", Use: "sig", Algorithm: algorithm, KeyID: k.KeyID,
			Modulus: encode(k.Key.N.Bytes()), Exponent: encode(big.NewInt(int64(k.Key.E)).Bytes()),
		}
		set.Data = append(set.Data, jwkItem{k.KeyID, "jwk", bare})
		set.Keys = append(set.Keys, bare)
	}
	text, _ := json.Marshal(set) // strings and a boolean always marshal
	return text
}

// PEM writes public keys as blocks of type PUBLIC KEY (PKIX). Two lines above each
// block name its owner:
//
//	# app: <client key>
//	# kid: <key id>
//
// Keys that are not valid are left out, so that no client key can add a line of its
// own.
func PEM(keys []PublicKey) []byte {
	var text bytes.Buffer
	for _, k := range keys {
		if k.check() != nil {
			continue
		}
		der, err := x509.MarshalPKIXPublicKey(k.Key)
		if err != nil {
			continue
		}
		text.WriteString("# app: " + k.ClientKey + "\n# kid: " + k.KeyID + "\n")
		pem.Encode(&text, &pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	return text.Bytes()
}

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
