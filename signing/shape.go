package signing

import "crypto/sha256"

// class is a set of ASCII characters. What is not ASCII is in none.
type class uint8

const (
	visible class = 1 << iota // '!' to '~'
	alphanumeric
)

var classOf = func() (classes [256]class) {
	for c := '!'; c <= '~'; c++ {
		classes[c] |= visible
	}
	for _, c := range alphabet {
		classes[c] |= alphanumeric
	}
	return classes
}()

// holds reports whether s is least to most characters of the class. Random text,
// as nonces and keys are, makes branches slow; there is none in the loop.
func (c class) holds(s string, least, most int) bool {
	if len(s) < least || len(s) > most {
		return false
	}
	for i := range len(s) {
		c &= classOf[s[i]]
	}
	return c != 0
}

// parseMillis reads Unix milliseconds: 12 to 15 decimal digits without a leading
// zero, the years 1973 to 33658. Fifteen digits cannot overflow.
func parseMillis(s string) (ms int64, ok bool) {
	if len(s) < 12 || len(s) > 15 || s[0] == '0' {
		return 0, false
	}
	for i := range len(s) {
		digit := s[i] - '0'
		if digit > 9 {
			return 0, false
		}
		ms = ms*10 + int64(digit)
	}
	return ms, true
}

// parseSignature reads 64 lower-case hexadecimal digits, two bytes at a time.
func parseSignature(sum *[sha256.Size]byte, s string) bool {
	if len(s) != 2*len(sum) {
		return false
	}
	var seen byte
	for i := 0; i < len(sum)-1 && len(s) >= 4; i += 2 {
		a, b, c, d := lowerHex[s[0]], lowerHex[s[1]], lowerHex[s[2]], lowerHex[s[3]]
		seen |= a | b | c | d
		sum[i], sum[i+1] = a<<4|b, c<<4|d
		s = s[4:]
	}
	return seen < notHex
}

// lowerHex gives the value of each lower-case hexadecimal digit, and notHex for
// all other bytes.
var lowerHex = func() (values [256]byte) {
	for c := range values {
		values[c] = notHex
	}
	for value, c := range []byte("0123456789abcdef") {
		values[c] = byte(value)
	}
	return values
}()

const notHex = 0x80
