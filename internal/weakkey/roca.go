package weakkey

import (
	"math/big"
	"math/bits"
)

// HasROCA reports whether a modulus was made by the library of CVE-2017-15361, whose
// keys can be factored. The test is from Nemec, Sys, Svenda, Klinec, Matyas, "The
// Return of Coppersmith's Attack", CCS 2017.
//
// The library's primes are k*M + (65537^a mod M). M is a product of the first primes:
// at least 39, for keys of all lengths. So modulo each of these primes, the modulus
// is a power of 65537, and the exponents agree. That is also true of 2^62 in 2^216
// other moduli (section 2.1).
func HasROCA(modulus *big.Int) bool {
	var found [len(ROCAPrimes)]logarithm
	for i, prime := range ROCAPrimes {
		l, ok := logarithmOf(remainder(modulus, prime), prime)
		if !ok {
			return false
		}
		for _, other := range found[:i] {
			if !l.agrees(other) {
				return false
			}
		}
		found[i] = l
	}
	return true
}

// ROCAPrimes are the first 39 primes without 2, for which every modulus passes.
var ROCAPrimes = [...]uint{
	3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
	101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167,
}

// logarithm is an exponent of 65537 modulo a prime. The exponent plus any multiple of
// the order is one too.
type logarithm struct{ exponent, order uint }

// logarithmOf returns the exponent that gives n modulo prime, and whether there is
// one.
func logarithmOf(n, prime uint) (l logarithm, ok bool) {
	power := uint(1)
	for {
		if power == n {
			l.exponent, ok = l.order, true
		}
		l.order++
		if power = power * 65537 % prime; power == 1 { // the powers repeat from here
			return l, ok
		}
	}
}

// agrees reports whether one exponent fits both logarithms.
func (l logarithm) agrees(with logarithm) bool {
	common, rest := l.order, with.order
	for rest > 0 {
		common, rest = rest, common%rest
	}
	return l.exponent%common == with.exponent%common
}

// remainder returns n modulo m, without allocating.
func remainder(n *big.Int, m uint) (rest uint) {
	words := n.Bits()
	for i := len(words) - 1; i >= 0; i-- {
		_, rest = bits.Div(rest, uint(words[i]), m)
	}
	return rest
}
