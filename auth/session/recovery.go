package session

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"slices"
	"strings"
	"unicode"
)

const recoveryCodes = 10

// recoveryAlphabet is Crockford's, in which no two letters look alike: there
// is no I, L, O and U.
var recoveryAlphabet = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// newRecovery makes ten recovery codes, and their hashes in the same order. A
// code is 128 random bits, as 26 digits and capital letters in groups of four:
// 7ZK3-0QPA-XW4M-1D9H-R6TV-2BCE-G8.
func newRecovery() (codes []string, hashes [][32]byte) {
	for range recoveryCodes {
		var bits [16]byte
		rand.Read(bits[:]) // never fails
		text := recoveryAlphabet.EncodeToString(bits[:])
		codes = append(codes, grouped(text))
		hashes = append(hashes, sha256.Sum256([]byte(text)))
	}
	return codes, hashes
}

func grouped(text string) string {
	var groups []string
	for group := range slices.Chunk([]byte(text), 4) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, "-")
}

// longestRecovery bounds what is read of an entry, in bytes: a code with room
// for whatever blanks came with it.
const longestRecovery = 256

// useRecovery returns the hashes but for that of code, in a new slice, if code
// is one of them. All are compared, whichever it is.
func useRecovery(hashes [][32]byte, code string) (left [][32]byte, ok bool) {
	if len(code) > longestRecovery {
		return hashes, false
	}
	given := sha256.Sum256([]byte(normalRecovery(code)))
	found := -1
	for i := range hashes {
		same := subtle.ConstantTimeCompare(hashes[i][:], given[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return hashes, false
	}
	return slices.Delete(slices.Clone(hashes), found, found+1), true
}

// normalRecovery undoes what happens to a code on paper and on its way back:
// small letters, blanks, dashes of any kind or none, and the three letters that
// Crockford's alphabet leaves out because they are read as digits.
func normalRecovery(code string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.Is(unicode.Pd, r):
			return -1
		case 'a' <= r && r <= 'z':
			r += 'A' - 'a'
		}
		switch r {
		case 'I', 'L':
			return '1'
		case 'O':
			return '0'
		}
		return r
	}, code)
}
