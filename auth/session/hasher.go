package session

import (
	"cmp"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Hasher encodes and verifies passwords. Both methods are slow on purpose. They take
// the same time for each encoding that a Hasher makes. The Manager limits how many run
// at once.
//
// Implementations are safe for concurrent use.
type Hasher interface {
	// Hash encodes the password with a new salt. The text also holds the parameters, so
	// that Verify needs nothing else.
	Hash(password string) (encoded string, err error)

	// Verify reports whether encoded was made from the password. If it was, rehash
	// reports whether the password should be encoded again as Hash does now. An
	// encoding that it does not understand matches no password. It compares in constant
	// time.
	Verify(encoded, password string) (ok, rehash bool)
}

// PBKDF2 is a Hasher by PBKDF2-HMAC-SHA256 (RFC 8018, section 5.2), with salts of 16
// bytes and hashes of 32. Encoded passwords are PHC strings, in which salt and hash are
// base64 without padding:
//
//	$pbkdf2-sha256$i=600000$salt$hash
//
// A password is hashed as the bytes it is given in, at any length. Two passwords that
// differ only in NUL bytes at the end are the same to HMAC.
type PBKDF2 struct {
	Iterations int // of new encodings; passwords with fewer are encoded again. 0: 600,000
}

var _ Hasher = PBKDF2{}

const (
	defaultIterations = 600_000

	// maxIterations limits what an encoding may ask for, unless Iterations is higher.
	// It takes a few seconds. An encoding that was tampered with or damaged cannot take
	// a day.
	maxIterations = 10_000_000

	saltLength = 16
	hashLength = sha256.Size
)

func (h PBKDF2) iterations() int { return cmp.Or(max(h.Iterations, 0), defaultIterations) }

// Hash implements Hasher.
func (h PBKDF2) Hash(password string) (string, error) {
	r := pbkdf2Encoding{iterations: h.iterations(), salt: make([]byte, saltLength)}
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

// pbkdf2Encoding is an encoded password in its parts.
type pbkdf2Encoding struct {
	iterations int
	salt, hash []byte
}

func (r pbkdf2Encoding) derive(password string) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, r.salt, r.iterations, hashLength)
}

const pbkdf2Prefix = "$pbkdf2-sha256$i="

func (r pbkdf2Encoding) String() string {
	return pbkdf2Prefix + strconv.Itoa(r.iterations) +
		"$" + base64.RawStdEncoding.EncodeToString(r.salt) +
		"$" + base64.RawStdEncoding.EncodeToString(r.hash)
}

// parsePBKDF2 reads an encoded password. Each has exactly one spelling: other texts are
// refused.
func parsePBKDF2(encoded string) (r pbkdf2Encoding, ok bool) {
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
