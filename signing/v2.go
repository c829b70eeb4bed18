package signing

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/baseurl"
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

// v2 is what a request says in version 2: the member of Signature-Input that is ours, and the
// values that belong to it.
type v2 struct {
	signatureInput
	signature [64]byte
	size      int // of the signature
	digests   digests
	base      base
}

// signatureInput is a member of Signature-Input, and what its parameters say.
type signatureInput struct {
	member
	created int64 // Unix seconds
	expires int64 // Unix seconds; 0: not there
	nonce   string
	keyid   string
	alg     string
	tag     string
	tagged  bool // with our tag, in any form that a careless reader takes for it
	strange bool // a parameter is unknown, there twice, or has no value that we accept
}

// parseV2 reads a request of version 2, from the member of Signature-Input that is ours
// to the text that it signs. found is false if there is no such member.
func (v *Verifier) parseV2(c *credential, r *http.Request, names *prefixed) (found bool, err error) {
	s := &c.v2
	if found, err = s.find(r.Header[inputHeader], names.Tag); err != nil || !found {
		return found, err
	}
	digest, account, key := r.Header[digestHeader], r.Header[names.Account], r.Header[names.ClientKey]
	switch {
	case !isLabel(s.key):
		return true, fmt.Errorf("%w: label", ErrMalformed)
	case !covers(s.value, names.required(len(digest) > 0, len(account) > 0)):
		return true, fmt.Errorf("%w: components", ErrMalformed)
	case !s.isStrict(names.Tag):
		return true, fmt.Errorf("%w: parameters", ErrMalformed)
	case names.hasV1(r.Header):
		return true, fmt.Errorf("%w: signatures of both versions", ErrAmbiguous)
	case v.Policy.Version == 1 || v.BaseURL == "":
		return true, ErrVersion
	case !s.parseSignature(r.Header[signatureHeader]):
		return true, fmt.Errorf("%w: signature", ErrMalformed)
	case max(len(digest), len(account), len(key)) > 1:
		return true, fmt.Errorf("%w: a header is there twice", ErrAmbiguous)
	case len(key) == 1 && key[0] != s.keyid:
		return true, fmt.Errorf("%w: two client keys", ErrAmbiguous)
	case len(account) > 0 && !ascii.Visible.Holds(account[0], 1, maxAccount):
		return true, fmt.Errorf("%w: account", ErrMalformed)
	case len(digest) > 0 && !s.digests.parse(digest):
		return true, fmt.Errorf("%w: malformed, or an unknown algorithm", ErrDigest)
	}
	c.isV2 = true
	c.account = len(account) > 0
	c.signed = s.created * 1000
	c.use.ClientKey = s.keyid
	c.use.Nonce = shortNonce(s.nonce)
	c.use.Signature = sha256.Sum256(s.signature[:s.size])
	return true, s.base.read(r, v, s, names)
}

// find reads the member of Signature-Input whose tag is that of the prefix. found is also true if
// the header is malformed: nobody can then say that ours is not in it.
func (in *signatureInput) find(lines []string, tag string) (found bool, err error) {
	if len(lines) == 0 {
		return false, nil // as in most requests of version 1
	}
	var next signatureInput // of one member alone: what a stranger's says must not become ours
	each := func(key, value string) {
		next.add(key, value)
		// As one of two tags, or without quotes, it is ours, too.
		next.tagged = next.tagged || key == "tag" && strings.Trim(value, `"`) == tag
	}
	count := 0
	for m, ok := range members(lines, each) {
		count++
		switch {
		case !ok:
			return true, fmt.Errorf("%w: Signature-Input is no dictionary, or too long", ErrMalformed)
		case !next.tagged:
		case found:
			return true, fmt.Errorf("%w: two signatures", ErrAmbiguous)
		default:
			*in, found = next, true
			in.member = m
		}
		next = signatureInput{}
	}
	if found && count > 1 {
		if _, sole := soleMember(lines, in.key); !sole {
			return true, fmt.Errorf("%w: two signatures with one label", ErrAmbiguous)
		}
	}
	return found, nil
}

func isLabel(s string) bool {
	return ascii.FieldKey.Holds(s, 1, maxLabel) && 'a' <= s[0] && s[0] <= 'z' && !strings.ContainsAny(s, "*.")
}

// add reads a parameter.
func (in *signatureInput) add(key, value string) {
	ok := false
	switch key {
	case "created":
		ok = setSeconds(&in.created, value)
	case "expires":
		ok = setSeconds(&in.expires, value)
	case "nonce":
		ok = setText(&in.nonce, value)
	case "keyid":
		ok = setText(&in.keyid, value)
	case "alg":
		ok = setText(&in.alg, value)
	case "tag":
		ok = setText(&in.tag, value)
	}
	in.strange = in.strange || !ok
}

// isStrict reports whether the parameters are known ones, each once and without escapes, and all that
// must be there. They have only one spelling: that of a serializer (RFC 8941, section 4.1), which
// writes no space behind a semicolon.
func (in *signatureInput) isStrict(ourTag string) bool {
	return !in.strange && !strings.Contains(in.params, "; ") &&
		in.tag == ourTag && in.created != 0 && (in.alg == algHMAC || in.alg == algEd25519) &&
		ascii.Unquoted.Holds(in.nonce, leastNonce, mostNonce) && ascii.Unquoted.Holds(in.keyid, 1, maxClientKey)
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
	var decoded [96]byte // more than fits
	size := strictBase64.EncodedLen(len(dst))
	if len(value) != size+2 || value[0] != ':' || value[size+1] != ':' {
		return false
	}
	n, err := strictBase64.Decode(decoded[:], []byte(value[1:size+1]))
	return err == nil && n == len(dst) && copy(dst, decoded[:n]) == n
}

