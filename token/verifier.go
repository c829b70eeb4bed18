package token

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/scope"
)

// Verifier decides whether a token is accepted. It must not be changed once used. It
// is safe for concurrent use.
type Verifier struct {
	Keys      Keys             // required
	Ledger    Spender          // nil: tokens with a jti are refused
	Scopes    *scope.Grammar   // nil: the standard grammar
	Namespace string           // of the claims; "": service/
	Cache     *Cache           // nil: every token is verified each time
	Now       func() time.Time // nil: time.Now
}

// Expect is what a token must agree with for one request.
type Expect struct {
	// Org must equal the PublicKey.Org of the key that the token was signed with. An
	// app writes sub and aud itself. So only Org keeps the apps of one org from
	// making tokens for the accounts of another. It is "" only if keys have no org.
	Org       OrgKey
	Audience  string // the environment's URL, from configuration; required without Takes
	ClientKey string // the client key header, or "" if none was sent

	// Takes decides about the audience instead, if several are valid. It must compare the
	// whole text with values from configuration.
	Takes func(audience string) bool

	// Admit is the last check before a use is spent. It checks that the org, the
	// app and the account exist and are enabled. Verify returns its error. If nil,
	// every account that the app names is admitted.
	Admit func(context.Context, *Verified) error

	// Use returns when and from where the request comes, for the Seen and the From of the record of a
	// token with a jti. A zero time, and a nil Use, record nothing.
	Use func(*Verified) (at time.Time, from netip.Addr)

	// Spent is the last check of all, after a use of a token with a jti was spent.
	// It checks whether the maker of the token may still have made it. Verify
	// returns its error, and the use stays spent. If nil, nothing is checked.
	Spent func(context.Context, *Verified, Lineage) error
}

// Reasons to refuse a token, in addition to those in token.go and claims.go.
var (
	errSignature = refuse("signature does not match")
	errIssuer    = refuse("iss does not own the key")
	errOrg       = refuse("issued by an app of another org")
	errAudience  = refuse("aud is not the one expected")
	errNoLedger  = refuse("jti without a ledger")
	errKeyEnded  = refuse("former key has ended")
	errExpired   = &refusal{ErrExpired}
	errNotYet    = &refusal{ErrNotYet}
	errMismatch  = &refusal{ErrKeyMismatch}
)

// Verify checks a token in its compact form, without "Bearer", and spends one use of
// it if it has a jti. Call it once per request.
//
// If the token is refused, the error matches ErrInvalid, and in these cases also
//   - ErrExpired: exp has come;
//   - ErrNotYet: iat or nbf is more than a minute ahead;
//   - ErrKeyMismatch: want.ClientKey is not the issuer;
//   - ErrRevoked, ErrExhausted: the ledger says so.
//
// If an Admit or Spent refuses, Verify returns its error unchanged. Any other error
// means that a store failed, or that the Verifier lacks a required field. Nothing is
// known about the token then. An error quotes nothing of a token, except a segment of
// a chain that does not parse.
func (v *Verifier) Verify(ctx context.Context, raw string, want Expect) (*Verified, error) {
	if v.Keys == nil || want.Audience == "" && want.Takes == nil {
		return nil, errIncomplete
	}
	if len(raw) > compact.MaxToken {
		return nil, unsplit[compact.ErrTooLarge]
	}
	t, err := v.recall(ctx, raw)
	fresh := t == nil && err == nil
	if fresh {
		t, err = v.open(ctx, raw)
	}
	if err == nil {
		err = v.check(ctx, t, want)
	}
	if err != nil {
		return nil, err
	}
	if fresh {
		v.Cache.put(raw, t, v)
	}
	return t, nil
}

// Record returns the record that a ledger has of a genuine token, to revoke it by. It checks
// the size, the form, the signature, the org and the audience. It does not check whether the
// token is valid now: neither its times, nor Admit, nor the ledger. The ID of an ephemeral
// token is empty. The errors are those of Verify.
func (v *Verifier) Record(ctx context.Context, raw string, want Expect) (Record, error) {
	if v.Keys == nil || want.Audience == "" && want.Takes == nil {
		return Record{}, errIncomplete
	}
	t, err := v.open(ctx, raw)
	if err == nil {
		err = t.concerns(&want)
	}
	if err != nil {
		return Record{}, err
	}
	return t.claims.record(t.key), nil
}

var errIncomplete = errors.New("token: Verifier.Keys and Expect.Audience or Takes are required")

