package session

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Hasher makes and checks the records that passwords are kept as. Both methods
// are slow on purpose, and the same for each record a Hasher makes. The Manager
// bounds how many run at once.
//
// Implementations are safe for concurrent use.
type Hasher interface {
	// Hash returns a record of the password, with a new salt: text that says
	// how it was made, so that Verify needs nothing else.
	Hash(password string) (encoded string, err error)

	// Verify reports whether the record is of the password, and if so, whether
	// it should be made again as Hash makes them today. A record that it does
	// not understand is of no password. It compares in constant time.
	Verify(encoded, password string) (ok, rehash bool)
}

// PBKDF2 is a Hasher by PBKDF2-HMAC-SHA256 (RFC 8018, section 5.2), with salts
// of 16 bytes and hashes of 32. Records have the form of PHC strings, in which
// salt and hash are base64 without padding:
//
//	$pbkdf2-sha256$i=600000$salt$hash
//
// A password is hashed as the bytes it is given in, at any length; those
// that differ only in NUL bytes at the end are the same to HMAC.
type PBKDF2 struct {
	Iterations int // of new records; those with fewer are made again. 0: 600,000
}

var _ Hasher = PBKDF2{}

const (
	defaultIterations = 600_000

	// maxIterations is what a record may ask for, if Iterations is not more: a
	// few seconds. One that was tampered with, or is broken, cannot ask for a day.
	maxIterations = 10_000_000

	saltLength = 16
	hashLength = sha256.Size
)

func (h PBKDF2) iterations() int {
	if h.Iterations <= 0 {
		return defaultIterations
	}
	return h.Iterations
}

// Hash implements Hasher.
func (h PBKDF2) Hash(password string) (string, error) {
	r := pbkdf2Record{iterations: h.iterations(), salt: make([]byte, saltLength)}
	rand.Read(r.salt) // never fails
	hash, err := r.derive(password)
	if err != nil {
		return "", fmt.Errorf("session: hashing a password: %w", err)
	}
	r.hash = hash
	return r.String(), nil
}

// Verify implements Hasher.
func (h PBKDF2) Verify(encoded, password string) (ok, rehash bool) {
	r, ok := parsePBKDF2(encoded)
	if !ok || r.iterations > max(maxIterations, h.iterations()) {
		return false, false
	}
	hash, err := r.derive(password)
	if err != nil || subtle.ConstantTimeCompare(hash, r.hash) != 1 {
		return false, false
	}
	return true, r.iterations < h.iterations()
}

// pbkdf2Record is a record in its parts.
type pbkdf2Record struct {
	iterations int
	salt, hash []byte
}

func (r pbkdf2Record) derive(password string) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, r.salt, r.iterations, hashLength)
}

const pbkdf2Prefix = "$pbkdf2-sha256$i="

func (r pbkdf2Record) String() string {
	return pbkdf2Prefix + strconv.Itoa(r.iterations) +
		"$" + base64.RawStdEncoding.EncodeToString(r.salt) +
		"$" + base64.RawStdEncoding.EncodeToString(r.hash)
}

// parsePBKDF2 reads a record. There is one way to write each: what does not
// read back as the same text is refused.
func parsePBKDF2(encoded string) (r pbkdf2Record, ok bool) {
	const longest = 128 // bytes; ours have 94
	rest, ok := strings.CutPrefix(encoded, pbkdf2Prefix)
	if !ok || len(encoded) > longest {
		return r, false
	}
	fields := strings.Split(rest, "$")
	if len(fields) != 3 {
		return r, false
	}
	var errs [3]error
	r.iterations, errs[0] = strconv.Atoi(fields[0])
	r.salt, errs[1] = base64.RawStdEncoding.DecodeString(fields[1])
	r.hash, errs[2] = base64.RawStdEncoding.DecodeString(fields[2])
	if errs != [3]error{} || r.iterations < 1 || len(r.salt) != saltLength || len(r.hash) != hashLength {
		return r, false
	}
	return r, r.String() == encoded
}
