// Package weakkey recognizes public keys that have the right type and length, and that
// nobody should trust. Signatures, tokens of this server and tokens of other issuers
// reject the same ones.
package weakkey

import (
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"slices"
)

// Lengths of a modulus in bits. An attacker could factor a shorter one, and could keep
// verifiers busy with a longer one.
const (
	MinBits = 2048
	MaxBits = 4096

	maxExponent = 1<<31 - 1
)

// CheckRSA returns an error if an RSA key must not verify anything. It costs less than a
// microsecond for nearly all keys.
func CheckRSA(k *rsa.PublicKey) error {
	if k == nil || k.N == nil {
		return errors.New("not an RSA key")
	}
	switch bits := k.N.BitLen(); {
	case bits < MinBits || bits > MaxBits:
		return fmt.Errorf("modulus of %d bits, not %d to %d", bits, MinBits, MaxBits)
	case k.E < 3 || k.E > maxExponent || k.E%2 == 0:
		return errors.New("public exponent is even, less than 3 or larger than 31 bits")
	case HasROCA(k.N):
		return errors.New("modulus can be factored (ROCA, CVE-2017-15361)")
	}
	return nil
}

// HasROCA reports whether a modulus was made by the library of CVE-2017-15361, whose
// keys can be factored. The test is from Nemec, Sys, Svenda, Klinec, Matyas, "The
// Return of Coppersmith's Attack", CCS 2017.
//
// The library's primes are k*M + (65537^a mod M). M is a product of the first primes:
// at least 39, for keys of all lengths. So modulo each of these primes, the modulus
// is a power of 65537. That is also true of one in 2^28 other moduli.
func HasROCA(modulus *big.Int) bool {
	no := func(prime uint) bool { return !isPower(remainder(modulus, prime), prime) }
	return !slices.ContainsFunc(ROCAPrimes[:], no)
}

// ROCAPrimes are the first 39 primes without 2, for which every modulus passes.
var ROCAPrimes = [...]uint{
	3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
	101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
}

// isPower reports whether n is a power of 65537 modulo a prime.
func isPower(n, prime uint) bool {
	for power := uint(1); power != n; {
		if power = power * 65537 % prime; power == 1 { // the powers repeat from here
			return false
		}
	}
	return true
}

// remainder returns n modulo m, without allocating.
func remainder(n *big.Int, m uint) (rest uint) {
	words := n.Bits()
	for i := len(words) - 1; i >= 0; i-- {
		_, rest = bits.Div(rest, uint(words[i]), m)
	}
	return rest
}

// HasSmallOrder reports whether an Ed25519 public key is one of the points whose order
// divides eight, in any of its encodings.
func HasSmallOrder(key ed25519.PublicKey) bool {
	y := [ed25519.PublicKeySize]byte(key)
	y[31] &= 0x7f // the sign of x
	return slices.Contains(smallOrders, hex.EncodeToString(y[:]))
}

// smallOrders are the y coordinates of these points, in little-endian: 0, 1, those of
// order eight, p-1, and the two that are p and p+1 unreduced.
var smallOrders = []string{
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}
