package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/strictjson"
	"github.com/tenantkit/tenantkit/scope"
)

const (
	defaultNamespace = "service/"

	maxText   = 512       // bytes of iss, sub, aud, jti and of a role
	maxChains = 1024      // of one token; the same limit as in package scope
	maxCount  = 1<<53 - 1 // the largest integer that every JSON reader reads exactly
)

// limits are the limits for headers, payloads and keys.
var limits = strictjson.Limits{Depth: 16, Members: 64, AllowNUL: true}

// MaxRoles is how many roles a token can add to those of its subject.
const MaxRoles = 64

// Claims are the claims of a token, as section 2.3 of the interface lists them. The
// zero value of an optional field means that the claim is absent.
type Claims struct {
	Issuer   string // iss: the client key of the app; required
	Subject  string // sub: the account the token authenticates as; required
	Audience string // aud: the environment URL, {BaseURL}/{org}/{version}; required

	IssuedAt  time.Time // iat, in whole seconds; for a Minter, the earliest iat
	NotBefore time.Time // nbf, in whole seconds
	Expires   time.Time // exp, in whole seconds

	ID string // jti, set by the Minter; "" in an ephemeral token

	// Scope holds scope chains (scp). Nil means no claim, and empty means an empty
	// claim. Both grant nothing. The empty chain grants everything.
	Scope []string

	Roles         []string    // rls: added to those of the subject; at most 64
	Grant         scope.Level // gnt
	SkipACL       bool        // skp
	SkipCreateACL bool        // skc
	MaxUses       int64       // cnt: how often a limited-use token may authenticate

	// Extra holds the embedder's own claims: JSON by name. The names above are not
	// available, in any case of letters. This package never interprets Extra.
	Extra map[string]json.RawMessage
}

// Reasons to refuse claims that are valid JSON.
var (
	errMissing = errors.New("claim iss, sub, aud or iat is missing")
	errText    = errors.New("claim is empty, longer than 512 bytes or has control characters")
	errCount   = errors.New("claim cnt is not positive, or without jti")
	errGrant   = errors.New("claim gnt is not an access level")
	errLong    = errors.New("array with too many elements")
)

// readClaims reads the payload of a token. Unknown claims are its Extra.
func readClaims(payload, namespace string) (c Claims, err error) {
	r := strictjson.New(payload, limits)
	for name := range r.Object {
		if c.read(&r, name, namespace) {
			continue
		}
		if c.Extra == nil {
			c.Extra = map[string]json.RawMessage{}
		}
		c.Extra[name] = json.RawMessage(r.Skip())
	}
	switch err := r.End(); {
	case err != nil:
		return Claims{}, err
	case c.Issuer == "" || c.Subject == "" || c.Audience == "" || c.IssuedAt.IsZero():
		return Claims{}, errMissing
	case c.MaxUses != 0 && c.ID == "":
		return Claims{}, errCount
	}
	return c, nil
}

// read reads the value of a claim if it knows the name. The name must match exactly,
// because another spelling is another claim.
func (c *Claims) read(r *strictjson.Reader, name, namespace string) (known bool) {
	own, isOwn := strings.CutPrefix(name, namespace)
	switch {
	case name == "iss":
		c.Issuer = readText(r)
	case name == "sub":
		c.Subject = readText(r)
	case name == "aud":
		c.Audience = readText(r)
	case name == "jti":
		c.ID = readText(r)
	case name == "iat":
		c.IssuedAt = readTime(r)
	case name == "nbf":
		c.NotBefore = readTime(r)
	case name == "exp":
		c.Expires = readTime(r)
	case isOwn && own == "scp":
		c.Scope = readTexts(r, maxChains)
	case isOwn && own == "rls":
		c.Roles = readRoles(r)
	case isOwn && own == "skp":
		c.SkipACL = r.Bool()
	case isOwn && own == "skc":
		c.SkipCreateACL = r.Bool()
	case isOwn && own == "gnt":
		c.Grant = readLevel(r)
	case isOwn && own == "cnt":
		c.MaxUses = readCount(r)
	default:
		return false
	}
	return true
}

func readText(r *strictjson.Reader) string {
	s := r.Text()
	if !isText(s) {
		r.Fail(errText)
	}
	return s
}

