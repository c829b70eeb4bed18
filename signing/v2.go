package signing

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The headers of version 2, in canonical form (RFC 9421 and RFC 9530). They have the
// same names under every prefix.
const (
	inputHeader     = "Signature-Input"
	signatureHeader = "Signature"
	digestHeader    = "Content-Digest"
)

// The algorithms of version 2, by their names in RFC 9421, section 6.2.
const (
	algHMAC    = "hmac-sha256"
	algEd25519 = "ed25519"
)

const (
	leastNonce = 16
	mostNonce  = 128
	maxLabel   = 32
)

// v2 is what a request says in version 2: the member of Signature-Input that is ours,
// what its parameters say, and the values that belong to it.
type v2 struct {
	member
	created   int64 // Unix seconds
	expires   int64 // Unix seconds; 0: not there
	nonce     string
	keyid     string
	alg       string
	covered   components
	signature [64]byte
	size      int // of the signature
	digests   digests
	base      base
}

// parseV2 reads a request of version 2, from the member of Signature-Input that is ours
// to the text that it signs. found is false if there is no such member.
func (v *Verifier) parseV2(c *credential, r *http.Request, names *prefixed) (found bool, err error) {
	s := &c.v2
	if s.member, found, err = findTagged(r.Header[inputHeader], names.Tag); err != nil || !found {
		return found, err
	}
	switch {
	case !isLabel(s.key):
		return true, fmt.Errorf("%w: label", ErrMalformed)
	case !s.covered.parse(s.value, names):
		return true, fmt.Errorf("%w: components", ErrMalformed)
	case !s.parseParams(names.Tag):
		return true, fmt.Errorf("%w: parameters", ErrMalformed)
	case names.hasV1(r.Header):
		return true, fmt.Errorf("%w: signatures of both versions", ErrAmbiguous)
	case v.Policy.Version == 1 || v.BaseURL == "":
		return true, ErrVersion
	case !s.parseSignature(r.Header[signatureHeader]):
		return true, fmt.Errorf("%w: signature", ErrMalformed)
	}
	if err := s.checkHeaders(r.Header, names); err != nil {
		return true, err
	}
	if s.covered.has(coversDigest) && !s.digests.parse(r.Header[digestHeader]) {
		return true, fmt.Errorf("%w: malformed, or an unknown algorithm", ErrDigest)
	}
	c.isV2 = true
	c.account = s.covered.has(coversAccount)
	c.signed = s.created * 1000
	c.use.ClientKey = s.keyid
	c.use.Nonce = shortNonce(s.nonce)
	c.use.Signature = sha256.Sum256(s.signature[:s.size])
	return true, s.base.read(r, v, s, names)
}

// findTagged finds the member of Signature-Input whose tag is that of the prefix. found
// is also true if the header is malformed: nobody can then say that ours is not in it.
func findTagged(lines []string, tag string) (ours member, found bool, err error) {
	if len(lines) == 0 {
		return member{}, false, nil
	}
	if !fits(lines) {
		return member{}, true, fmt.Errorf("%w: Signature-Input is too long", ErrMalformed)
	}
	d := dictionary{lines: lines}
	for {
		m, more, ok := d.next()
		switch {
		case !ok:
			return member{}, true, fmt.Errorf("%w: Signature-Input is no dictionary", ErrMalformed)
		case more && found && m.tagged(tag):
			return member{}, true, fmt.Errorf("%w: two signatures", ErrAmbiguous)
		case more && m.tagged(tag):
			ours, found = m, true
		case !more:
			if _, sole := soleMember(lines, ours.key); found && !sole {
				return member{}, true, fmt.Errorf("%w: two signatures with one label", ErrAmbiguous)
			}
			return ours, found, nil
		}
	}
}

// tagged reports whether a member has this tag, in any form that a careless reader
// takes for it: as one of two tags, or without quotes.
func (m member) tagged(tag string) bool {
	f := fieldReader{m.params}
	for f.rest != "" && strings.Contains(f.rest, tag) {
		key, value, ok := f.param()
		if !ok {
			return false
		}
		if key == "tag" && strings.Trim(value, `"`) == tag {
			return true
		}
	}
	return false
}

func isLabel(s string) bool {
	return fieldKey.holds(s, 1, maxLabel) && 'a' <= s[0] && s[0] <= 'z' && !strings.ContainsAny(s, "*.")
}

