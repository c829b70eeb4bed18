package signing

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"time"
)

// Holds returns the Key that a secret belongs to: k for a live secret, or the Key of a
// former secret that has not ended. Otherwise it returns nil. It is for a client that
// sends its secret instead of a signature, as OAuth's client_secret_basic does
// (RFC 6749, section 2.3.1).
//
// A nil Key holds no secret. It takes the time of a Key with one secret, so that
// strangers do not learn which client keys exist.
func (k *Key) Holds(secret Secret, now time.Time) *Key {
	known := k
	if k == nil {
		known = nobody()
	}
	// HMAC pads a short key with zeros, so a secret with a NUL at its end would match
	// the same secret without it.
	if secret == "" || strings.HasSuffix(string(secret), "\x00") || checkMACKey(known.clientKey, secret) != nil {
		return nil
	}
	// A Key keeps no secrets, only keyed MACs. Two secrets are the same if they make the
	// same MAC.
	sum := hmac.New(sha256.New, []byte(known.clientKey+string(secret))).Sum(nil)
	by := known.matching(nil, sum, false)
	if k == nil || by == nil || !by.ends.IsZero() && now.After(by.ends) {
		return nil
	}
	return by
}
