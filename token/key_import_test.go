package token_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/fips140"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"testing"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenantkit/tenantkit/token"
)

func pkcs8(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func pkcs1(key *rsa.PrivateKey) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

// weak makes a key of fewer bits than crypto/rsa allows.
func weak(t *testing.T, bits int) (key *rsa.PrivateKey) {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	var err error
	fips140.WithoutEnforcement(func() { key, err = rsa.GenerateKey(rand.Reader, bits) })
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestParsePairPEM(t *testing.T) {
	key := rsaKeys[0]()
	for name, text := range map[string][]byte{
		"PKCS #8":                   pkcs8(t, key),
		"PKCS #1":                   pkcs1(key),
		"text around the one block": []byte("# mine\n" + string(pkcs8(t, key)) + "\n# end\n"),
		"16 KiB of text":            append(pkcs8(t, key), make([]byte, 16<<10-len(pkcs8(t, key)))...),
	} {
		pair, err := token.ParsePairPEM(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pair.ClientKey = appA
		if err := pair.Validate(); err != nil || pair.KeyID != kid(t, 0) {
			t.Errorf("%s: %v, kid %q", name, err, pair.KeyID)
		}
	}

	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(pkcs1(key))
	block.Bytes[len(block.Bytes)/2] ^= 1
	for name, text := range map[string][]byte{
		"T18 16384 bits":           pkcs1(huge(key)),
		"T18 512 bits":             pkcs1(weak(t, 512)),
		"T18 1024 bits, PKCS #8":   pkcs8(t, weak(t, 1024)),
		"an elliptic curve":        pkcs8(t, ec),
		"a public key":             pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"two keys":                 append(pkcs8(t, key), pkcs8(t, rsaKeys[1]())...),
		"a key that is altered":    pem.EncodeToMemory(block),
		"a key under another name": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
		"an encrypted key":         pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der}),
		"nothing":                  nil,
		"text":                     []byte("a key"),
		"more than 16 KiB":         append(pkcs8(t, key), make([]byte, 16<<10+1-len(pkcs8(t, key)))...),
		"an empty block":           pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY"}),
	} {
		if pair, err := token.ParsePairPEM(text); pair != nil || !errors.Is(err, token.ErrBadKey) {
			t.Errorf("%s: error %v, want ErrBadKey", name, err)
		}
	}
}

// fromJWK returns the pair of a private key in the form of RFC 7517.
func fromJWK(text string) (*token.KeyPair, error) {
	var key jose.JSONWebKey
	if err := key.UnmarshalJSON([]byte(text)); err != nil {
		return nil, err
	}
	return token.NewPair(key.Key.(*rsa.PrivateKey))
}

func huge(key *rsa.PrivateKey) *rsa.PrivateKey {
	other := *key
	other.PublicKey = *ofBits(16384, 65537)
	return &other
}
