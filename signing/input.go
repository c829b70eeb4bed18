package signing

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// The headers of version 2, in canonical form (RFC 9421 and RFC 9530). They have the
// same names under every prefix.
const (
	inputHeader     = "Signature-Input"
	signatureHeader = "Signature"
	digestHeader    = "Content-Digest"
)

// input is the member of Signature-Input that is ours, and what its parameters say.
type input struct {
	member
	created    int64 // Unix seconds
	expires    int64 // Unix seconds; 0: not there
	nonce      string
	keyid      string
	alg        string
	signature  [64]byte
	size       int // of the signature
	components component
}

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

// component is a set of the components that a signature covers.
type component uint8

const (
	coversMethod component = 1 << iota
	coversAuthority
	coversPath
	coversQuery
	coversDigest
	coversAccount

	coversAlways = coversMethod | coversAuthority | coversPath | coversQuery
)

// findInput finds the member of Signature-Input whose tag is that of the prefix. found
// is also true if the header is malformed: nobody can then say that ours is not in it.
func findInput(h http.Header, tag string) (ours member, found bool, err error) {
	lines := h[inputHeader]
	if len(lines) == 0 {
		return member{}, false, nil
	}
	if !fits(lines) {
		return member{}, true, fmt.Errorf("%w: Signature-Input is too long", ErrMalformed)
	}
	d := dictionary{lines: lines}
	for count := 0; ; count++ {
		m, more, ok := d.next()
		switch {
		case !ok:
			return member{}, true, fmt.Errorf("%w: Signature-Input is no dictionary", ErrMalformed)
		case !more && found && count > 1:
			return ours, true, soleLabel(lines, ours.key)
		case !more:
			return ours, found, nil
		case !m.tagged(tag):
		case found:
			return member{}, true, fmt.Errorf("%w: two signatures", ErrAmbiguous)
		default:
			ours, found = m, true
		}
	}
}

// soleLabel refuses a second member with the label of ours. Of two, some readers take
// the first and others the last.
func soleLabel(lines []string, label string) error {
	d, count := dictionary{lines: lines}, 0
	for m, more, _ := d.next(); more; m, more, _ = d.next() {
		if m.key == label {
			count++
		}
	}
	if count > 1 {
		return fmt.Errorf("%w: two signatures with one label", ErrAmbiguous)
	}
	return nil
}

