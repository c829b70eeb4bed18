package signing_test

import (
	"cmp"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// The functions in this file are a small general implementation of RFC 9421. They were
// written from the RFCs and share nothing with the package, so that both check each
// other. They know nothing of the profile.

// The bare items of RFC 8941 as regular expressions.
const (
	sfKey     = `[a-z*][a-z0-9_.*-]*`
	sfString  = `"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"`
	sfNumber  = `-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15})`
	sfToken   = "[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
	sfBytes   = `:[A-Za-z0-9+/=]*:`
	sfBare    = `(?:` + sfString + `|` + sfNumber + `|` + sfToken + `|` + sfBytes + `|\?[01])`
	sfParam   = `; *` + sfKey + `(?:=` + sfBare + `)?`
	sfParams  = `(?:` + sfParam + `)*`
	sfItem    = sfBare + sfParams
	sfInner   = `\( *(?:` + sfItem + `(?: +` + sfItem + `)*)? *\)`
	sfMember  = `(` + sfKey + `)(?:=(` + sfBare + `|` + sfInner + `))?(` + sfParams + `)`
	sfMembers = sfMember + `(?:[ \t]*,[ \t]*|[ \t]*$)`
)

var (
	membersShape = regexp.MustCompile(`^` + sfMembers)
	paramShape   = regexp.MustCompile(`; *(` + sfKey + `)(?:=(` + sfBare + `))?`)
	itemShape    = regexp.MustCompile(`(` + sfBare + `)(` + sfParams + `)`)
)

type sfMemberOf struct{ key, value, params string }

// sfDictionary parses a dictionary. Of members with one key, the last counts.
func sfDictionary(lines []string) (members []sfMemberOf, err error) {
	rest := strings.Trim(strings.Join(lines, ", "), " ")
	for rest != "" {
		m := membersShape.FindStringSubmatch(rest)
		if m == nil || strings.HasSuffix(strings.TrimRight(m[0], " \t"), ",") && len(m[0]) == len(rest) {
			return nil, fmt.Errorf("no dictionary at %q", rest)
		}
		rest = rest[len(m[0]):]
		member := sfMemberOf{m[1], m[2], m[3]}
		if i := slices.IndexFunc(members, func(o sfMemberOf) bool { return o.key == m[1] }); i >= 0 {
			members[i] = member
			continue
		}
		members = append(members, member)
	}
	return members, nil
}

// sfParamsOf parses parameters. Of two with one name, the last counts.
func sfParamsOf(params string) map[string]string {
	all := map[string]string{}
	for _, m := range paramShape.FindAllStringSubmatch(params, -1) {
		all[m[1]] = m[2]
	}
	return all
}

// signatureBase builds a signature base (RFC 9421, section 2.5). authority is what the
// server is called. Components with parameters of their own are not supported.
func signatureBase(r *http.Request, authority string, list, params string) (string, error) {
	var lines []string
	for _, m := range itemShape.FindAllStringSubmatch(strings.Trim(list, "() "), -1) {
		if m[2] != "" {
			return "", fmt.Errorf("parameters of %s", m[1])
		}
		name := strings.Trim(m[1], `"`)
		var value string
		switch name {
		case "@method":
			value = r.Method
		case "@authority":
			value = authority
		case "@path":
			value = cmp.Or(r.URL.EscapedPath(), "/")
		case "@query":
			value = "?" + r.URL.RawQuery
		default:
			values := r.Header.Values(name)
			if len(values) == 0 || strings.HasPrefix(name, "@") || name != strings.ToLower(name) {
				return "", errors.New("no component " + name)
			}
			for i, v := range values {
				values[i] = strings.TrimSpace(v)
			}
			value = strings.Join(values, ", ")
		}
		lines = append(lines, fmt.Sprintf("%q: %s", name, value))
	}
	lines = append(lines, `"@signature-params": `+list+params)
	return strings.Join(lines, "\n"), nil
}

// generalVerify verifies the signature with a tag as a stock library does. It returns
// its parameters.
func generalVerify(r *http.Request, authority, tag string, macKey []byte, public ed25519.PublicKey) (map[string]string, error) {
	inputs, err := sfDictionary(r.Header["Signature-Input"])
	if err != nil {
		return nil, err
	}
	signatures, err := sfDictionary(r.Header["Signature"])
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		params := sfParamsOf(in.params)
		if params["tag"] != `"`+tag+`"` {
			continue
		}
		text, err := signatureBase(r, authority, in.value, in.params)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(signatures, func(s sfMemberOf) bool { return s.key == in.key })
		if i < 0 {
			return nil, errors.New("no signature of the label")
		}
		signature, err := base64.StdEncoding.DecodeString(strings.Trim(signatures[i].value, ":"))
		if err != nil {
			return nil, err
		}
		switch params["alg"] {
		case `"hmac-sha256"`:
			if !hmac.Equal(signature, macOf(macKey, text)) {
				return nil, errors.New("HMAC differs")
			}
		case `"ed25519"`:
			if !ed25519.Verify(public, []byte(text), signature) {
				return nil, errors.New("signature differs")
			}
		default:
			return nil, errors.New("unknown alg")
		}
		return params, nil
	}
	return nil, errors.New("no signature with the tag")
}

func macOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
