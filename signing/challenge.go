package signing

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
)

// The challenge of a refused signature, in WWW-Authenticate. Its error parameter is
// set if the client can succeed by signing again.
const (
	challengeScheme = "Signature"
	refusedStale    = "stale"
	refusedReplayed = "replayed"
	refusedVersion  = "version"
)

// Challenge returns the WWW-Authenticate value of a refusal with an error of Verify, or
// with none. If the Policy accepts version 2, it names the accepted versions.
func (p *Policy) Challenge(err error) string {
	var params []string
	for _, r := range []struct {
		err    error
		reason string
	}{{ErrStale, refusedStale}, {ErrReplayed, refusedReplayed}, {ErrVersion, refusedVersion}} {
		if errors.Is(err, r.err) {
			params = append(params, `error="`+r.reason+`"`)
			break
		}
	}
	switch refused := errors.Is(err, ErrVersion); {
	case p.Version == 2, refused && p.Version == 0: // the key must use version 2
		params = append(params, `versions="2"`)
	case p.Version == 0:
		params = append(params, `versions="1 2"`)
	case refused:
		params = append(params, `versions="1"`)
	}
	return strings.TrimSuffix(challengeScheme+" "+strings.Join(params, ", "), " ")
}

// refusal returns the error parameter of the Signature challenge of a reply, or "" if
// there is none. One header line may hold the challenges of several mechanisms (RFC
// 9110, section 11.6.1).
func refusal(res *http.Response) string {
	if res.StatusCode != http.StatusUnauthorized {
		return ""
	}
	for _, line := range res.Header["Www-Authenticate"] {
		if reason := signatureError(line); reason != "" {
			return reason
		}
	}
	return ""
}

// signatureError reads one line of schemes and parameters between commas. A parameter
// belongs to the last scheme before it.
func signatureError(line string) string {
	scheme := ""
	for _, element := range elements.FindAllString(line, -1) {
		name, value, isParameter := strings.Cut(element, "=")
		name = strings.TrimSpace(name)
		if first, rest, both := strings.Cut(name, " "); both || !isParameter {
			scheme, name = first, strings.TrimSpace(rest)
		}
		if strings.EqualFold(scheme, challengeScheme) && strings.EqualFold(name, "error") {
			return strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return ""
}

// elements are what stands between the commas outside quoted strings.
var elements = regexp.MustCompile(`(?:"(?:\\.|[^"\\])*"?|[^",])+`)
