package token

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// maxKeyText is several times the text of the largest acceptable key. The parsers
// check a key before its size is known, which takes long for a huge key.
const maxKeyText = 16 << 10

// primeRounds is the number of Miller-Rabin rounds, before one Baillie-PSW test. A
// Carmichael number instead of a prime passes the trial signature, but its key can be
// factored.
const primeRounds = 20

// ParsePairPEM reads an RSA private key from text, which must have exactly one PEM
// block. The block is PRIVATE KEY (PKCS #8) or RSA PRIVATE KEY (PKCS #1), not
// encrypted. text has at most 16 KiB. Errors match ErrBadKey.
func ParsePairPEM(text []byte) (*KeyPair, error) {
	if len(text) > maxKeyText {
		return nil, badKey("text larger than 16 KiB")
	}
	block, rest := pem.Decode(text)
	if block == nil {
		return nil, badKey("no PEM block")
	}
	if next, _ := pem.Decode(rest); next != nil {
		return nil, badKey("more than one PEM block")
	}
	key, err := parseDER(block)
	if err != nil {
		return nil, badKey(err.Error())
	}
	return privatePair(key)
}

func parseDER(block *pem.Block) (any, error) {
	switch block.Type {
	case "PRIVATE KEY":
		return x509.ParsePKCS8PrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		return x509.ParsePKCS1PrivateKey(block.Bytes)
	}
	return nil, errors.New("PEM block is neither PRIVATE KEY nor RSA PRIVATE KEY")
}

func privatePair(key any) (*KeyPair, error) {
	parsed, ok := key.(*rsa.PrivateKey)
	if !ok {
		return nil, badKey("not an RSA private key")
	}
	if len(parsed.Primes) != 2 {
		return nil, badKey("modulus is not the product of two primes")
	}
	// The values for faster signing are not taken from the text but computed.
	private := &rsa.PrivateKey{PublicKey: parsed.PublicKey, D: parsed.D, Primes: parsed.Primes}
	private.Precompute()
	if err := private.Validate(); err != nil {
		return nil, badKey(err.Error())
	}
	pair, err := NewPair(private) // checks the size before the slow test of the primes
	if err != nil {
		return nil, err
	}
	for _, prime := range private.Primes {
		if !prime.ProbablyPrime(primeRounds) {
			return nil, badKey("a factor of the modulus is not prime")
		}
	}
	return pair, nil
}
