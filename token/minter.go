package token

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/scope"
)

const (
	defaultTTL        = 15 * time.Minute
	maxTTL            = 24 * time.Hour
	defaultPerSubject = 10 // section 8 of the interface
)

// Minter signs tokens. It decides whether claims can be signed. It does not decide
// whether the caller may ask for them: the embedder must do that before. A Minter
// must not be changed once used. It is safe for concurrent use.
type Minter struct {
	Signers    Signers          // required
	Ledger     Issuing          // required by Permanent and Limited
	Scopes     *scope.Grammar   // nil: the standard grammar
	Namespace  string           // of the claims; "": service/
	PerSubject int              // permanent and limited-use tokens of one app and subject; 0: 10
	Now        func() time.Time // nil: time.Now

	lineage  Lineage
	makerKey string
}

// MadeBy returns a copy that mints for one maker. The Lineage is recorded with permanent and
// limited-use tokens. kid is the KeyID of the token that makes others of its app, or "" if
// none does.
func (m Minter) MadeBy(by Lineage, kid string) *Minter {
	m.lineage, m.makerKey = by, kid
	return &m
}

// Ephemeral mints a token without a jti. It needs no ledger and cannot be revoked
// alone. It expires after ttl, cut to whole seconds: 1 second to 24 hours; 0 means 15
// minutes. Expires, ID and MaxUses must be zero.
//
// The iat is the current time cut to a whole second. If IssuedAt is later, the iat is
// IssuedAt rounded up to a whole second. IssuedAt may be at most a minute ahead, and
// must come before the token's end.
//
// The error matches
//
//   - ErrClaims for claims that are missing, out of range or contradict each other;
//   - ErrScope, with a *scope.SyntaxError, for chains that do not parse or can match
//     nothing;
//   - ErrNoKeyPair if the app has no pair;
//   - ErrRevoked if the key of MadeBy does not verify any more. Otherwise who holds a leaked pair
//     could turn its tokens into tokens of the new one, while processes still remember it.
//
// Any other error comes from a store.
func (m *Minter) Ephemeral(ctx context.Context, c Claims, ttl time.Duration) (Token, Claims, error) {
	ttl = cmp.Or(ttl, defaultTTL)
	switch {
	case ttl < time.Second || ttl > maxTTL:
		return "", Claims{}, unmintable(errors.New("an ephemeral token lasts between 1 second and 24 hours"))
	case !c.Expires.IsZero() || c.MaxUses != 0:
		return "", Claims{}, unmintable(errors.New("an ephemeral token ends by its ttl and has no use count"))
	}
	now := clock.Now(m.Now)
	c.Expires = now.Add(ttl)
	t, _, err := m.mint(ctx, &c, now, "")
	if err != nil {
		return "", Claims{}, err
	}
	return t, c, nil
}

// Permanent mints a token with a jti. It lasts until it is revoked, or until its key is replaced, or
// until c.Expires if that is set. ID and MaxUses must be zero. IssuedAt is as for Ephemeral. Permanent
// returns the claims as they were signed. If the app's pair changes meanwhile, it mints again with the
// new one.
//
// The errors are those of Ephemeral, and the following:
//
//   - ErrTooMany if the subject has as many tokens of this app as PerSubject allows;
//   - ErrRevoked if the token that Lineage.Parent names is not live, or its key does not
//     verify any more;
//   - ErrTooDeep if that token has MaxAncestors ancestors.
func (m *Minter) Permanent(ctx context.Context, c Claims) (Token, Claims, error) {
	if c.MaxUses != 0 {
		return "", Claims{}, unmintable(errors.New("a permanent token has no use count"))
	}
	return m.issue(ctx, c)
}

// Limited is Permanent for a token that can authenticate c.MaxUses times at most, which is 1 at least.
func (m *Minter) Limited(ctx context.Context, c Claims) (Token, Claims, error) {
	if c.MaxUses < 1 {
		return "", Claims{}, unmintable(errors.New("a limited-use token has a use count"))
	}
	return m.issue(ctx, c)
}

