// Package weakkey recognizes public keys that have the right type and length, and that
// nobody should trust. Signatures, tokens of this server and tokens of other issuers
// reject the same ones.
package weakkey

import (
	"crypto/ed25519"
	"encoding/hex"
	"slices"
)

// HasSmallOrder reports whether an Ed25519 public key is one of the points whose order
// divides eight, in any of its encodings.
func HasSmallOrder(key ed25519.PublicKey) bool {
	y := [ed25519.PublicKeySize]byte(key)
	y[31] &= 0x7f // the sign of x
	return slices.Contains(smallOrders[:], y)
}

// smallOrders are the y coordinates of these points, in little-endian: 0, 1, those of
// order eight, p-1, and the two that are p and p+1 unreduced.
var smallOrders = func() (all [7][32]byte) {
	for i, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	} {
		hex.Decode(all[i][:], []byte(text))
	}
	return all
}()