// parseParams reads the parameters: known ones, each once, without escapes. What is
// read strictly has only one spelling: that of a serializer (RFC 8941, section 4.1).
func (s *v2) parseParams(ourTag string) bool {
	var tag string
	f := fieldReader{s.params}
	for f.rest != "" {
		if strings.HasPrefix(f.rest, "; ") {
			return false // allowed in a field, but not in what a serializer writes
		}
		name, value, ok := f.param()
		switch name {
		case "created":
			ok = ok && setSeconds(&s.created, value)
		case "expires":
			ok = ok && setSeconds(&s.expires, value)
		case "nonce":
			ok = ok && setText(&s.nonce, value)
		case "keyid":
			ok = ok && setText(&s.keyid, value)
		case "alg":
			ok = ok && setText(&s.alg, value)
		case "tag":
			ok = ok && setText(&tag, value)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return tag == ourTag && s.created != 0 && (s.alg == algHMAC || s.alg == algEd25519) &&
		unquoted.holds(s.nonce, leastNonce, mostNonce) && unquoted.holds(s.keyid, 1, maxClientKey)
}

// setText sets dst to what stands between the quotes of a string, with its escapes. It
// refuses the empty string, and to set dst again.
func setText(dst *string, quoted string) bool {
	if *dst != "" || len(quoted) < 3 || quoted[0] != '"' {
		return false
	}
	*dst = quoted[1 : len(quoted)-1]
	return true
}

// setSeconds sets dst to Unix seconds: an integer above 0, without a sign and without
// leading zeros. It refuses to set dst again.
func setSeconds(dst *int64, s string) (ok bool) {
	if *dst != 0 {
		return false
	}
	*dst, ok = parseNumber(s, 1, 15)
	return ok
}

// parseSignature finds the signature with the label of the input, and decodes it.
func (s *v2) parseSignature(lines []string) bool {
	if s.size = 64; s.alg == algHMAC {
		s.size = 32
	}
	ours, ok := soleMember(lines, s.key)
	return ok && ours.params == "" && parseBytes(s.signature[:s.size], ours.value)
}

// strictBase64 refuses a second spelling of the same bytes.
var strictBase64 = base64.StdEncoding.Strict()

// parseBytes decodes a byte sequence into all of dst.
func parseBytes(dst []byte, value string) bool {
	var text, decoded [96]byte // the base64 of 64 bytes, and more than fits
	size := strictBase64.EncodedLen(len(dst))
	if len(value) != size+2 || value[0] != ':' || value[size+1] != ':' {
		return false
	}
	copy(text[:], value[1:])
	n, err := strictBase64.Decode(decoded[:], text[:size])
	return err == nil && n == len(dst) && copy(dst, decoded[:n]) == n
}

// checkHeaders checks that a header is covered exactly if it is there.
func (s *v2) checkHeaders(h http.Header, names *prefixed) error {
	digest, account, key := h[digestHeader], h[names.Account], h[names.ClientKey]
	switch {
	case max(len(digest), len(account), len(key)) > 1:
		return fmt.Errorf("%w: a header is there twice", ErrAmbiguous)
	case len(key) == 1 && key[0] != s.keyid:
		return fmt.Errorf("%w: two client keys", ErrAmbiguous)
	case !s.covered.areThose(len(digest) > 0, len(account) > 0):
		return fmt.Errorf("%w: components", ErrMalformed)
	case len(account) > 0 && !visible.holds(account[0], 1, maxAccount):
		return fmt.Errorf("%w: account", ErrMalformed)
	}
	return nil
}

// isExpired reports whether the client itself has set an end that has passed.
func (s *v2) isExpired(now time.Time) bool {
	return s.expires != 0 && now.After(time.Unix(s.expires, 0))
}

// shortNonce maps a nonce to the 16 letters and digits that Replays records. That of
// version 2 differs from every nonce of version 1 that a client can choose on purpose.
func shortNonce(nonce string) string {
	var text [len("v2") + mostNonce]byte
	sum := sha256.Sum256(append(append(text[:0], "v2"...), nonce...))
	var short [nonceLength]byte
	for i := range short {
		short[i] = alphabet[int(sum[i])%len(alphabet)]
	}
	return string(short[:])
}

// component is one thing that a signature covers.
type component uint8

const (
	coversMethod component = iota
	coversAuthority
	coversPath
	coversQuery
	coversDigest
	coversAccount
	componentCount
)

// componentNames returns the names of the components, with their quotes.
func componentNames(account string) [componentCount]string {
	return [componentCount]string{`"@method"`, `"@authority"`, `"@path"`, `"@query"`, `"content-digest"`, `"` + strings.ToLower(account) + `"`}
}

// components are what a signature covers, in its order.
type components struct {
	list [componentCount]component
	n    int
}

// parse reads the inner list: known names between single spaces, each once.
func (cs *components) parse(value string, names *prefixed) bool {
	list, opened := strings.CutPrefix(value, "(")
	list, closed := strings.CutSuffix(list, ")")
	if !opened || !closed {
		return false
	}
	for name := range strings.SplitSeq(list, " ") {
		c := slices.Index(names.components[:], name)
		if c < 0 || cs.has(component(c)) {
			return false
		}
		cs.add(component(c))
	}
	return true
}

func (cs *components) add(c component) {
	cs.list[cs.n] = c
	cs.n++
}

func (cs *components) has(c component) bool { return slices.Contains(cs.list[:cs.n], c) }

// areThose reports whether the components are those that a request must have. Each is
// there once.
func (cs *components) areThose(digest, account bool) bool {
	want := int(coversDigest) // those that are always there
	if digest {
		want++
	}
	if account {
		want++
	}
	return cs.n == want && cs.has(coversDigest) == digest && cs.has(coversAccount) == account
}
