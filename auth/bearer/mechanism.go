package bearer

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/token"
)

// Name is the name of the mechanism in principals and in auth.Need.By.
const Name = "bearer"

// Mechanism authenticates bearer tokens of the Authorization header (RFC 6750, section 2.1). It
// ignores tokens in the body and in the query. A token that has an id is spent once per request,
// after every other check. The fields must not be changed once the Mechanism is in use. Its
// methods are safe for concurrent use.
type Mechanism struct {
	// Verifier is required, with its Keys. The mechanism uses a copy that has the Guard's
	// namespace, grammar and clock: leave these fields empty. The Verifier's own Admit and
	// Spent, if any, run after the mechanism's checks. They refuse with an *auth.Error. Any
	// other error counts as a failure of a store.
	Verifier *token.Verifier

	// ResourceMetadata adds the URL of the tenant's metadata to each challenge (RFC 9728, section
	// 5.1). Set it if the server serves that document, as package oauth does.
	ResourceMetadata bool

	// Issuers are others whose tokens are accepted beside those of the server's own apps. The
	// one whose Org is that of the request and whose URL equals iss decides alone. A token of
	// an app whose client key is that URL is refused there. Principals have the mechanism
	// NameIssuer. The Verifier's Admit and Spent do not run for them: Map decides. Up to 4,096
	// tokens are remembered for 5 minutes, own and others'.
	Issuers []*Issuer

	binding sync.Mutex
	bound   atomic.Pointer[bound]
}

// bound is what follows from the settings of the Guard.
type bound struct {
	settings  *auth.Settings
	verifier  token.Verifier
	issuers   *issuers // nil: none
	clientKey string   // name of the header
}

// Name implements auth.Mechanism.
func (m *Mechanism) Name() string { return Name }

func (m *Mechanism) validate() error {
	if m.Verifier == nil || m.Verifier.Keys == nil {
		return errors.New("bearer: Mechanism.Verifier with its Keys is required")
	}
	_, err := newIssuers(m.Issuers)
	return err
}

// Bind implements auth.Mechanism.
func (m *Mechanism) Bind(s *auth.Settings) error {
	if err := m.validate(); err != nil {
		return err
	}
	m.binding.Lock()
	defer m.binding.Unlock()
	v := *m.Verifier
	switch b := m.bound.Load(); {
	case b != nil && b.settings.Same(s):
		return nil
	case b != nil:
		// The claims of another brand would be unknown, and so limit nothing.
		return errors.New("bearer: one Mechanism serves Guards of different settings")
	case v.Namespace != "" && v.Namespace != s.Brand.Claims:
		return errors.New("bearer: Verifier.Namespace is not that of the Guard's Brand: leave it empty")
	case v.Scopes != nil && v.Scopes != s.Scopes:
		return errors.New("bearer: Verifier.Scopes is not the Guard's grammar: leave it empty")
	case v.Now != nil:
		return errors.New("bearer: the clock of a Verifier is the Guard's: leave Verifier.Now empty")
	}
	v.Namespace, v.Scopes, v.Now = s.Brand.Claims, s.Scopes, s.Now
	others, err := newIssuers(m.Issuers)
	if err != nil {
		return err
	}
	m.bound.Store(&bound{s, v, others, http.CanonicalHeaderKey(s.Brand.Header + "Client-Key")})
	return nil
}

// boundTo returns what follows from the settings. It binds a Mechanism that is wrapped by one
// that has no Bind.
func (m *Mechanism) boundTo(s *auth.Settings) (*bound, error) {
	if b := m.bound.Load(); b != nil && b.settings.Same(s) {
		return b, nil
	}
	err := m.Bind(s)
	return m.bound.Load(), err
}

// Presented implements auth.Mechanism. It checks only for the scheme. A malformed token after the
// scheme counts as presented, and Authenticate refuses it.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	for _, value := range r.Header["Authorization"] {
		if isBearer(value) {
			return auth.Header
		}
	}
	return auth.Absent
}

const scheme = "bearer"

// isBearer checks only the scheme, which is case-insensitive (RFC 9110, section 11.1).
// Authenticate refuses a header that is malformed after it.
func isBearer(value string) bool {
	return len(value) >= len(scheme) && strings.EqualFold(value[:len(scheme)], scheme) &&
		(len(value) == len(scheme) || value[len(scheme)] == ' ' || value[len(scheme)] == '\t')
}