// isText reports whether s may be a name: not empty, at most 512 bytes, and without
// control characters. Some databases refuse control characters, and such an error
// would look like an outage.
func isText(s string) bool {
	return 0 < len(s) && len(s) <= maxText && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f })
}

// readTexts reads an array of strings, with no more than most elements.
func readTexts(r *strictjson.Reader, most int) []string {
	texts := []string{}
	for range r.Array {
		if text := r.Text(); len(texts) < most {
			texts = append(texts, text)
		} else {
			r.Fail(errLong)
		}
	}
	return texts
}

func readTime(r *strictjson.Reader) time.Time {
	return time.Unix(compact.Seconds(r), 0).UTC()
}

func readRoles(r *strictjson.Reader) []string {
	roles := readTexts(r, MaxRoles)
	if slices.ContainsFunc(roles, func(role string) bool { return !isText(role) }) {
		r.Fail(errText)
	}
	return roles
}

func readLevel(r *strictjson.Reader) (level scope.Level) {
	if level.UnmarshalJSON([]byte(r.Skip())) != nil {
		r.Fail(errGrant)
	}
	return level
}

func readCount(r *strictjson.Reader) int64 {
	n := compact.Integer(r, maxCount)
	if n == 0 {
		r.Fail(errCount)
	}
	return n
}

// cutGeneration splits the jti of a successor.
func cutGeneration(jti string) (id string, generation int64) {
	i := strings.LastIndexByte(jti, '~')
	if i < 1 || strings.HasPrefix(jti[i+1:], "0") {
		return jti, 0
	}
	n, err := strconv.ParseUint(jti[i+1:], 10, 53)
	if err != nil {
		return jti, 0
	}
	return jti[:i], int64(n)
}

// RecordID returns the ID of the token's record in a ledger: the jti of the first of its family,
// whichever successor it is. It is "" for an ephemeral token.
func (c Claims) RecordID() string {
	id, _ := cutGeneration(c.ID)
	return id
}

// record returns the ledger's record of a token that was signed with key.
func (c *Claims) record(key *PublicKey) Record {
	id, generation := cutGeneration(c.ID)
	return Record{
		ID: id, Generation: generation, Org: key.Org, ClientKey: c.Issuer, Subject: c.Subject, KeyID: key.KeyID,
		MaxUses: c.MaxUses, Issued: c.IssuedAt, Expires: c.Expires,
	}
}

// payload writes the claims in the form that readClaims reads.
func (c *Claims) payload(namespace string) ([]byte, error) {
	claims := map[string]any{"iss": c.Issuer, "sub": c.Subject, "aud": c.Audience, "iat": c.IssuedAt.Unix()}
	for name, raw := range c.Extra {
		if isReserved(name, namespace) {
			return nil, fmt.Errorf("extra claim %q is not available", name)
		}
		claims[name] = raw
	}
	set := func(name string, value any, present bool) {
		if present {
			claims[name] = value
		}
	}
	set("nbf", c.NotBefore.Unix(), !c.NotBefore.IsZero())
	set("exp", c.Expires.Unix(), !c.Expires.IsZero())
	set("jti", c.ID, c.ID != "")
	set(namespace+"scp", c.Scope, c.Scope != nil)
	set(namespace+"rls", c.Roles, len(c.Roles) > 0)
	set(namespace+"gnt", c.Grant, c.Grant != 0)
	set(namespace+"skp", true, c.SkipACL)
	set(namespace+"skc", true, c.SkipCreateACL)
	set(namespace+"cnt", c.MaxUses, c.MaxUses != 0)
	return json.Marshal(claims)
}

var (
	registered = []string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti"}
	own        = []string{"scp", "rls", "skp", "skc", "gnt", "cnt"}
)

// isReserved reports whether a claim of the embedder may not have this name. Letter
// case does not matter, because some readers take SUB for sub.
func isReserved(name, namespace string) bool {
	return slices.ContainsFunc(registered, func(claim string) bool { return strings.EqualFold(name, claim) }) ||
		slices.ContainsFunc(own, func(claim string) bool { return strings.EqualFold(name, namespace+claim) })
}

// wholeSeconds cuts t to whole seconds, as in a claim. The zero time stays zero.
func wholeSeconds(t time.Time) time.Time { return time.Unix(t.Unix(), 0).UTC() }
