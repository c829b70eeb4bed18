package token_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"strings"
	"testing"

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

// imitation is a signer that has only a public key.
type imitation struct{ key crypto.PublicKey }

func (i imitation) Public() crypto.PublicKey { return i.key }
func (imitation) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, errors.New("no key")
}

func ofBits(bits int, e int64) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
	return &rsa.PublicKey{N: n.SetBit(n, 0, 1), E: int(e)}
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
	for _, bits := range []int{2048, 3072, 4096} {
		if err := publicOf(t, ofBits(bits, 65537)).Validate(); err != nil {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	for _, e := range []int64{3, 17, 65537, 1<<31 - 1} {
		if err := publicOf(t, ofBits(2048, e)).Validate(); err != nil {
			t.Errorf("e = %d: %v", e, err)
		}
	}

	for _, clientKey := range []string{"a", strings.Repeat("~", 128), "!"} {
		if err := pairOf(t, 0, clientKey).Validate(); err != nil {
			t.Errorf("client key %q: %v", clientKey, err)
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
	// fmt calls Format; other packages call these methods.
	fmt.Fprintln(&log, secret.String(), secret.GoString(), pair.String(), pair.GoString())
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
