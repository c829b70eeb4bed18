package token

import (
	"encoding/base64"
	"errors"

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
