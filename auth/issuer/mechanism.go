package issuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/admission"
	"github.com/tenantkit/tenantkit/internal/compact"
	"github.com/tenantkit/tenantkit/internal/listing"
	"github.com/tenantkit/tenantkit/internal/recent"
	"github.com/tenantkit/tenantkit/scope"
)

// Name is the name of the mechanism in principals and in auth.Need.By.
const Name = admission.Issuer

// Mechanism authenticates bearer tokens of other issuers. In a Guard it stands beside a
// bearer.Mechanism, in any order: iss says whose token it is. One that has the iss of an Issuer
// of the org is this mechanism's alone, also if it is the client key of an own app. Up to 16 MiB
// of verified tokens are remembered for 5 minutes, and which of them an iss names for up to 4 MiB.
// The fields must not be changed once the Mechanism is in use. Its methods are safe for
// concurrent use.
type Mechanism struct {
	Issuers []*Issuer // required

	bound atomic.Pointer[bound] // nil: no Guard has called Bind
}

const (
	// rememberFor is how long a token is not verified again, and maxRemembered how many
	// KiB of tokens are remembered. With each request times, key and account are checked anyway.
	rememberFor   = 5 * time.Minute
	maxRemembered = 16 << 10

	maxSorted = 4 << 10 // KiB of tokens whose iss is remembered
)

// bound is what follows from the fields, whatever the settings of the Guard are.
type bound struct {
	issuers map[auth.OrgKey]map[string]*boundIssuer

	// brand is the Brand.Header of the first Guard, and clientKey the name of a header with it. Making
	// the name for each request would allocate.
	brand, clientKey string

	groups recent.Groups
	seen   recent.Answers[sent, *Foreign]

	sorting recent.Groups
	sorted  recent.Answers[sent, *boundIssuer] // nil: of none of them
}

// sent is the text of a token and the org that it was sent to. Two orgs may have the same issuer,
// each with its own audience.
type sent struct {
	org auth.OrgKey
	raw string
}

// Name implements auth.Mechanism.
func (m *Mechanism) Name() string { return Name }

// Bind implements auth.Mechanism. A Mechanism may serve several Guards.
func (m *Mechanism) Bind(s *auth.Settings) error {
	if len(m.Issuers) == 0 {
		return errors.New("issuer: Mechanism.Issuers must hold at least one")
	}
	b := &bound{issuers: map[auth.OrgKey]map[string]*boundIssuer{}, brand: s.Brand.Header, clientKey: http.CanonicalHeaderKey(s.Brand.Header + "Client-Key")}
	b.groups.Stale, b.groups.Limit = rememberFor, maxRemembered
	b.sorting.Stale, b.sorting.Limit = 1, maxSorted // the answers have no age, so the time is always the same
	for _, i := range m.Issuers {
		one, err := i.bind()
		if err != nil {
			return err
		}
		if b.issuers[i.Org][i.URL] != nil {
			return fmt.Errorf("issuer: two Issuers of %q in one org", i.URL)
		}
		if b.issuers[i.Org] == nil {
			b.issuers[i.Org] = map[string]*boundIssuer{}
		}
		b.issuers[i.Org][i.URL] = one
	}
	m.bound.CompareAndSwap(nil, b)
	return nil
}

// Presented implements auth.Mechanism. A token that is malformed, or of an unknown issuer, is left
// to the Guard's bearer.Mechanism if it has one.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	return admission.PresenceFor(Name, r)
}

// Owns reports whether a token has the iss of an Issuer of the org. Nobody has verified that iss:
// it only chooses who does.
func (m *Mechanism) Owns(org auth.OrgKey, raw string) bool {
	return m.bound.Load().of(org, raw) != nil
}

// of returns the issuer that a token names, or nil.
func (b *bound) of(org auth.OrgKey, raw string) *boundIssuer {
	if b == nil || b.issuers[org] == nil || len(raw) > compact.MaxToken {
		return nil
	}
	if i, ok := b.sorted.Find(&b.sorting, time.Time{}, sent{org, raw}); ok {
		return i
	}
	i := b.issuers[org][compact.Unverified(raw, "iss")]
	// The text may be a part of a buffer that is reused.
	b.sorted.Keep(&b.sorting, 0, time.Time{}, sent{org, strings.Clone(raw)}, recent.Found[*boundIssuer]{
		Value: i, Group: string(org), Cost: 1 + len(raw)/1024,
	})
	return i
}

