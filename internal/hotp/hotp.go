// Package hotp computes one-time passwords by a counter (RFC 4226).
package hotp

import (
	"crypto/hmac"
	"encoding/binary"
	"fmt"
	"hash"
)

// Digits is the length of a code.
const Digits = 6

// Code returns the code of a counter (section 5.3).
func Code(sum func() hash.Hash, secret []byte, counter uint64) string {
	mac := hmac.New(sum, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, counter))
	digest := mac.Sum(nil)
	offset := digest[len(digest)-1] & 0xf
	number := binary.BigEndian.Uint32(digest[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", Digits, number%1_000_000)
}
