package bearer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// Name is what the mechanism is called in principals and in auth.Need.By.
const Name = "bearer"

// Mechanism authenticates bearer tokens of the Authorization header (RFC 6750,
// section 2.1; the other places of that RFC are not read). A token that has an
// id is spent once per request, after everything else about it has been
// checked. Its fields must not be changed once it is in use; its methods are
// safe for concurrent use.
type Mechanism struct {
	// Verifier is required, with its Keys. The mechanism uses a copy: its
	// Namespace is the Brand's of the one Guard it serves, and its Admit, if any,
	// runs after the mechanism's own checks, as does its Spent. They refuse with an
	// *auth.Error; any other error of theirs is taken for a store's.
	Verifier *token.Verifier

	// Ceiling lets a scope claim, even an empty one, bound what the roles of
	// the subject add. Without it a token has the chains of its claim and those
	// of all its roles (section 5.5 of the interface).
	Ceiling bool

	prepare   sync.Once
	brand     auth.Brand // of the one Guard it serves
	verifier  token.Verifier
	clientKey string // name of the header
}

// Validate reports a missing field.
func (m *Mechanism) Validate() error {
	if m.Verifier == nil || m.Verifier.Keys == nil {
		return errors.New("bearer: Mechanism.Verifier with its Keys is required")
	}
	return nil
}

// Presented implements auth.Mechanism. It looks for the scheme; a token that is
// malformed after it is presented, and refused.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	for _, value := range r.Header["Authorization"] {
		if isBearer(value) {
			return auth.Header
		}
	}
	return auth.Absent
}

const scheme = "bearer"

// isBearer looks at the scheme alone; schemes are case-insensitive (RFC 9110,
// section 11.1). What follows it may be malformed, and then is refused.
func isBearer(value string) bool {
	return len(value) >= len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) &&
		(len(value) == len(scheme) || value[len(scheme)] == ' ' || value[len(scheme)] == '\t')
}

// Authenticate implements auth.Mechanism.
//
// Details of its errors are auth.DetailAmbiguous, DetailInvalidToken,
// DetailTokenExpired, DetailTokenNotActive and DetailKeyMismatch, and those of the
// Verifier's Admit. Any other one wraps auth.ErrUnavailable, but for a mechanism
// that was given to Guards of two brands.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	brand := t.Brand()
	m.prepare.Do(func() { m.serve(brand) })
	if m.brand.Header != brand.Header || m.brand.Claims != brand.Claims {
		// Another brand's claims would be unknown ones, and limit nothing.
		return auth.Principal{}, errors.New("bearer: one Mechanism serves Guards of different brands")
	}
	raw, clientKey, err := m.credential(r.Header)
	if err != nil {
		return auth.Principal{}, err
	}
	a := attempt{tenant: t, ceiling: m.Ceiling}
	verified, err := m.verifier.Verify(ctx, raw, token.Expect{
		Audience:  t.URL(),
		Org:       t.Org.Code,
		ClientKey: clientKey,
		Admit:     a.admit,
		Spent:     a.made,
	})
	if err != nil {
		return auth.Principal{}, fault(err)
	}
	return a.principal(verified), nil
}

// serve makes ready for a Guard's brand.
func (m *Mechanism) serve(b auth.Brand) {
	m.brand = b
	m.clientKey = http.CanonicalHeaderKey(b.Header + "Client-Key")
	m.verifier = *m.Verifier
	m.verifier.Namespace = b.Claims
}

// credential reads the token and the client key that may be sent beside it.
func (m *Mechanism) credential(h http.Header) (raw, clientKey string, err error) {
	keys, values := h[m.clientKey], h["Authorization"]
	if len(values) > 1 || len(keys) > 1 {
		return "", "", &auth.Error{Detail: auth.DetailAmbiguous}
	}
	// One blank and nothing else: what a lenient reader would skip, another
	// would take for a part of the token. The Verifier refuses further ones.
	raw, found := strings.CutPrefix(values[0][len(scheme):], " ")
	if !found {
		return "", "", &auth.Error{Detail: auth.DetailInvalidToken, Err: errors.New("bearer: malformed Authorization header")}
	}
	if len(keys) == 1 {
		if clientKey = keys[0]; clientKey == "" {
			// Sent, and not the token's: to Expect it would read as not sent.
			return "", "", &auth.Error{Detail: auth.DetailKeyMismatch}
		}
	}
	return raw, clientKey, nil
}

// Challenge implements auth.Mechanism (RFC 6750, section 3).
func (m *Mechanism) Challenge(err error) string {
	e, ok := errors.AsType[*auth.Error](err)
	switch {
	case !ok:
		return "Bearer"
	case e.Detail == auth.DetailScope:
		return `Bearer error="insufficient_scope", scope="` + e.Reason + `"`
	}
	return `Bearer error="invalid_token"`
}

// fault gives the errors of package token their place in the table.
func fault(err error) error {
	var detail string
	switch {
	case errors.Is(err, token.ErrExpired):
		detail = auth.DetailTokenExpired
	case errors.Is(err, token.ErrNotYet):
		detail = auth.DetailTokenNotActive
	case errors.Is(err, token.ErrKeyMismatch):
		detail = auth.DetailKeyMismatch
	case errors.Is(err, token.ErrInvalid), errors.Is(err, errRefused):
		detail = auth.DetailInvalidToken
	default:
		if e, ok := err.(*auth.Error); ok {
			return e // of the embedder's Admit
		}
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return &auth.Error{Detail: detail, Err: err}
}
