package token_test

import (
	"crypto"
	"crypto/fips140"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/token"
)

func publicOf(t testing.TB, key *rsa.PublicKey) *token.PublicKey {
	t.Helper()
	return &token.PublicKey{KeyID: token.Thumbprint(key), ClientKey: appA, Key: key}
}

// rocaPrime makes a prime as the library of CVE-2017-15361 does for keys of 1984 to
// 3936 bits: k*M + (65537^a mod M), where M is the product of the first 126 primes.
func rocaPrime(t testing.TB, a int64, length int) *big.Int {
	t.Helper()
	m := big.NewInt(1)
	for n, found := int64(2), 0; found < 126; n++ {
		if big.NewInt(n).ProbablyPrime(0) {
			m.Mul(m, big.NewInt(n))
			found++
		}
	}
	if m.BitLen() != 971 { // as the paper says, table 1
		t.Fatalf("M of %d bits", m.BitLen())
	}
	rest := new(big.Int).Exp(big.NewInt(65537), big.NewInt(a), m)
	// The two highest bits are set, so that the product is as long as two primes.
	k := new(big.Int).Div(new(big.Int).Lsh(big.NewInt(3), uint(length-2)), m)
	for range 10_000 {
		k.Add(k, big.NewInt(1))
		if p := new(big.Int).Add(new(big.Int).Mul(k, m), rest); p.ProbablyPrime(20) {
			return p
		}
	}
	t.Fatal("no prime")
	return nil
}

func privateOf(p, q *big.Int) *rsa.PrivateKey {
	one := big.NewInt(1)
	phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	return &rsa.PrivateKey{
		PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: 65537},
		D:         new(big.Int).ModInverse(big.NewInt(65537), phi),
		Primes:    []*big.Int{p, q},
	}
}

func TestKeysThatCanBeFactored(t *testing.T) {
	roca := privateOf(rocaPrime(t, 1_234_567, 1024), rocaPrime(t, 89_101_112, 1024))
	for name, refusal := range map[string]func() error{
		"T30 PKCS #1": func() error { _, err := token.ParsePairPEM(pkcs1(roca)); return err },
		"T30 PKCS #8": func() error { _, err := token.ParsePairPEM(pkcs8(t, roca)); return err },
		"T30 signer":  func() error { _, err := token.NewPair(roca); return err },
		"T30 pair made by hand": func() error {
			return (&token.KeyPair{PublicKey: *publicOf(t, &roca.PublicKey), Signer: roca}).Validate()
		},
	} {
		if err := refusal(); !errors.Is(err, token.ErrBadKey) || !strings.Contains(err.Error(), "CVE-2017-15361") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// One such prime alone is not detected: the modulus is then no power of 65537.
	if _, err := token.NewPair(privateOf(rocaPrime(t, 1_234_567, 1024), rsaKeys[0]().Primes[0])); err != nil {
		t.Errorf("a product with another prime: %v", err)
	}
	for i := range rsaKeys {
		if _, err := token.NewPair(rsaKeys[i]()); err != nil {
			t.Errorf("key %d: %v", i, err)
		}
	}
}

// faulty is a signer whose signatures are wrong.
type faulty struct{ *rsa.PrivateKey }

func (f faulty) Sign(random io.Reader, digest []byte, how crypto.SignerOpts) ([]byte, error) {
	signature, err := f.PrivateKey.Sign(random, digest, how)
	if err == nil {
		signature[len(signature)-1] ^= 1
	}
	return signature, err
}

// carmichaelNumber is (6k+1)(12k+1)(18k+1), with three prime factors and 1024 bits. RSA
// works with it as with a prime, but its key can be factored.
func carmichaelNumber(t *testing.T) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString("d878312ed02838b6aa673ad1671baeb805edb17231bc969cac8dce6342b68780"+
		"8dc17efd4436f5ad8a10f5c9d66496ad13d15d4e408b371c783e20db72636f32"+
		"19d1868cebeff71b40d857904dbde6769dfd4930448e547292bf79dfaaed1a86"+
		"eb4f1794ed1905d0494d8aec8391676e46b47bd6b61ee2ecb69587d89ffa0f01", 16)
	if !ok {
		t.Fatal("no number")
	}
	return n
}

func TestKeysThatDoNotSign(t *testing.T) {
	prime := func(bits int) (p *big.Int) {
		var err error
		fips140.WithoutEnforcement(func() { p, err = rand.Prime(rand.Reader, bits) })
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	carmichael := privateOf(carmichaelNumber(t), rsaKeys[0]().Primes[0])
	composite := privateOf(prime(1024), new(big.Int).Mul(prime(512), prime(512)))
	for name, made := range map[string]func() (*token.KeyPair, error){
		"T31 a prime that is none, PKCS #1": func() (*token.KeyPair, error) { return token.ParsePairPEM(pkcs1(composite)) },
		"T31 a prime that is none, PKCS #8": func() (*token.KeyPair, error) { return token.ParsePairPEM(pkcs8(t, composite)) },
		"T31 a Carmichael number, PKCS #1":  func() (*token.KeyPair, error) { return token.ParsePairPEM(pkcs1(carmichael)) },
		"T31 a Carmichael number, PKCS #8":  func() (*token.KeyPair, error) { return token.ParsePairPEM(pkcs8(t, carmichael)) },
		"T31 a signer that fails":           func() (*token.KeyPair, error) { return token.NewPair(imitation{&rsaKeys[0]().PublicKey}) },
		"T31 a signer that is wrong":        func() (*token.KeyPair, error) { return token.NewPair(faulty{rsaKeys[0]()}) },
	} {
		if pair, err := made(); pair != nil || !errors.Is(err, token.ErrBadKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFingerprint compares the test with math/big.
func TestFingerprint(t *testing.T) {
	m := big.NewInt(1)
	for _, prime := range token.ROCAPrimes {
		m.Mul(m, new(big.Int).SetUint64(uint64(prime)))
	}
	power := func(a int64) *big.Int { return new(big.Int).Exp(big.NewInt(65537), big.NewInt(a), m) }
	for _, a := range []int64{0, 1, 2, 65537, 1<<62 - 1} {
		if !token.HasROCA(power(a)) || !token.HasROCA(new(big.Int).Add(power(a), new(big.Int).Lsh(m, 1800))) {
			t.Errorf("65537^%d has no fingerprint", a)
		}
	}
	random, err := rand.Int(rand.Reader, new(big.Int).Lsh(m, 1800))
	if err != nil || token.HasROCA(random) || token.HasROCA(new(big.Int)) {
		t.Errorf("a fingerprint of %v, or of 0: %v", random, err)
	}
}
