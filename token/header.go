package token

import "errors"

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
	err = readObject(text, func(r *reader, name string) (err error) {
		switch name {
		case "alg":
			rs256 = true
			return r.exactly(algorithm, errAlgorithm)
		case "typ":
			return r.exactly("JWT", errTyp)
		case "kid":
			kid, err = r.string()
			return err
		}
		return errMember
	})
	switch {
	case err != nil:
		return "", err
	case !rs256:
		return "", errAlgorithm
	case !isKeyID(kid):
		return "", errKeyID
	}
	return kid, nil
}

func (r *reader) exactly(want string, otherwise error) error {
	s, err := r.string()
	if err != nil {
		return err
	}
	if s != want {
		return otherwise
	}
	return nil
}

// keyIDLength is that of a SHA-256 thumbprint in base64url.
const keyIDLength = 43

// isKeyID holds look-ups of forged headers to one shape, which no store can
// take for anything else.
func isKeyID(kid string) bool {
	return len(kid) == keyIDLength && isBase64URL(kid)
}
