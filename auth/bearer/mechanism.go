package bearer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/listing"
	"github.com/tenantkit/tenantkit/token"
)

// Name is the name of the mechanism in principals and in auth.Need.By.
const Name = admission.Bearer

// Mechanism authenticates bearer tokens of the Authorization header (RFC 6750, section 2.1). It
// ignores tokens in the body and in the query. A token that has an id is spent once per request,
// after every other check. Mint signs tokens that the Mechanism accepts. Clock, namespace and
// grammar are the Guard's. The fields must not be changed once the Mechanism is in use. Its
// methods are safe for concurrent use.
type Mechanism struct {
	Keys    token.Keys    // required
	Signers token.Signers // required by Mint
	Ledger  token.Ledger  // nil: tokens with a jti are refused, and none is minted
	Cache   *token.Cache  // nil: every token is verified each time

	PerSubject int // permanent and limited-use tokens of one app and subject; 0: 10

	// ResourceMetadata adds the URL of the tenant's metadata to each challenge (RFC 9728, section
	// 5.1). Set it if the server serves that document, as package oauth does.
	ResourceMetadata bool

	bound atomic.Pointer[bound] // nil: no Guard has called Bind
	seen  face.Memory           // by ids of records
}

// bound is what follows from the settings of the Guard.
type bound struct {
	settings  *auth.Settings
	verifier  token.Verifier
	clientKey string // name of the header: making it for each request would allocate
}

// Name implements auth.Mechanism.
func (m *Mechanism) Name() string { return Name }

// Bind implements auth.Mechanism.
func (m *Mechanism) Bind(s *auth.Settings) error {
	if m.Keys == nil {
		return errors.New("bearer: Mechanism.Keys is required")
	}
	for _, other := range s.Mechanisms {
		if _, owns := other.(admission.Owner); other != nil && (other.Name() == admission.Issuer || other.Name() == admission.APIKey) && !owns {
			return fmt.Errorf("bearer: the mechanism %T hides Owns of the %s.Mechanism: embed it", other, other.Name())
		}
	}
	v := token.Verifier{Keys: m.Keys, Ledger: m.Ledger, Scopes: s.Scopes, Namespace: s.Brand.Claims, Cache: m.Cache, Now: s.Now}
	m.bound.CompareAndSwap(nil, &bound{s, v, http.CanonicalHeaderKey(s.Brand.Header + "Client-Key")})
	_, err := m.boundTo(s)
	return err
}

// boundTo returns what follows from the settings of a Guard. In those of another brand, claims would be
// unknown, and so limit nothing.
func (m *Mechanism) boundTo(s *auth.Settings) (*bound, error) {
	if b := m.bound.Load(); b != nil && b.settings.Same(s) {
		return b, nil
	}
	return nil, errors.New("bearer: the Mechanism serves another Guard, of other settings, or none")
}

// Presented implements auth.Mechanism. It checks only for the scheme, and whether the token is one of
// the Guard's issuer.Mechanism, or a key of its apikey.Mechanism. A malformed token after the scheme counts as presented, and
// Authenticate refuses it.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	return admission.PresenceFor(Name, r)
}

// Authenticate implements auth.Mechanism.
//
// Details of its errors are auth.DetailAmbiguous, DetailInvalidToken, DetailTokenExpired,
// DetailTokenNotActive and DetailKeyMismatch. Any other error wraps
// auth.ErrUnavailable, except if the mechanism was given to Guards of different settings.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.authenticate(ctx, r, t, nil)
}

// authenticate spends a use of the token and records it, unless look only looks.
func (m *Mechanism) authenticate(ctx context.Context, r *http.Request, t *auth.Tenant, look *peek) (auth.Principal, error) {
	b, err := m.boundTo(t.Settings())
	if err != nil {
		return auth.Principal{}, err
	}
	a := attempt{tenant: t, request: r, seen: &m.seen}
	if look != nil {
		b, a.seen = b.unspending(look), nil
	}
	raw, clientKey, err := admission.Credential(r.Header["Authorization"], r.Header[b.clientKey])
	if err != nil {
		return auth.Principal{}, err
	}
	verified, err := b.verifier.Verify(ctx, raw, token.Expect{
		Takes:     t.Takes,
		Org:       t.Org.Key(),
		ClientKey: clientKey,
		Admit:     a.admit,
		Use:       a.use,
		Spent:     a.checkMakers,
	})
	if err != nil {
		claim(t, raw)
		a.emit(ctx, err)
		return auth.Principal{}, admission.Fault(err)
	}
	return a.principal(verified), nil
}

// claim records whom a rejected token names.
func claim(t *auth.Tenant, raw string) {
	t.Claim(auth.Claimed{App: compact.Unverified(raw, "iss"), Account: compact.Unverified(raw, "sub")})
}

// Challenge implements auth.Mechanism.
func (m *Mechanism) Challenge(t *auth.Tenant, err error) string {
	challenge := admission.Challenge(err)
	if !m.ResourceMetadata {
		return challenge
	}
	separator := ", "
	if challenge == "Bearer" {
		separator = " "
	}
	return challenge + separator + `resource_metadata="` + t.WellKnown("oauth-protected-resource") + `"`
}

// Readmit implements auth.Readmitter. It finds a token that was revoked, and spends no use. It also
// refuses a limited-use token that has no use left, so the request of its last use is not kept open.
func (m *Mechanism) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.authenticate(ctx, r, t, &peek{ledger: m.Ledger})
}

// Schemes implements openapi.Describer.
func (m *Mechanism) Schemes(s *auth.Settings) []listing.Scheme {
	return []listing.Scheme{{
		Authorization: "bearer",
		Format:        "JWT",
		Description: "A token with scope chains in its claim `" + s.Brand.Claims + "scp`. The chains are checked by the server " +
			"and are no OAuth scopes: `x-need` of an operation has the chain that it needs.",
	}}
}
