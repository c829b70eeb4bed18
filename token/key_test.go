package token_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/tenantkit/tenantkit/token"
)

func TestGeneratePair(t *testing.T) {
	for _, bits := range []int{2048, 3072} {
		pair, err := token.GeneratePair(bits)
		if err != nil {
			t.Fatal(err)
		}
		pair.ClientKey = appA
		if err := pair.Validate(); err != nil || pair.Key.N.BitLen() != bits || pair.Key.E != 65537 {
			t.Errorf("%d bits: %v, %d bits, e = %d", bits, err, pair.Key.N.BitLen(), pair.Key.E)
		}
	}
	for _, bits := range []int{0, -1, 512, 1024, 2047, 2049, 8192, 16384} {
		if _, err := token.GeneratePair(bits); !errors.Is(err, token.ErrBadKey) {
			t.Errorf("T18 %d bits: error %v, want ErrBadKey", bits, err)
		}
	}
}

// imitation is a signer of which only the public key exists.
type imitation struct{ key crypto.PublicKey }

func (i imitation) Public() crypto.PublicKey { return i.key }
func (imitation) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("no key")
}

func ofBits(bits, e int) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: e}
}

func TestUnfitKeys(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]crypto.PublicKey{
		"T18 512 bits":      ofBits(512, 65537),
		"T18 1024 bits":     ofBits(1024, 65537),
		"T18 2047 bits":     ofBits(2047, 65537),
		"T18 4097 bits":     ofBits(4097, 65537),
		"T18 16384 bits":    ofBits(16384, 65537),
		"T18 e = 1":         ofBits(2048, 1),
		"T18 e = 0":         ofBits(2048, 0),
		"T18 e negative":    ofBits(2048, -3),
		"T18 e even":        ofBits(2048, 65536),
		"T18 e of 32 bits":  ofBits(2048, 1<<31+1),
		"no modulus":        &rsa.PublicKey{E: 65537},
		"no key":            (*rsa.PublicKey)(nil),
		"an elliptic curve": &ec.PublicKey,
		"nothing":           nil,
	} {
		t.Run(name, func(t *testing.T) {
			if pair, err := token.NewPair(imitation{key}); pair != nil || !errors.Is(err, token.ErrBadKey) {
				t.Errorf("NewPair = %v, want ErrBadKey", err)
			}
			rsaKey, ok := key.(*rsa.PublicKey)
			if !ok {
				return
			}
			public := token.PublicKey{KeyID: kid(t, 0), ClientKey: appA, Key: rsaKey}
			if err := public.Validate(); !errors.Is(err, token.ErrBadKey) {
				t.Errorf("Validate = %v, want ErrBadKey", err)
			}
			if set := string(token.JWKSet([]token.PublicKey{public})); !strings.Contains(set, `"keys":[]`) {
				t.Errorf("JWKSet publishes it: %s", set)
			}
			if text := token.PEM([]token.PublicKey{public}); len(text) != 0 {
				t.Errorf("PEM publishes it: %s", text)
			}
			w := newWorld(t)
			w.verifier.Keys = fixedKey{&public}
			if _, err := w.verify(t, w.token(t)); !errors.Is(err, token.ErrBadKey) {
				t.Errorf("Verify = %v, want ErrBadKey", err)
			}
		})
	}
	for _, e := range []int{3, 17, 65537, 1<<31 - 1} {
		if _, err := token.NewPair(imitation{ofBits(2048, e)}); err != nil {
			t.Errorf("e = %d: %v", e, err)
		}
	}

	for name, change := range map[string]func(*token.KeyPair){
		"no client key":                func(p *token.KeyPair) { p.ClientKey = "" },
		"client key with a line break": func(p *token.KeyPair) { p.ClientKey = "a\n# kid: b" },
		"client key with a blank":      func(p *token.KeyPair) { p.ClientKey = "a b" },
		"client key outside ASCII":     func(p *token.KeyPair) { p.ClientKey = "é" },
		"client key too long":          func(p *token.KeyPair) { p.ClientKey = strings.Repeat("a", 129) },
		"kid of another key":           func(p *token.KeyPair) { p.KeyID = kid(t, 1) },
		"kid that is none":             func(p *token.KeyPair) { p.KeyID = "1" },
		"no signer":                    func(p *token.KeyPair) { p.Signer = nil },
		"signer of another key":        func(p *token.KeyPair) { p.Signer = rsaKeys[1]() },
	} {
		pair := pairOf(t, 0, appA)
		change(pair)
		if err := pair.Validate(); !errors.Is(err, token.ErrBadKey) {
			t.Errorf("%s: Validate = %v, want ErrBadKey", name, err)
		}
	}
}

// fixedKey is a Keys that always has the same answer.
type fixedKey struct{ key *token.PublicKey }

func (f fixedKey) Public(_ context.Context, kid string) (*token.PublicKey, error) {
	if f.key != nil && f.key.KeyID != kid {
		return nil, token.ErrNotFound
	}
	return f.key, nil
}

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