// shortNonce maps a nonce to the 16 letters and digits that Replays records. That of
// version 2 differs from every nonce of version 1 that a client can choose on purpose.
func shortNonce(nonce string) string {
	var text [len("v2") + mostNonce]byte
	sum := sha256.Sum256(append(append(text[:0], "v2"...), nonce...))
	var short [nonceLength]byte
	base32.StdEncoding.Encode(short[:], sum[:nonceLength*5/8])
	return string(short[:])
}

// The components that every signature covers, and the header that it covers if it is there. The
// account header is the other one; its name has the prefix.
const (
	coversMethod    = `"@method"`
	coversAuthority = `"@authority"`
	coversPath      = `"@path"`
	coversQuery     = `"@query"`
	coversDigest    = `"content-digest"`
)

// required returns the components that a request must cover.
func (names *prefixed) required(digest, account bool) []string {
	from, to := 1, len(names.components)-1
	if account {
		from--
	}
	if digest {
		to++
	}
	return names.components[from:to]
}

// covers reports whether an inner list has exactly the required components, each once, with single
// spaces between them.
func covers(value string, required []string) bool {
	list, opened := strings.CutPrefix(value, "(")
	list, closed := strings.CutSuffix(list, ")")
	var found uint // a bit for each of the required ones
	for name := range strings.SplitSeq(list, " ") {
		i := slices.Index(required, name)
		if i < 0 || found&(1<<i) != 0 {
			return false
		}
		found |= 1 << i
	}
	return opened && closed && found == 1<<len(required)-1
}

// base is what a signature of version 2 covers: the signature base of RFC 9421,
// section 2.5. All values come from the request as the server routes it, never from
// what the client says that it has signed.
type base struct {
	method    string
	authority string
	mount     string // the path of the base URL
	path      string // the escaped path below it
	query     string // without its question mark
	digest    string
	account   string

	input string // the value of @signature-params, which begins with the components
}

// maxBase is how long a signature base may be.
const maxBase = 32 << 10

// read sets the base of a request, with the URL as the server knows it.
func (b *base) read(r *http.Request, v *Verifier, s *v2, names *prefixed) (err error) {
	b.input = s.text
	b.from(r, names)
	if b.authority, b.mount, err = splitBase(v.BaseURL); err != nil {
		return err
	}
	if b.path = v.Path; b.path == "" {
		if b.path, err = escapedPath(r.URL); err != nil {
			return err
		}
	}
	return b.check()
}

// from sets the parts of a base that are those of a request. It covers these headers exactly
// if they are there.
func (b *base) from(r *http.Request, names *prefixed) {
	b.method, b.query = r.Method, r.URL.RawQuery
	b.digest, b.account = first(r.Header[digestHeader]), first(r.Header[names.Account])
}

// first returns the first value of a header, or "". Header.Get would look at the header's name first.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// splitBase returns the authority of a base URL as signatures cover it, and its path
// without a trailing slash. It does not parse the URL, which would allocate.
func splitBase(text string) (authority, mount string, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch { // strings.ToLower would allocate
	case strings.EqualFold(scheme, "http"):
		scheme = "http"
	case !strings.EqualFold(scheme, "https"):
		return "", "", errBaseURL
	}
	authority = baseurl.Authority(scheme, host)
	// ContainsAny would first make a set of the two, for each request.
	if authority == "" || strings.Contains(host, "@") || strings.Contains(rest, "?") || strings.Contains(rest, "#") {
		return "", "", errBaseURL
	}
	return authority, strings.TrimSuffix(rest[len(host):], "/"), nil
}

// check refuses what other programs could read as another text.
func (b *base) check() error {
	const rest = 1 << 10 // method, authority, account, and the names of the components
	switch {
	case len(b.path) > maxCommand:
		return errLong
	case !ascii.Visible.Only(b.query):
		return fmt.Errorf("%w: a query holds visible ASCII alone", ErrMalformed)
	case len(b.mount)+len(b.path)+len(b.query)+len(b.digest)+len(b.input)+rest > maxBase:
		return fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxBase)
	}
	return nil
}

// append appends the base. Its components are in the order of the list.
func (b *base) append(dst []byte) []byte {
	list, _, _ := strings.Cut(b.input[1:], ")")
	for name := range strings.SplitSeq(list, " ") {
		dst = append(append(dst, name...), ": "...)
		switch name {
		case coversMethod:
			dst = append(dst, b.method...)
		case coversAuthority:
			dst = append(dst, b.authority...)
		case coversPath:
			if dst = append(append(dst, b.mount...), b.path...); len(b.mount)+len(b.path) == 0 {
				dst = append(dst, '/') // as the path of a URL without one
			}
		case coversQuery:
			dst = append(append(dst, '?'), b.query...)
		case coversDigest:
			dst = append(dst, b.digest...)
		default:
			dst = append(dst, b.account...)
		}
		dst = append(dst, '\n')
	}
	return append(append(dst, `"@signature-params": `...), b.input...)
}
