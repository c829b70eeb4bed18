package token_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/fips140"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"strings"
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

func privateJWK(t *testing.T, key any, changes ...string) []byte {
	t.Helper()
	text, err := jose.JSONWebKey{Key: key}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(changes); i += 2 {
		members[changes[i]] = raw(changes[i+1])
		if changes[i+1] == "" {
			delete(members, changes[i])
		}
	}
	if text, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParsePairJWK(t *testing.T) {
	key := rsaKeys[0]()
	for name, text := range map[string][]byte{
		"bare":                privateJWK(t, key),
		"with all it may say": privateJWK(t, key, "use", `"sig"`, "alg", `"RS256"`, "key_ops", `["verify","sign"]`, "kid", `"mine"`),
		"16 KiB":              append(privateJWK(t, key), []byte(strings.Repeat(" ", 16<<10-len(privateJWK(t, key))))...),
		"key_ops sign":        privateJWK(t, key, "key_ops", `["sign"]`),
	} {
		pair, err := token.ParsePairJWK(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if pair.KeyID != kid(t, 0) || !key.Equal(pair.Signer) {
			t.Errorf("%s: kid %q", name, pair.KeyID)
		}
	}

	t.Run("the values for faster signing are not believed", func(t *testing.T) {
		for _, member := range []string{"dp", "dq", "qi"} {
			pair, err := token.ParsePairJWK(privateJWK(t, key, member, `"AAAA"`))
			if err != nil {
				continue
			}
			if got := pair.Signer.(*rsa.PrivateKey).Precomputed; got.Dp.Cmp(key.Precomputed.Dp) != 0 ||
				got.Dq.Cmp(key.Precomputed.Dq) != 0 || got.Qinv.Cmp(key.Precomputed.Qinv) != 0 {
				t.Errorf("%s was taken over", member)
			}
		}
	})

	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := privateJWK(t, key)
	for name, text := range map[string][]byte{
		"T18 512 bits":         privateJWK(t, weak(t, 512)),
		"T18 1024 bits":        privateJWK(t, weak(t, 1024)),
		"T18 16384 bits":       privateJWK(t, key, "n", `"`+b64(ofBits(16384, 3).N.Bytes())+`"`),
		"T18 e = 1":            privateJWK(t, key, "e", `"AQ"`),
		"T18 e = 2":            privateJWK(t, key, "e", `"Ag"`),
		"T18 another e":        privateJWK(t, key, "e", `"Aw"`),
		"T18 use enc":          privateJWK(t, key, "use", `"enc"`),
		"T18 use null":         privateJWK(t, key, "use", `null`),
		"T18 use empty":        privateJWK(t, key, "use", `""`),
		"T18 alg empty":        privateJWK(t, key, "alg", `""`),
		"T18 key_ops decrypt":  privateJWK(t, key, "key_ops", `["decrypt"]`),
		"T18 key_ops and more": privateJWK(t, key, "key_ops", `["sign","decrypt"]`),
		"T18 key_ops verify":   privateJWK(t, key, "key_ops", `["verify"]`),
		"T18 key_ops twice":    privateJWK(t, key, "key_ops", `["sign","sign"]`),
		"T18 key_ops empty":    privateJWK(t, key, "key_ops", `[]`),
		"T18 key_ops a string": privateJWK(t, key, "key_ops", `"sign"`),
		"T18 alg RS512":        privateJWK(t, key, "alg", `"RS512"`),
		"T18 alg PS256":        privateJWK(t, key, "alg", `"PS256"`),
		"an elliptic curve":    privateJWK(t, ec),
		"a secret":             privateJWK(t, []byte("0123456789abcdef0123456789abcdef")),
		"a public key":         privateJWK(t, &key.PublicKey),
		"another modulus":      privateJWK(t, key, "n", `"`+b64(rsaKeys[1]().N.Bytes())+`"`),
		"no modulus":           privateJWK(t, key, "n", ""),
		"no kty":               privateJWK(t, key, "kty", ""),
		"duplicate members":    append(good[:len(good)-1:len(good)-1], []byte(`,"e":"AQAB"}`)...),
		"trailing data":        append(good[:len(good):len(good)], []byte(`{}`)...),
		"an array":             []byte(`[` + string(good) + `]`),
		"more than 16 KiB":     append(good[:len(good):len(good)], []byte(strings.Repeat(" ", 16<<10+1-len(good)))...),
		"nothing":              nil,
	} {
		pair, err := token.ParsePairJWK(text)
		if pair != nil || !errors.Is(err, token.ErrBadKey) {
			t.Errorf("%s: error %v, want ErrBadKey", name, err)
		}
		if err != nil && strings.Contains(err.Error(), b64(key.D.Bytes())[:16]) {
			t.Errorf("%s: error quotes the key: %v", name, err)
		}
	}
}
