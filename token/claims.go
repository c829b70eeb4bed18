package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

const (
	defaultNamespace = "service/"

	maxText   = 512       // bytes of iss, sub, aud, jti and of a role
	maxChains = 1024      // of one token, as package scope has it
	maxCount  = 1<<53 - 1 // the largest integer that every JSON reader keeps
)

// MaxRoles is how many roles a token can add to those of its subject.
const MaxRoles = 64

// Claims is what a token says, as section 2.3 of the interface lists it. The
// zero value of an optional field means that the claim is absent.
type Claims struct {
	Issuer   string // iss: the client key of the app; required
	Subject  string // sub: the account the token authenticates as; required
	Audience string // aud: the environment URL, {BaseURL}/{org}/{version}; required

	IssuedAt  time.Time // iat; a Minter is told the earliest one. These three are whole seconds
	NotBefore time.Time // nbf
	Expires   time.Time // exp

	ID string // jti, set by the Minter; none: ephemeral

	// Scope holds scope chains (scp). Nil is no claim and empty an empty one:
	// both grant nothing. The empty chain grants everything.
	Scope []string

	Roles         []string    // rls: beside those of the subject; at most 64
	Grant         scope.Level // gnt
	SkipACL       bool        // skp
	SkipCreateACL bool        // skc
	MaxUses       int64       // cnt: authentications, of a limited-use token

	// Extra holds claims of the embedder's own: JSON by name. The names above,
	// in any case, are not available. This package never interprets them.
	Extra map[string]json.RawMessage
}

// What is wrong with claims that are JSON.
var (
	errMissing = errors.New("claim iss, sub, aud or iat is missing")
	errText    = errors.New("claim is empty, longer than 512 bytes or has control characters")
	errCount   = errors.New("claim cnt is not positive, or without jti")
	errGrant   = errors.New("claim gnt is not an access level")
)

// extra is a claim this package does not know: its name and its JSON.
type extra struct{ name, raw string }

// readClaims reads the payload of a token. The claims it does not know come
// apart, in their order.
func readClaims(payload, namespace string) (c Claims, extras []extra, err error) {
	err = readObject(payload, func(r *reader, name string) error {
		known, err := c.read(r, name, namespace)
		if known || err != nil {
			return err
		}
		raw, err := r.skip()
		extras = append(extras, extra{name, raw})
		return err
	})
	switch {
	case err != nil:
		return Claims{}, nil, err
	case c.Issuer == "" || c.Subject == "" || c.Audience == "" || c.IssuedAt.IsZero():
		return Claims{}, nil, errMissing
	case c.MaxUses != 0 && c.ID == "":
		return Claims{}, nil, errCount
	}
	return c, extras, nil
}

// read reads the value of a claim, if it knows the name: the exact name, since
// another spelling is another claim.
func (c *Claims) read(r *reader, name, namespace string) (known bool, err error) {
	switch name {
	case "iss":
		c.Issuer, err = readText(r)
	case "sub":
		c.Subject, err = readText(r)
	case "aud":
		c.Audience, err = readText(r)
	case "jti":
		c.ID, err = readText(r)
	case "iat":
		c.IssuedAt, err = readTime(r)
	case "nbf":
		c.NotBefore, err = readTime(r)
	case "exp":
		c.Expires, err = readTime(r)
	default:
		if rest, ok := strings.CutPrefix(name, namespace); ok {
			return c.readOwn(r, rest)
		}
		return false, nil
	}
	return true, err
}

// readOwn is read for the claims of the namespace.
func (c *Claims) readOwn(r *reader, name string) (known bool, err error) {
	switch name {
	case "scp":
		c.Scope, err = r.strings(maxChains)
	case "rls":
		c.Roles, err = readRoles(r)
	case "skp":
		c.SkipACL, err = r.boolean()
	case "skc":
		c.SkipCreateACL, err = r.boolean()
	case "gnt":
		c.Grant, err = readLevel(r)
	case "cnt":
		c.MaxUses, err = readCount(r)
	default:
		return false, nil
	}
	return true, err
}

func readText(r *reader) (string, error) {
	s, err := r.string()
	if err == nil && !isText(s) {
		err = errText
	}
	return s, err
}

// isText accepts what may name somebody. Control characters are not in it:
// some databases refuse them, which must not look like an outage.
func isText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return 0 < len(s) && len(s) <= maxText
}

func readTime(r *reader) (time.Time, error) {
	seconds, err := r.integer(maxTime)
	return time.Unix(seconds, 0).UTC(), err
}

func readRoles(r *reader) ([]string, error) {
	roles, err := r.strings(MaxRoles)
	if err == nil && !all(roles, isText) {
		err = errText
	}
	return roles, err
}

func all(list []string, ok func(string) bool) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !ok(s) })
}

func readLevel(r *reader) (level scope.Level, err error) {
	raw, err := r.skip()
	if err == nil && level.UnmarshalJSON([]byte(raw)) != nil {
		err = errGrant
	}
	return level, err
}

func readCount(r *reader) (int64, error) {
	n, err := r.integer(maxCount)
	if err == nil && n == 0 {
		err = errCount
	}
	return n, err
}

// record is what the ledger keeps of a token signed with the key.
func (c *Claims) record(kid string) Record {
	return Record{
		ID: c.ID, ClientKey: c.Issuer, Subject: c.Subject, KeyID: kid,
		MaxUses: c.MaxUses, Issued: c.IssuedAt, Expires: c.Expires,
	}
}

// payload writes the claims as readClaims reads them.
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

// isReserved reports whether a claim of the embedder's own may not have this
// name: to readers that fold case, SUB is sub.
func isReserved(name, namespace string) bool {
	for _, claim := range registered {
		if strings.EqualFold(name, claim) {
			return true
		}
	}
	for _, claim := range own {
		if strings.EqualFold(name, namespace+claim) {
			return true
		}
	}
	return false
}