// Authenticate implements auth.Mechanism.
//
// Details of its errors are auth.DetailAmbiguous, DetailInvalidToken, DetailTokenExpired,
// DetailTokenNotActive and DetailKeyMismatch, and those of Issuer.Map. Any other error wraps
// auth.ErrUnavailable.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	b := m.bound.Load()
	raw, clientKey, err := admission.Credential(r.Header["Authorization"], b.clientKeys(r.Header, t.Settings().Brand.Header))
	if err != nil {
		return auth.Principal{}, err
	}
	var p auth.Principal
	f, err := b.open(ctx, t.Org.Key(), raw, t.Now())
	switch {
	case err != nil:
	case clientKey != "": // no app of ours has issued it
		err = &auth.Error{Detail: auth.DetailKeyMismatch}
	default:
		p, err = f.principal(ctx, t)
	}
	if err != nil {
		t.Claim(auth.Claimed{App: compact.Unverified(raw, "iss"), Account: compact.Unverified(raw, "sub")})
		return auth.Principal{}, admission.Fault(err)
	}
	return p, nil
}

// clientKeys returns the client keys that a request to a Guard of a brand sends.
func (b *bound) clientKeys(h http.Header, brand string) []string {
	if b != nil && b.brand == brand {
		return h[b.clientKey]
	}
	return h.Values(brand + "Client-Key")
}

// open returns a verified token of an issuer of the org.
func (b *bound) open(ctx context.Context, org auth.OrgKey, raw string, now time.Time) (*Foreign, error) {
	i := b.of(org, raw)
	if i == nil {
		return nil, refused(errOtherIss)
	}
	if f, ok := b.seen.Find(&b.groups, now, sent{org, raw}); ok {
		// The key may have been withdrawn since.
		key, err := i.key(ctx, now, f.kid)
		if err != nil {
			return nil, err
		}
		if key.Equal(f.key) {
			return f, f.isDue(now)
		}
		b.groups.Forget(string(org)) // another key of this kid: verify again
	}
	key := sent{org, strings.Clone(raw)} // the text may be a part of a buffer that is reused
	return b.seen.Get(ctx, &b.groups, now, key, func() (recent.Found[*Foreign], error) {
		f, err := i.open(ctx, now, raw)
		// The token is kept as text, and its payload with pointers to its members.
		return recent.Found[*Foreign]{Value: f, Group: string(org), Cost: 1 + 3*len(raw)/1024}, err
	})
}

// principal returns the principal of a verified token. It does for an Identity what package bearer does
// for the claims of an own token.
func (f *Foreign) principal(ctx context.Context, t *auth.Tenant) (auth.Principal, error) {
	grant, err := f.issuer.grant(ctx, t, f)
	if err == nil && grant.App != "" {
		_, err = t.App(ctx, grant.App)
		err = admission.Refuse(err)
	}
	if err != nil {
		return auth.Principal{}, err
	}
	roles, err := admission.Enter(ctx, t, grant.Account, f.issued, grant.Roles)
	if err != nil {
		return auth.Principal{}, err
	}
	var granted scope.Set
	if len(grant.Scope) > 0 {
		granted = t.CompileRecord(f.issuer.source, grant.Account, grant.Scope)
	}
	if granted, err = admission.WithRoles(ctx, t, granted, grant.Scope != nil, roles); err != nil {
		return auth.Principal{}, err
	}
	p := t.Principal(Name, grant.App, grant.Account, roles, granted)
	p.Access, p.Expires = grant.Access, time.Unix(f.valid.Ends, 0).UTC()
	return p, nil
}

// Readmit implements auth.Readmitter.
func (m *Mechanism) Readmit(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	return m.Authenticate(ctx, r, t)
}

// Challenge implements auth.Mechanism. It is that of the Guard's bearer.Mechanism, if it has one.
func (m *Mechanism) Challenge(t *auth.Tenant, err error) string {
	if own := admission.Named(t.Settings(), admission.Bearer); own != nil {
		return own.Challenge(t, err)
	}
	return admission.Challenge(err)
}

// Schemes implements openapi.Describer.
func (m *Mechanism) Schemes(*auth.Settings) []listing.Scheme {
	return []listing.Scheme{{
		Authorization: "bearer",
		Format:        "JWT",
		Description:   "An access token of an identity provider that the org trusts.",
	}}
}
