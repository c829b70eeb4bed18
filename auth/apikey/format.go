package apikey

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"

	"github.com/tenantkit/tenantkit/internal/redacted"
)

// Format is the shape of the keys of one kind:
//
//	acme_live_<id 13><secret 32><check 7>
//
// The characters after the prefix are base32 in lower case, without i, l, o and u, which look like
// others. The only "_" are in the prefix and behind it, so that a double click selects all of a key.
// The id is public. The secret has 160 random bits. The check is the CRC-32 (IEEE) of everything
// before it, most significant bits first: it finds a typo without a look-up, and proves nothing.
type Format struct {
	// Prefix tells this deployment's keys from others: required, [a-z][a-z0-9]*(_[a-z0-9]+)*, at most
	// 32 bytes. Name the product and what the keys are for: acme_live and acme_test.
	Prefix string
}

const (
	alphabet  = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's
	class     = "[0-9a-hjkmnp-tv-z]"
	idSize    = 13
	secretEnd = idSize + 32
	bodySize  = secretEnd + 7
	maxPrefix = 32
	maxSize   = maxPrefix + 1 + bodySize
)

var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

func (f Format) valid() bool { return len(f.Prefix) <= maxPrefix && validPrefix.MatchString(f.Prefix) }

// parse returns the record of a new key: its Prefix, ID and Hash. It reports whether the string is a key:
// the prefix, the length, the characters and the checksum are right. It looks nothing up.
func (f Format) parse(text string) (r Record, ok bool) {
	if len(text) != len(f.Prefix)+1+bodySize || !f.begins(text) {
		return r, false
	}
	body := text[len(f.Prefix)+1:]
	end := len(text) - bodySize + secretEnd
	wrong := func(c rune) bool { return !strings.ContainsRune(alphabet, c) }
	if strings.ContainsFunc(body[:secretEnd], wrong) || checksum(text[:end]) != text[end:] {
		return r, false
	}
	// A hash is enough for 160 random bits.
	return Record{Grant: Grant{Prefix: f.Prefix}, ID: body[:idSize], Hash: sha256.Sum256([]byte(body[idSize:secretEnd]))}, true
}

// begins reports whether a text can only be a key of this format, well-formed or not.
func (f Format) begins(text string) bool {
	return len(text) > len(f.Prefix) && text[len(f.Prefix)] == '_' && text[:len(f.Prefix)] == f.Prefix
}

// Regexp returns an expression that matches the keys of this format inside other text, and nothing
// else but texts of the same shape with a wrong checksum. Its String is for secret scanners.
func (f Format) Regexp() *regexp.Regexp {
	// The first of the seven characters of the check has the two bits that are left of 32.
	return regexp.MustCompile(fmt.Sprintf(`\b%s_%s{%d}[0-3]%s{6}\b`, f.Prefix, class, secretEnd, class))
}

// Generate returns a new random key, and a record of its Prefix, ID and Hash. It is for an application
// that makes a key without a caller, such as the first one of a deployment: it completes the record
// for Store.Add, which decides nothing. Keys.Make judges a caller.
func (f Format) Generate() (Key, Record) {
	var random [secretEnd]byte
	rand.Read(random[:]) // never fails
	for i, b := range random {
		random[i] = alphabet[b&31]
	}
	text := f.Prefix + "_" + string(random[:])
	text += checksum(text)
	r, _ := f.parse(text)
	return Key(text), r
}

// checksum returns the CRC-32 of a string in base32.
func checksum(text string) string {
	var sum [bodySize - secretEnd]byte
	for i, crc := len(sum)-1, crc32.ChecksumIEEE([]byte(text)); i >= 0; i, crc = i-1, crc>>5 {
		sum[i] = alphabet[crc&31]
	}
	return string(sum[:])
}

// Key is the text that a client sends, as Make returns it. Show it once, as string(key),
// and keep it nowhere: it prints REDACTED, as a token.Token does.
type Key = redacted.String[key]

type key struct{}
