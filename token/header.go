package token

import (
	"errors"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// algorithm is the only one: a header chooses nothing.
const algorithm = "RS256"

var (
	errAlgorithm = errors.New("header alg is not RS256")
	errTyp       = errors.New("header typ is not JWT")
	errKeyID     = errors.New("header kid is not a SHA-256 thumbprint")
	errMember    = errors.New("header member other than alg, kid and typ")
)

// readHeader returns the kid of a header of exactly alg, kid and, if it likes,
// typ. Members that bring keys (jwk, jku, x5c, x5u) or change the processing
// (crit, b64, zip) are refused like any other.
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

// keyIDLength is that of a SHA-256 thumbprint in base64url.
const keyIDLength = 43

// isKeyID holds look-ups of forged headers to one shape, which no store can
// take for anything else.
func isKeyID(kid string) bool {
	return len(kid) == keyIDLength && isBase64URL(kid)
}
