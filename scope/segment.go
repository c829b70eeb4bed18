package scope

import (
	"hash/maphash"
	"math/bits"
	"strings"
)

// secrets key the hash. Each process draws new ones. Chains come from others: without a
// key, they could write a list whose nodes all collide in one slot. Compiling such a
// list, and each check against it, would search the whole list at every step. No hash
// leaves the process, so nothing reveals the secrets. Whoever guessed them could make
// checks slow, but would gain no permission.
var secrets = func() (s [3]uint64) {
	seed := maphash.MakeSeed()
	for i := range s {
		s[i] = maphash.Comparable(seed, i)
	}
	return s
}()

// segment is one segment after the verb, with its hash. The zero segment is no segment.
type segment struct {
	text string
	hash uint64
}

func newSegment(text string) segment {
	if text == "" {
		return segment{}
	}
	return segment{text, hash(text)}
}

var star = newSegment("*")

// childHash returns the hash of a node from the hashes of its parent and of the segment
// between them. A walk computes it from the need alone, so that the processor can load a
// node before it has finished with its parent. A sum would be weaker: segments could be
// exchanged for others without knowledge of the secrets.
func childHash(parent, segment uint64) uint64 { return mix(parent^secrets[1], segment^secrets[2]) }

// hash is wyhash, which Go's maps use where the processor has no AES. It avoids the
// function calls of maphash.
func hash(s string) uint64 {
	h, n := secrets[0], len(s)
	var a, b uint64
	switch {
	case n > 16:
		for t := s; len(t) > 16; t = t[16:] {
			h = mix(load8(t, 0)^secrets[1], load8(t, 8)^h)
		}
		a, b = load8(s, n-16), load8(s, n-8)
	case n >= 8:
		a, b = load8(s, 0), load8(s, n-8)
	case n >= 4:
		a, b = load4(s, 0), load4(s, n-4)
	case n > 0:
		a = uint64(s[0])<<16 | uint64(s[n/2])<<8 | uint64(s[n-1])
	}
	return mix(secrets[2]^a, h^b) ^ uint64(n) // last: before the mix, b could cancel the length
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// cut splits a text at the first separator.
func cut(s string, separator byte) (before, after string, found bool) {
	if i := strings.IndexByte(s, separator); i >= 0 {
		return s[:i], s[i+1:], true
	}
	return s, "", false
}

// class is a set of alphabets that a byte, or some byte of a text, is outside of.
type class uint8

const (
	notLower class = 1 << iota // [a-z0-9_-]
	notName                    // [A-Za-z0-9_-]
	notHex                     // [A-Fa-f0-9]
	notPlain                   // [A-Za-z0-9_-] and the dot
	notToken                   // [A-Za-z0-9_-] and ~:@+=
)

var classes = func() (t [256]class) {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	alphabets := map[class]string{
		notLower: lower + digits + "_-",
		notName:  lower + upper + digits + "_-",
		notHex:   "abcdefABCDEF" + digits,
		notPlain: lower + upper + digits + "_-.",
		notToken: lower + upper + digits + "_-~:@+=",
	}
	for c := range t {
		for not, alphabet := range alphabets {
			if strings.IndexByte(alphabet, byte(c)) < 0 {
				t[c] |= not
			}
		}
	}
	return t
}()

func classify(s string) (c class) {
	for ; len(s) >= 4; s = s[4:] {
		c |= classes[s[0]] | classes[s[1]] | classes[s[2]] | classes[s[3]]
	}
	for i := range len(s) {
		c |= classes[s[i]]
	}
	return c
}

const maxName = 40

func isWord(s string, not class) bool {
	return s != "" && len(s) <= maxName && classify(s)&not == 0
}

func isName(s string) bool { return isWord(s, notName) }

// isRoot reports whether s has the form of a root or a verb.
func isRoot(s string) bool { return isWord(s, notLower) && 'a' <= s[0] && s[0] <= 'z' }

// isObject reports whether s is an object name, with or without a type: c_note,
// c_note#c_memo.
func isObject(s string) (withType, ok bool) {
	if isWord(s, notLower) {
		return false, true
	}
	base, kind, found := cut(s, '#')
	return found, found && isWord(base, notLower) && isWord(kind, notLower)
}

// isProperty reports whether s is one segment of a property path: c_set, c_set[],
// c_set[]#c_foo, c_set#c_foo.
func isProperty(s string) bool {
	return s != "" && isPath(s) && strings.IndexByte(s, '.') < 0
}

// isPath reports whether s is a property path. The empty text is one.
func isPath(s string) bool {
	if s == "" {
		return true
	}
	// Nearly every path is short and has plain names. A list handler checks one for each
	// property of each item, so this case is fast.
	if len(s) <= maxName && classify(s)&notPlain == 0 {
		return strings.IndexByte(s, '.') < 0 || s[0] != '.' && s[len(s)-1] != '.' && !strings.Contains(s, "..")
	}
	segments, run := 1, 0 // run counts the bytes of a name or a type
	listed, typed := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case classes[c]&notName == 0 && run < maxName && !listed:
			run++
		case run == 0:
			return false
		case c == '.':
			segments, run, listed, typed = segments+1, 0, false, false
		case c == '#' && !typed:
			run, listed, typed = 0, false, true
		case !listed && !typed && strings.HasPrefix(s[i:], "[]"):
			listed = true
			i++
		default:
			return false
		}
	}
	return run > 0 && segments <= maxPath
}

// isToken reports whether some grammar could have s as an identifier.
func isToken(s string) bool { return s != "" && classify(s)&notToken == 0 }

// isIdentifier reports whether s is an identifier of the standard grammar: 24 hexadecimal
// digits, or a UUID.
func isIdentifier(s string) bool {
	switch len(s) {
	case 24:
		return hex8(load8(s, 0))&hex8(load8(s, 8))&hex8(load8(s, 16)) == highs
	case 36:
		return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
			hex8(load8(s, 0))&hex8(load4(s, 9)|load4(s, 14)<<32)&hex8(load4(s, 19)|load4(s, 24)<<32)&hex8(load8(s, 28)) == highs
	}
	return false
}

const ones, highs = 0x0101010101010101, 0x8080808080808080

// hex8 sets the high bit of each of the eight bytes that is a hexadecimal digit. If some
// byte is not ASCII, at least one high bit is clear. Adding 0x80-c sets the high bit of
// each ASCII byte that is at least c.
func hex8(w uint64) uint64 {
	letter := w | ('a'^'A')*ones
	digits := (w + (0x80-'0')*ones) &^ (w + (0x80-'9'-1)*ones)
	letters := (letter + (0x80-'a')*ones) &^ (letter + (0x80-'f'-1)*ones)
	return (digits | letters) & highs &^ w
}

// load8 reads eight bytes of s at once.
func load8(s string, at int) uint64 {
	s = s[at : at+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func load4(s string, at int) uint64 {
	s = s[at : at+4]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}