// concerns checks whether the token is one of the tenant.
func (t *Verified) concerns(want *Expect) error {
	switch audience := t.claims.Audience; {
	case t.key.Org != want.Org:
		return errOrg
	case want.Takes == nil && audience != want.Audience, want.Takes != nil && !want.Takes(audience):
		return errAudience
	}
	return nil
}

// recall finds a token that was accepted before, if its key is still the one that
// verified it. The text is the same, so its form is not checked again. After a rotation
// the key has an end, so each token is verified once again and then ends with the key.
func (v *Verifier) recall(ctx context.Context, raw string) (*Verified, error) {
	known := v.Cache.get(raw)
	if known.by != v {
		return nil, nil
	}
	key, err := v.key(ctx, known.token.key.KeyID)
	if err != nil || !key.same(known.token.key) {
		return nil, err
	}
	return known.token, nil
}

// open verifies the signature of a token, and only then reads its claims.
func (v *Verifier) open(ctx context.Context, raw string) (*Verified, error) {
	c, err := split(raw)
	if err != nil {
		return nil, err
	}
	kid, err := readHeader(c.Header)
	if err != nil {
		return nil, &refusal{err}
	}
	// Looked up before the signature is verified, and kept with the result. So if
	// the key is replaced meanwhile, the next request with the token notices it.
	key, err := v.key(ctx, kid)
	if err != nil {
		return nil, err
	}
	if err := key.check(); err != nil {
		return nil, err
	}
	if jwt.SigningMethodRS256.Verify(c.Signed, c.Signature, key.Key) != nil {
		return nil, errSignature
	}
	return v.read(c.Payload, key)
}

func (v *Verifier) key(ctx context.Context, kid string) (*PublicKey, error) {
	key, err := v.Keys.Public(ctx, kid)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, &unknownKey{err}
	case err != nil:
		return nil, fmt.Errorf("token: look up a key: %w", err)
	case key == nil || key.KeyID != kid:
		// Some databases compare text without regard to case.
		return nil, errors.New("token: Keys returned another key than the one asked for")
	case key.hasEnded(v.Now):
		// Keys that remember answers may still return it.
		return nil, errKeyEnded
	}
	return key, nil
}

// read reads claims that key has signed.
func (v *Verifier) read(payload string, key *PublicKey) (*Verified, error) {
	c, err := readClaims(payload, cmp.Or(v.Namespace, defaultNamespace))
	if err != nil {
		return nil, &refusal{err}
	}
	if c.Issuer != key.ClientKey {
		return nil, errIssuer
	}
	set, err := v.Scopes.Compile("token", c.Scope...)
	if err != nil {
		if first, ok := errors.AsType[*scope.SyntaxError](err); ok {
			err = first // there may be hundreds of such chains
		}
		return nil, &refusal{err}
	}
	t := &Verified{claims: c, scope: set, key: key, valid: compact.Always()}
	t.valid.From(max(c.IssuedAt.Unix(), c.NotBefore.Unix())) // a missing nbf is long ago
	if !c.Expires.IsZero() {
		t.valid.Until(c.Expires.Unix())
	}
	return t, nil
}

// check does the checks that each request with a token needs. The ledger and Spent
// come last.
func (v *Verifier) check(ctx context.Context, t *Verified, want Expect) error {
	if err := t.concerns(&want); err != nil {
		return err
	}
	switch at := t.valid.Compare(clock.Now(v.Now)); {
	case at > 0:
		return errExpired
	case at < 0:
		return errNotYet
	case want.ClientKey != "" && want.ClientKey != t.claims.Issuer:
		return errMismatch
	}
	if want.Admit != nil {
		if err := want.Admit(ctx, t); err != nil {
			return err
		}
	}
	if t.claims.ID == "" {
		return nil
	}
	return v.spend(ctx, t, want)
}

func (v *Verifier) spend(ctx context.Context, t *Verified, want Expect) error {
	if v.Ledger == nil {
		return errNoLedger
	}
	r := t.claims.record(t.key)
	if want.Use != nil {
		if at, from := want.Use(t); !at.IsZero() {
			r.Use = face.At(at, from)
		}
	}
	lineage, err := v.Ledger.Spend(ctx, r)
	switch {
	case errors.Is(err, ErrRevoked), errors.Is(err, ErrExhausted):
		return &refusal{err}
	case err != nil:
		return fmt.Errorf("token: spend a use: %w", err)
	}
	if want.Spent == nil {
		return nil
	}
	return want.Spent(ctx, t, lineage)
}