// tagged reports whether a member has this tag, in any form that a careless reader
// takes for it: as one of two tags, or without quotes.
func (m member) tagged(tag string) bool {
	if strings.HasSuffix(m.params, `;tag="`+tag+`"`) {
		return true // the usual case; in a string, the first quote could not stand here
	}
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

// find finds and reads the member that is ours. found is as that of findInput.
func (in *input) find(h http.Header, names *prefixed) (found bool, err error) {
	switch lines := h[inputHeader]; len(lines) {
	case 0:
		return false, nil
	case 1:
		// The usual case: what reads strictly from end to end is the only member.
		if in.read(soleMember(lines[0]), names) == "" {
			return true, nil
		}
		*in = input{}
	}
	ours, found, err := findInput(h, names.Tag)
	if err != nil || !found {
		return found, err
	}
	if wrong := in.read(ours, names); wrong != "" {
		return true, fmt.Errorf("%w: %s", ErrMalformed, wrong)
	}
	return true, nil
}

// soleMember takes a line for one member, whose value is a list of what has no
// brackets.
func soleMember(line string) member {
	key, text, _ := strings.Cut(line, "=")
	end := strings.IndexByte(text, ')') + 1
	return member{key, text, text[:end], text[end:]}
}

// read reads a member strictly, so that it has only one spelling: that of a serializer
// (RFC 8941, section 4.1). It returns what is wrong with it, or "".
func (in *input) read(m member, names *prefixed) (wrong string) {
	in.member = m
	switch {
	case !isLabel(m.key):
		return "label"
	case !in.parseComponents(names):
		return "components"
	case !in.parseParams(names):
		return "parameters"
	}
	return ""
}

// fitsHeaders checks that a header is covered exactly if it is there.
func (in *input) fitsHeaders(h http.Header, names *prefixed) error {
	digest, account, key := h[digestHeader], h[names.Account], h[names.ClientKey]
	want := coversAlways
	if len(digest) > 0 {
		want |= coversDigest
	}
	if len(account) > 0 {
		want |= coversAccount
	}
	switch {
	case max(len(digest), len(account), len(key)) > 1:
		return fmt.Errorf("%w: a header is there twice", ErrAmbiguous)
	case len(key) == 1 && key[0] != in.keyid:
		return fmt.Errorf("%w: two client keys", ErrAmbiguous)
	case in.components != want:
		return fmt.Errorf("%w: components", ErrMalformed)
	case want&coversAccount != 0 && !visible.holds(account[0], 1, maxAccount):
		return fmt.Errorf("%w: account", ErrMalformed)
	}
	return nil
}

func isLabel(s string) bool {
	return fieldKey.holds(s, 1, maxLabel) && 'a' <= s[0] && s[0] <= 'z' && !strings.ContainsAny(s, "*.")
}

// parseComponents reads the inner list: known names between single spaces, each once.
func (in *input) parseComponents(names *prefixed) bool {
	list, opened := strings.CutPrefix(in.value, "(")
	list, closed := strings.CutSuffix(list, ")")
	if !opened || !closed {
		return false
	}
	for name := range strings.SplitSeq(list, " ") {
		c := names.component(name)
		if c == 0 || in.components&c != 0 {
			return false
		}
		in.components |= c
	}
	return true
}

// component returns the component of a name with its quotes, or 0.
func (n *prefixed) component(quoted string) component {
	switch quoted {
	case `"@method"`:
		return coversMethod
	case `"@authority"`:
		return coversAuthority
	case `"@path"`:
		return coversPath
	case `"@query"`:
		return coversQuery
	case `"content-digest"`:
		return coversDigest
	case n.account:
		return coversAccount
	}
	return 0
}

// parseParams reads the parameters: known ones, each once, without escapes.
func (in *input) parseParams(names *prefixed) bool {
	var tag string
	f := fieldReader{in.params}
	for f.rest != "" {
		if strings.HasPrefix(f.rest, "; ") {
			return false // allowed in a field, but not in what a serializer writes
		}
		name, value, ok := f.param()
		switch name {
		case "created":
			ok = ok && setSeconds(&in.created, value)
		case "expires":
			ok = ok && setSeconds(&in.expires, value)
		case "nonce":
			ok = ok && setText(&in.nonce, value)
		case "keyid":
			ok = ok && setText(&in.keyid, value)
		case "alg":
			ok = ok && setText(&in.alg, value)
		case "tag":
			ok = ok && setText(&tag, value)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return tag == names.Tag && in.created != 0 && (in.alg == algHMAC || in.alg == algEd25519) &&
		unquoted.holds(in.nonce, leastNonce, mostNonce) && unquoted.holds(in.keyid, 1, maxClientKey)
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
func setSeconds(dst *int64, s string) bool {
	if *dst != 0 || len(s) > 15 || s == "" || s[0] == '0' {
		return false
	}
	var seconds int64
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return false
		}
		seconds = seconds*10 + int64(d)
	}
	*dst = seconds
	return true
}

// strictBase64 refuses a second spelling of the same bytes.
var strictBase64 = base64.StdEncoding.Strict()

// parseSignature finds the signature with the label of the input, and decodes it.
func (in *input) parseSignature(h http.Header) bool {
	lines := h[signatureHeader]
	if in.size = 64; in.alg == algHMAC {
		in.size = 32
	}
	if len(lines) == 1 { // the usual case: ours alone
		label, value, _ := strings.Cut(lines[0], "=")
		if label == in.key && parseBytes(in.signature[:in.size], value) {
			return true
		}
	}
	if !fits(lines) {
		return false
	}
	var ours member
	count := 0
	d := dictionary{lines: lines}
	for {
		m, more, ok := d.next()
		switch {
		case !ok:
			return false
		case !more:
			return count == 1 && ours.params == "" && parseBytes(in.signature[:in.size], ours.value)
		case m.key == in.key:
			ours = m
			count++
		}
	}
}

// parseBytes decodes a byte sequence into all of dst.
func parseBytes(dst []byte, value string) bool {
	var text [96]byte // the base64 of 64 bytes, and more than fits
	size := strictBase64.EncodedLen(len(dst))
	if len(value) != size+2 || value[0] != ':' || value[size+1] != ':' {
		return false
	}
	var decoded [96]byte
	copy(text[:], value[1:])
	n, err := strictBase64.Decode(decoded[:], text[:size])
	return err == nil && copy(dst, decoded[:n]) == len(dst) && n == len(dst)
}