// issue mints a token and adds it to the ledger. Then it checks that the same pair still
// signs. If another pair does, it removes the record and mints again.
//
//   - If the pair was replaced, the token would be dead at birth.
//   - If it was rotated, this Issue may have counted without the records of the new key,
//     and so exceeded the limit. A rotation after the check is no danger: whoever signs
//     with the new key has it from a later look-up, and counts this record.
func (m *Minter) issue(ctx context.Context, c Claims) (Token, Claims, error) {
	if m.Ledger == nil {
		return "", Claims{}, errors.New("token: Minter.Ledger is required")
	}
	if !face.IsName(m.lineage.Name) {
		return "", Claims{}, unmintable(fmt.Errorf("name: a printable line of at most %d bytes", face.MaxName))
	}
	for range maxRounds {
		signed := c
		t, pair, err := m.mint(ctx, &signed, clock.Now(m.Now), newID())
		if err != nil {
			return "", Claims{}, err
		}
		// Signed first: a token that is in no ledger is never accepted, but a record
		// without a token would count against PerSubject.
		r := signed.record(&pair.PublicKey)
		r.Lineage = m.lineage
		if err := m.Ledger.Issue(ctx, r, pair.Former, cmp.Or(max(m.PerSubject, 0), defaultPerSubject)); err != nil {
			return "", Claims{}, fmt.Errorf("token: issue: %w", err)
		}
		present, err := m.pair(ctx, c.Issuer)
		if err == nil && present.KeyID == pair.KeyID && present.Org == pair.Org {
			return t, signed, nil
		}
		// Also if the check failed, because nobody gets this token.
		if err := errors.Join(err, m.undo(ctx, r)); err != nil {
			return "", Claims{}, err
		}
	}
	return "", Claims{}, errors.New("token: the key pair of the app changes with each attempt to mint")
}

// maxRounds is how often a token is minted because its key was replaced meanwhile. More
// than one such change during one call is no accident.
const maxRounds = 3

// Grace is how long a token is accepted after it was renewed.
const Grace = time.Minute

// Renew signs the successor of a permanent or limited-use token, and makes r, the record of that
// token, the successor's. r is as for Spend, and c has the claims of the successor: those of the token
// or less, which the embedder decides. ID and MaxUses must be zero or the token's. IssuedAt is as
// for Ephemeral. The grace is at most Grace. The kid of MadeBy is the token's.
//
// The errors are those of Ephemeral and of Ledger.Renew. The successor of a token that was renewed
// within the grace before has the same jti as the one that was signed then.
func (m *Minter) Renew(ctx context.Context, ledger Ledger, r Record, c Claims, grace time.Duration) (Token, Claims, error) {
	c.ID, c.MaxUses = "", r.MaxUses
	t, pair, err := m.mint(ctx, &c, clock.Now(m.Now), fmt.Sprintf("%s~%d", r.ID, r.Generation+1))
	if err != nil {
		return "", Claims{}, err
	}
	if err := ledger.Renew(ctx, r, c.record(&pair.PublicKey), min(grace, Grace)); err != nil {
		return "", Claims{}, fmt.Errorf("token: renew: %w", err)
	}
	return t, c, nil
}

// undoTime limits the removal of a record.
const undoTime = time.Second

// undo removes a record whose token nobody gets, also if ctx has ended. Otherwise a permanent one would
// count against PerSubject until somebody revokes it.
func (m *Minter) undo(ctx context.Context, r Record) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	err := m.Ledger.Revoke(ctx, r.Holder(), r.ID)
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	return fmt.Errorf("token: remove a record: %w", err)
}

// newID returns 128 random bits, so that no id is made twice. A ledger would not
// notice the id of a record that is gone.
func newID() string {
	var id [16]byte
	rand.Read(id[:])
	return encode(id[:])
}