// Authenticate implements auth.Mechanism.
//
// Details of its errors are auth.DetailAmbiguous, DetailInvalidToken, DetailTokenExpired,
// DetailTokenNotActive and DetailKeyMismatch, and those of the Verifier's Admit. Any other error
// wraps auth.ErrUnavailable, except if the mechanism was given to Guards of different settings.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return auth.Principal{}, err
	}
	return m.authenticate(ctx, b, r, t)
}

func (m *Mechanism) authenticate(ctx context.Context, b *bound, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	raw, clientKey, err := b.credential(r.Header)
	if err != nil {
		return auth.Principal{}, err
	}
	p, err := m.verify(ctx, b, t, raw, clientKey)
	if err != nil {
		if parts, malformed := compact.Split(raw, compact.MaxToken); malformed == nil {
			t.Claim(auth.Claimed{App: textOf(inside(parts.Payload, "iss")), Account: textOf(inside(parts.Payload, "sub"))})
		}
	}
	return p, err
}

func (m *Mechanism) verify(ctx context.Context, b *bound, t *auth.Tenant, raw, clientKey string) (auth.Principal, error) {
	foreign, err := b.issuers.open(ctx, t.Org.Key(), raw, t.Now())
	switch {
	case err != nil:
		return auth.Principal{}, fault(err)
	case foreign != nil && foreign != ours && clientKey != "": // no app of ours has issued it
		return auth.Principal{}, &auth.Error{Detail: auth.DetailKeyMismatch}
	case foreign != nil && foreign != ours:
		return foreign.principal(ctx, attempt{tenant: t})
	}
	a := attempt{tenant: t}
	verified, err := b.verifier.Verify(ctx, raw, token.Expect{
		Takes:     t.Takes,
		Org:       t.Org.Key(),
		ClientKey: clientKey,
		Admit:     a.admit,
		Spent:     a.checkMakers,
	})
	if err != nil {
		return auth.Principal{}, fault(err)
	}
	if foreign == nil {
		b.issuers.rememberOurs(ctx, t.Org.Key(), raw, t.Now())
	}
	return a.principal(verified), nil
}

// credential reads the token, and the client key that may be sent with it.
func (b *bound) credential(h http.Header) (raw, clientKey string, err error) {
	keys, values := h[b.clientKey], h["Authorization"]
	if len(values) > 1 || len(keys) > 1 {
		return "", "", &auth.Error{Detail: auth.DetailAmbiguous}
	}
	// Accept exactly one space. One reader might skip other characters, and another might read
	// them as a part of the token. The Verifier refuses further spaces.
	raw, found := strings.CutPrefix(values[0][len(scheme):], " ")
	if !found {
		return "", "", &auth.Error{Detail: auth.DetailInvalidToken, Err: errors.New("bearer: malformed Authorization header")}
	}
	if len(keys) == 1 {
		if clientKey = keys[0]; clientKey == "" {
			// The client sent an empty key, but "" in Expect means that none was sent.
			return "", "", &auth.Error{Detail: auth.DetailKeyMismatch}
		}
	}
	return raw, clientKey, nil
}

// challenge is that of RFC 6750, section 3.
func challenge(err error) string {
	e, ok := errors.AsType[*auth.Error](err)
	switch {
	case !ok:
		return "Bearer"
	case e.Detail == auth.DetailScope:
		return `Bearer error="insufficient_scope", scope="` + e.Reason + `"`
	}
	return `Bearer error="invalid_token"`
}

// Challenge implements auth.Mechanism.
func (m *Mechanism) Challenge(t *auth.Tenant, err error) string {
	challenge := challenge(err)
	if !m.ResourceMetadata {
		return challenge
	}
	separator := ", "
	if challenge == "Bearer" {
		separator = " "
	}
	return challenge + separator + `resource_metadata="` + t.WellKnown("oauth-protected-resource") + `"`
}

// fault returns the *auth.Error for an error of package token.
func fault(err error) error {
	var detail string
	switch {
	case errors.Is(err, auth.ErrUnavailable):
		return err // first: see auth.IsNotFound
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
			return e // from the application's Admit or Spent
		}
		return auth.Unavailable(err)
	}
	return &auth.Error{Detail: detail, Err: err}
}
