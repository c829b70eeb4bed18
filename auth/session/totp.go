package session

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Time-based one-time passwords are those of RFC 6238 as every authenticator
// knows them: SHA-1, six digits, steps of 30 seconds from the Unix epoch.
// What is known against SHA-1 are collisions, which do not touch an HMAC.
const (
	codeDigits  = 6
	codeModulus = 1_000_000
	codePeriod  = 30 // seconds
)

// stepAt returns the time step that t lies in.
func stepAt(t time.Time) int64 { return t.Unix() / codePeriod }

// code returns the code of a time step (RFC 4226, section 5.3).
func code(secret FactorSecret, step int64) string {
	mac := hmac.New(sha1.New, secret)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(step)))
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", codeDigits, number%codeModulus)
}

// match reports whether given is the code of the step that now lies in or of
// one beside it, and of which one. Steps up to after are not accepted: their
// codes may have been used, or seen. Nothing matches an empty secret.
func match(secret FactorSecret, given string, now time.Time, after int64) (step int64, ok bool) {
	if len(secret) == 0 || !isCode(given) {
		return 0, false
	}
	current := stepAt(now)
	// All three are compared, whichever matches. Should two have one code, the
	// later wins, so that it is not accepted again.
	for s := current - 1; s <= current+1; s++ {
		same := subtle.ConstantTimeCompare([]byte(code(secret, s)), []byte(given)) == 1
		if same && s > after {
			step, ok = s, true
		}
	}
	return step, ok
}

// isCode reports whether text has the shape of a code: six ASCII digits.
func isCode(text string) bool {
	if len(text) != codeDigits {
		return false
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// OTPAuth returns the otpauth:// URI by which an authenticator learns a secret,
// most often from a QR code, in the Key URI format. Issuer and account are
// shown to its owner; by that format neither holds a colon. The URI contains
// the secret: it is for the one answer that shows it, not for a log.
func OTPAuth(issuer, account string, secret FactorSecret) string {
	return fmt.Sprintf("otpauth://totp/%s:%s?secret=%s&issuer=%s&algorithm=SHA1&digits=%d&period=%d",
		escaped(issuer), escaped(account),
		base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(secret),
		escaped(issuer), codeDigits, codePeriod)
}

// escaped escapes everything that means something in a URI, a colon too, and
// writes a blank as %20: some authenticators show a plus as it is.
func escaped(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
