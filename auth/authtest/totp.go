package authtest

import (
	"crypto/fips140"
	"crypto/sha1"
	"crypto/sha256"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/hotp"
)

// TOTP returns the code that an authenticator shows at a time (RFC 6238): six digits, steps of 30
// seconds. The hash is SHA-256 for a secret of 32 bytes, as of Manager.SHA256Codes, and SHA-1 for
// any other. A server accepts each code once: for the next one, advance the clock by 30 seconds.
func TOTP(secret session.FactorSecret, at time.Time) (code string) {
	sum := sha1.New
	bytes := secret.Reveal()
	if len(bytes) == sha256.Size {
		sum = sha256.New
	}
	// An authenticator is not part of the server, on which FIPS 140 may be enforced.
	fips140.WithoutEnforcement(func() { code = hotp.Code(sum, bytes, uint64(at.Unix()/30)) })
	return code
}
