package weakkey

import (
	"crypto/rsa"
	"errors"
	"fmt"
)

// Lengths of a modulus in bits. An attacker could factor a shorter one, and could keep
// verifiers busy with a longer one.
const (
	MinBits = 2048
	MaxBits = 4096

	maxExponent = 1<<31 - 1
)

var (
	errNotRSA   = errors.New("not an RSA key")
	errExponent = errors.New("public exponent is even, less than 3 or larger than 31 bits")
	errROCA     = errors.New("modulus can be factored (ROCA, CVE-2017-15361)")
)

// CheckRSA returns an error if an RSA key must not verify anything. It costs less than a
// microsecond for nearly all keys.
func CheckRSA(k *rsa.PublicKey) error {
	if k == nil || k.N == nil {
		return errNotRSA
	}
	switch bits := k.N.BitLen(); {
	case bits < MinBits || bits > MaxBits:
		return fmt.Errorf("modulus of %d bits, not %d to %d", bits, MinBits, MaxBits)
	case k.E < 3 || k.E > maxExponent || k.E%2 == 0:
		return errExponent
	case HasROCA(k.N):
		return errROCA
	}
	return nil
}
