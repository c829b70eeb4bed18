package token

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/redacted"
	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Token is a signed token. Whoever has it can use it, so it prints REDACTED, however
// it is printed or encoded; string(t) is the text on the wire. Two cases are not covered,
// because no method is called there: fmt prints an unexported field of a struct, and
// encoding/json writes the key of a map.
type Token = redacted.String[signed]

type signed struct{}

// maxHeader is how many bytes the encoded header of a token may have.
const maxHeader = 1 << 10

// unsplit holds the refusals of tokens that cannot be split, so that these cost nothing.
var unsplit = map[error]error{
	compact.ErrTooLarge: &refusal{compact.ErrTooLarge},
	compact.ErrShape:    &refusal{compact.ErrShape},
	compact.ErrHeader:   &refusal{compact.ErrHeader},
	compact.ErrEncoding: &refusal{compact.ErrEncoding},
}

func split(raw string) (compact.Parts, error) {
	c, err := compact.Split(raw, maxHeader)
	if err == nil {
		return c, nil
	}
	if known := unsplit[err]; known != nil {
		return c, known
	}
	return c, &refusal{err} // never nil: an error that is not listed must not pass
}

func encode(part []byte) string { return base64.RawURLEncoding.EncodeToString(part) }

// algorithm is the only algorithm. A header cannot choose another.
const algorithm = "RS256"

var (
	errAlgorithm = errors.New("header alg is not RS256")
	errTyp       = errors.New("header typ is not JWT")
	errKeyID     = errors.New("header kid is not a SHA-256 thumbprint")
	errMember    = errors.New("header member other than alg, kid and typ")
)

// readHeader returns the kid of a header, which must have exactly alg, kid and,
// optionally, typ. Members with keys (jwk, jku, x5c, x5u) and members that change the
// processing (crit, b64, zip) are refused like any other.
func readHeader(text string) (kid string, err error) {
	rs256 := false
	r := strictjson.New(text, limits)
	for name := range r.Object {
		switch name {
		case "alg":
			rs256 = true
			readExactly(&r, algorithm, errAlgorithm)
		case "typ":
			readExactly(&r, "JWT", errTyp)
		case "kid":
			kid = r.Text()
		default:
			r.Fail(errMember)
		}
	}
	switch err := r.End(); {
	case err != nil:
		return "", err
	case !rs256:
		return "", errAlgorithm
	case !isKeyID(kid):
		return "", errKeyID
	}
	return kid, nil
}

func readExactly(r *strictjson.Reader, want string, otherwise error) {
	if r.Text() != want {
		r.Fail(otherwise)
	}
}

// keyIDLength is the length of a SHA-256 thumbprint in base64url.
const keyIDLength = 43

// isKeyID reports whether kid has the shape of a thumbprint. Headers may be forged,
// and a kid of this shape is safe to look up in any store.
func isKeyID(kid string) bool {
	return ascii.Name.Holds(kid, keyIDLength, keyIDLength)
}

// Errors of this package. The error of a refused token always matches ErrInvalid. It
// may also match ErrExpired, ErrNotYet, ErrKeyMismatch, ErrRevoked or ErrExhausted,
// for callers that may be told more. An error of Verify that does not match ErrInvalid
// says nothing about the token: a store failed, or the Verifier is not set up.
var (
	ErrInvalid     = errors.New("token: invalid")
	ErrExpired     = errors.New("token: expired")
	ErrNotYet      = errors.New("token: not valid yet")
	ErrKeyMismatch = errors.New("token: issued by another client key than the one sent")
	ErrRevoked     = errors.New("token: revoked, or never issued")
	ErrExhausted   = errors.New("token: every use is spent")

	// ErrReused: the token was renewed, and then used after its grace. It matches ErrRevoked, too.
	ErrReused = fmt.Errorf("%w: it was renewed before, so its successors end with it", ErrRevoked)

	ErrNotFound  = errors.New("token: not found")
	ErrTooMany   = errors.New("token: the subject holds the maximum of tokens for this app")
	ErrTooDeep   = errors.New("token: made by a chain of more than 4 tokens")
	ErrNoKeyPair = errors.New("token: the app has no key pair")

	// ErrOverlap: the overlap of a rotation is not 1 second to MaxOverlap. ErrFormers: the
	// app has MaxFormers former keys that still verify, and may not have another.
	ErrOverlap = errors.New("token: an overlap lasts from 1 second to 30 days; for none, use Generate")
	ErrFormers = errors.New("token: 8 former keys of the app still verify: wait until one ends, or use Generate")

	// ErrClaims and ErrScope: a Minter refuses to sign these claims or this scope.
	ErrClaims = errors.New("token: claims cannot be minted")
	ErrScope  = errors.New("token: scope cannot be minted")

	// ErrBadKey: the key may neither sign nor verify here.
	ErrBadKey = errors.New("token: key is not acceptable")
)

// refusal is the error of a refused token. It matches ErrInvalid, and its cause is
// for the log.
type refusal struct{ cause error }

func refuse(reason string) error { return &refusal{errors.New(reason)} }

func (r *refusal) Error() string {
	return ErrInvalid.Error() + ": " + strings.TrimPrefix(r.cause.Error(), "token: ")
}

func (r *refusal) Is(target error) bool { return target == ErrInvalid }

func (r *refusal) Unwrap() error { return r.cause }

// unknownKey is the error of a token whose kid is unknown. It matches what the error
// of Keys matches, so that a caller can recognise an outage. It does not match
// ErrNotFound, because an unknown kid is answered like a bad signature.
type unknownKey struct{ cause error }

func (u *unknownKey) Error() string { return ErrInvalid.Error() + ": kid is unknown" }

func (u *unknownKey) Is(target error) bool {
	return target == ErrInvalid || target != ErrNotFound && errors.Is(u.cause, target)
}