// mint completes the claims and signs them. It also returns the pair that has signed.
func (m *Minter) mint(ctx context.Context, c *Claims, now time.Time, id string) (Token, *KeyPair, error) {
	switch {
	case m.Signers == nil:
		return "", nil, errors.New("token: Minter.Signers is required")
	case c.ID != "":
		return "", nil, unmintable(errors.New("jti is the Minter's to set"))
	case c.IssuedAt.Sub(now) > compact.Leeway*time.Second:
		return "", nil, unmintable(errors.New("iat is more than a minute ahead"))
	}
	c.IssuedAt, c.ID = issuedAt(c.IssuedAt, now), id
	c.NotBefore, c.Expires = wholeSeconds(c.NotBefore), wholeSeconds(c.Expires)
	if err := m.complete(c, now); err != nil {
		return "", nil, err
	}
	pair, err := m.pair(ctx, c.Issuer)
	if err == nil {
		err = pair.Validate()
	}
	if err != nil {
		return "", nil, err
	}
	if m.makerKey != "" && m.makerKey != pair.KeyID && !slices.Contains(pair.Former, m.makerKey) {
		return "", nil, fmt.Errorf("%w: its key does not verify any more", ErrRevoked)
	}
	namespace := cmp.Or(m.Namespace, defaultNamespace)
	payload, err := c.payload(namespace)
	if err == nil { // read back, so that no claims are signed that a Verifier would refuse
		_, err = readClaims(string(payload), namespace)
	}
	if err != nil {
		return "", nil, unmintable(err)
	}
	t, err := sign(pair, payload)
	return t, pair, err
}

// issuedAt returns now in whole seconds, or earliest rounded up to a whole second,
// whichever is later. If earliest were rounded down, the token could come before what
// earliest excludes.
func issuedAt(earliest, now time.Time) time.Time {
	if up := earliest.Add(time.Second - time.Nanosecond); up.After(now) {
		now = up
	}
	return wholeSeconds(now)
}

// complete checks the claims and makes the scope canonical.
func (m *Minter) complete(c *Claims, now time.Time) (err error) {
	switch {
	case !ascii.IsClientKey(c.Issuer):
		return unmintable(errors.New("iss is not a client key"))
	case isNoText(c.Subject), isNoText(c.Audience), slices.ContainsFunc(c.Roles, isNoText):
		return unmintable(errText)
	case !c.Expires.IsZero() && (!c.Expires.After(now) || !c.Expires.After(c.IssuedAt) || !c.Expires.After(c.NotBefore)):
		return unmintable(errors.New("the token would end before it begins"))
	}
	c.Scope, err = m.canonical(c.Scope)
	return err
}

// isNoText reports whether s may not be a name. It is for strings that were not read from JSON.
func isNoText(s string) bool { return !isText(s) || !utf8.ValidString(s) }

// canonical returns the chains in canonical form, each once.
func (m *Minter) canonical(chains []string) ([]string, error) {
	if compact.TooLong(chains) {
		return nil, unmintable(errTooLarge)
	}
	if err := m.Scopes.Vet(chains...); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrScope, err)
	}
	if chains == nil {
		return nil, nil
	}
	list := make([]string, 0, len(chains))
	for _, text := range chains {
		canonical, err := m.Scopes.Parse(cmp.Or(text, "*"))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrScope, err)
		}
		if canonical == "*" {
			canonical = "" // the star is for where an empty text could mean that nothing was set
		}
		if !slices.Contains(list, canonical) {
			list = append(list, canonical)
		}
	}
	return list, nil
}

func (m *Minter) pair(ctx context.Context, clientKey string) (*KeyPair, error) {
	pair, err := m.Signers.Signer(ctx, clientKey)
	if err != nil {
		return nil, fmt.Errorf("token: look up a key pair: %w", err)
	}
	if pair == nil || pair.ClientKey != clientKey {
		return nil, errors.New("token: Signers returned another pair than the one asked for")
	}
	return pair, nil
}

// sign makes the compact form of RFC 7515 section 3.1.
func sign(pair *KeyPair, payload []byte) (Token, error) {
	header := `{"alg":"` + algorithm + `","kid":"` + pair.KeyID + `","typ":"JWT"}`
	signed := encode([]byte(header)) + "." + encode(payload)
	if len(signed)+1+base64.RawURLEncoding.EncodedLen(pair.Key.Size()) > compact.MaxToken {
		return "", unmintable(errTooLarge)
	}
	digest := sha256.Sum256([]byte(signed))
	signature, err := pair.Signer.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("token: sign: %w", err)
	}
	return Token(signed + "." + encode(signature)), nil
}

var errTooLarge = errors.New("token would be larger than 8 KiB")

func unmintable(cause error) error { return fmt.Errorf("%w: %w", ErrClaims, cause) }