// weak makes a key of fewer bits than crypto/rsa would.
func weak(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	t.Setenv("GODEBUG", "rsa1024min=0")
	key, err := rsa.GenerateKey(rand.Reader, bits)
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
		"16 KiB of text":           append(pkcs8(t, key), make([]byte, 16<<10)...),
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

func TestSecretsDoNotPrint(t *testing.T) {
	pair := pairOf(t, 0, appA)
	secret := token.Token("eyJhbGciOiJSUzI1NiJ9.e30.c2lnbmF0dXJl")
	var log strings.Builder
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "token", secret, "pair", pair, "value", *pair)
	text := slog.New(slog.NewTextHandler(&log, nil))
	text.Info("x", "token", secret, "pair", pair, "value", *pair)
	for _, v := range []any{secret, &secret, pair, *pair, []any{secret, pair}, struct {
		Token token.Token
		Pair  *token.KeyPair
	}{secret, pair}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		log.Write(encoded)
	}
	private := pair.Signer.(*rsa.PrivateKey)
	for _, leak := range []string{
		"eyJhbGci", fmt.Sprintf("%x", "eyJhbGci"), private.D.String()[:16], private.Primes[0].String()[:16],
		private.D.Text(16)[:16], b64(private.D.Bytes())[:16], pair.Key.N.String()[:16],
	} {
		if strings.Contains(log.String(), leak) {
			t.Errorf("printed %s…:\n%s", leak, log.String())
		}
	}
	if !strings.Contains(log.String(), "REDACTED") {
		t.Error("nothing says REDACTED")
	}
}

func TestMemoryKeysGenerate(t *testing.T) {
	var keys token.MemoryKeys
	ctx := t.Context()
	first, err := keys.Generate(ctx, "acme", appA)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Expose(ctx, appA, true); err != nil {
		t.Fatal(err)
	}
	second, err := keys.Generate(ctx, "acme", appA)
	if err != nil {
		t.Fatal(err)
	}
	if first.KeyID == second.KeyID || !second.Exposed || second.Key.N.BitLen() != 2048 {
		t.Errorf("second key is %+v", second)
	}
	if first.Exposed {
		t.Error("a key that was handed out has changed")
	}
	if _, err := keys.Public(ctx, first.KeyID); !errors.Is(err, token.ErrNotFound) {
		t.Errorf("the replaced key: %v, want ErrNotFound", err)
	}
	if _, err := keys.Generate(ctx, "acme", "a b"); !errors.Is(err, token.ErrBadKey) {
		t.Errorf("error %v, want ErrBadKey", err)
	}
}

// counted is a Keys that counts its calls, and can be told to fail or wait.
type counted struct {
	token.Keys
	calls  int
	err    error
	during func()
}

func (c *counted) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	c.calls++
	if c.err != nil {
		return nil, c.err
	}
	k, err := c.Keys.Public(ctx, kid)
	if c.during != nil {
		c.during()
	}
	return k, err
}

func TestCachedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var store token.MemoryKeys
		put := func(i int) {
			if err := store.Put(ctx, pairOf(t, i, appA)); err != nil {
				t.Fatal(err)
			}
		}
		under := &counted{Keys: &store}
		cached := token.Cached(under, 0)
		find := func(i int, want error) {
			t.Helper()
			if k, err := cached.Public(ctx, kid(t, i)); !errors.Is(err, want) || err == nil && k.KeyID != kid(t, i) {
				t.Errorf("Public(%d) = %v, %v, want %v", i, k, err, want)
			}
		}
		calls := func(want int) {
			t.Helper()
			if under.calls != want {
				t.Errorf("%d calls, want %d", under.calls, want)
			}
			under.calls = 0
		}

		put(0)
		for range 10 {
			find(0, nil)
		}
		calls(1)

		put(2) // as another process would
		time.Sleep(2*time.Second - time.Nanosecond)
		find(0, nil)
		calls(0)
		time.Sleep(time.Nanosecond)
		find(0, token.ErrNotFound)
		find(2, nil)
		calls(2)

		put(0)
		cached.Invalidate(appB)
		find(2, nil)
		cached.Invalidate(appA)
		find(2, token.ErrNotFound)
		find(0, nil)
		calls(2)

		under.err = errBroken
		find(0, nil)
		time.Sleep(2 * time.Second)
		find(0, errBroken)
		under.err = nil
		find(0, nil)
		cached.Invalidate(appA)

		// The pair is replaced while it is being looked up.
		under.during = func() {
			under.during = nil
			put(2)
			cached.Invalidate(appA)
		}
		find(0, nil)
		find(0, token.ErrNotFound)
	})

	t.Run("T06 unknown kids take no memory", func(t *testing.T) {
		var store token.MemoryKeys
		cached := token.Cached(&store, time.Hour)
		for i := range 100 {
			if _, err := cached.Public(t.Context(), fmt.Sprint(i)); !errors.Is(err, token.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if n := cached.Len(); n != 0 {
			t.Errorf("%d remembered", n)
		}
	})
	t.Run("known kids take no more than the bound", func(t *testing.T) {
		cached := token.Cached(anyKey{}, time.Hour)
		for i := range token.MaxKeys + 100 {
			if _, err := cached.Public(t.Context(), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := cached.Len(); n != token.MaxKeys {
			t.Errorf("%d remembered, want %d", n, token.MaxKeys)
		}
	})
	t.Run("T22 a second process, with a warm cache, within the staleness", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var store token.MemoryKeys
			if err := store.Put(t.Context(), pairOf(t, 0, appA)); err != nil {
				t.Fatal(err)
			}
			minted, err := (&token.Minter{Signers: &store}).Ephemeral(t.Context(), wanted(), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			second := token.Verifier{Keys: token.Cached(&store, 0), Cache: &token.Cache{}}
			verify := func() error {
				_, err := second.Verify(t.Context(), string(minted), token.Expect{Org: "acme", Audience: audience})
				return err
			}
			if err := verify(); err != nil {
				t.Fatal(err)
			}
			if err := store.Put(t.Context(), pairOf(t, 2, appA)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if err := verify(); !errors.Is(err, token.ErrInvalid) {
				t.Errorf("after 2 seconds: %v, want ErrInvalid", err)
			}
		})
	})
}

// anyKey is a Keys that knows every kid.
type anyKey struct{}

func (anyKey) Public(_ context.Context, kid string) (*token.PublicKey, error) {
	return &token.PublicKey{KeyID: kid, ClientKey: appA}, nil
}
