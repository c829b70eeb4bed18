package session

import (
	"crypto/fips140"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"fmt"
	"hash"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tenantkit/tenantkit/internal/hotp"
)

// Parameters of time-based one-time passwords (RFC 6238), as authenticators support
// them: six digits, and steps of 30 seconds from the Unix epoch.
const (
	codeDigits = hotp.Digits
	codePeriod = 30 // seconds
)

// codeHash is the hash function of the HMAC that makes codes. Every authenticator supports SHA-1. Its
// known attacks are collisions, which do not affect HMAC.
type codeHash struct {
	name string // in the Key URI format
	new  func() hash.Hash
}

func (m *Manager) codes() codeHash {
	if m.SHA256Codes {
		return codeHash{"SHA256", sha256.New}
	}
	return codeHash{"SHA1", sha1.New}
}

// newSecret returns a secret as long as the hash, as RFC 4226, section 4 recommends.
func (h codeHash) newSecret() FactorSecret {
	secret := make([]byte, h.new().Size())
	rand.Read(secret)
	return FactorSecret(secret)
}

// code returns the code of a time step (RFC 4226, section 5.3).
func (h codeHash) code(secret FactorSecret, step int64) string {
	return hotp.Code(h.new, []byte(secret), uint64(step))
}

// match reports whether given is the code of the current time step or of an adjacent
// one, and returns that step. Steps up to after are not accepted, because their codes
// may have been used or seen. No code matches an empty secret, or one that crypto/hmac
// refuses.
func (h codeHash) match(secret FactorSecret, given string, now time.Time, after int64) (step int64, ok bool) {
	if secret == "" || tooShort(secret) || !isCode(given) {
		return 0, false
	}
	current := now.Unix() / codePeriod
	// All three are compared, whichever matches. If two steps have the same code, the
	// later one is returned, so that the code is not accepted again.
	for s := current - 1; s <= current+1; s++ {
		same := subtle.ConstantTimeCompare([]byte(h.code(secret, s)), []byte(given)) == 1
		if same && s > after {
			step, ok = s, true
		}
	}
	return step, ok
}

// tooShort reports whether FIPS 140 is enforced and refuses the secret. Such a secret
// was made elsewhere.
func tooShort(secret FactorSecret) bool {
	const least = 14 // bytes; SP 800-131A requires 112 bits
	return len(secret) < least && fips140.Enforced()
}

// isCode reports whether text has the shape of a code: six ASCII digits.
func isCode(text string) bool {
	return len(text) == codeDigits && strings.Trim(text, "0123456789") == ""
}

// Factors.OTPAuth returns the otpauth:// URI from which an authenticator reads the secret,
// usually as a QR code. It has the Key URI format. The authenticator shows issuer and
// account to its owner. That format allows no colon in either of them. The URI contains
// the secret: use it only in the reply that shows it, and never in a log.
func (of Factors) OTPAuth(issuer, account string, secret FactorSecret) string {
	return fmt.Sprintf("otpauth://totp/%s:%s?secret=%s&issuer=%s&algorithm=%s&digits=%d&period=%d",
		escaped(issuer), escaped(account),
		Enrolment{Secret: secret}.Base32(),
		escaped(issuer), of.manager.codes().name, codeDigits, codePeriod)
}

// escaped escapes each character with a meaning in a URI, including the colon. It
// writes a blank as %20, because some authenticators show a plus sign unchanged.
func escaped(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}

const recoveryCodes = 10

// recoveryAlphabet is Crockford's base32 alphabet. It has no I, L, O and U, so that no
// two characters look alike.
var recoveryAlphabet = base32.NewEncoding("0123456789ABCDEFGHJKMNPQRSTVWXYZ").WithPadding(base32.NoPadding)

// newRecovery returns ten recovery codes, and their hashes in the same order. A code is
// 128 random bits, as 26 digits and capital letters in groups of four:
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

// maxRecoveryLength limits the length of an entered code in bytes. It leaves room for
// blanks and dashes.
const maxRecoveryLength = 256

// useRecovery returns a new slice without the hash of code, if that is one of hashes.
// It compares all of them, whichever matches.
func useRecovery(hashes [][32]byte, code string) (left [][32]byte, ok bool) {
	if len(code) > maxRecoveryLength {
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

// normalRecovery reverses changes to a code that was written down and typed in. It
// accepts small letters, and removes blanks and dashes of any kind. It reads I and L as
// 1, and O as 0, because Crockford's alphabet has none of these letters.
func normalRecovery(code string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.Is(unicode.Pd, r):
			return -1
		case strings.ContainsRune("iIlL", r):
			return '1'
		case r == 'o', r == 'O':
			return '0'
		case 'a' <= r && r <= 'z':
			return r + 'A' - 'a'
		}
		return r
	}, code)
}
