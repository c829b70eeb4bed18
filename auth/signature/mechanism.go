package signature

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

// Name is the name of the mechanism in principals and in auth.Need.By.
const Name = "signature"

// Mechanism authenticates signed requests. Its fields must not be changed once it is in use. Its
// methods are safe for concurrent use.
type Mechanism struct {
	Credentials Credentials     // required
	Replays     signing.Replays // required; shared by all instances of a server

	// Policy limits versions, time and replays; the zero Policy is the recommended one, and takes
	// both versions. Its Header and its clock are the Guard's: leave these fields empty.
	Policy signing.Policy
}

// Validate reports a missing field, and a negative limit.
func (m *Mechanism) Validate() error {
	var problems []error
	problem := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, errors.New("signature: Mechanism."+text))
		}
	}
	problem(m.Credentials == nil, "Credentials is required")
	problem(m.Replays == nil, "Replays is required")
	problems = append(problems, m.Policy.Validate())
	return errors.Join(problems...)
}

// Bind implements auth.Binder. A Mechanism may serve several Guards.
func (m *Mechanism) Bind(s *auth.Settings) error {
	switch {
	case m.Policy.Header != "" && m.Policy.Header != s.Brand.Header:
		return errors.New("signature: Policy.Header is not that of the Guard's Brand: leave it empty")
	case m.Policy.Now != nil:
		return errors.New("signature: the clock of a Policy is the Guard's: leave Policy.Now empty")
	}
	return nil
}

// Presented implements auth.Mechanism. The client key alone is no credential, because clients
// also send it with tokens. The account header counts as a credential. So without a signature it
// is refused, not ignored. Outside a Guard the headers are those of Policy.Header.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	prefix := m.Policy.Header
	if t := auth.TenantFrom(r.Context()); t != nil {
		prefix = t.Brand().Header
	}
	names := signing.HeadersFor(prefix)
	if names.Version(r.Header) != 0 || len(r.Header[names.Account]) > 0 {
		return auth.Header
	}
	return auth.Absent
}

// Authenticate implements auth.Mechanism. It claims nonce and signature last.
//
// Details of its errors are auth.DetailAmbiguous, DetailMalformedSignature, DetailMethod,
// DetailPath, DetailStaleSignature, DetailInvalidSignature, DetailContentDigest,
// DetailBodyTooLarge, DetailReplayed, DetailStoreFull, and DetailPrincipal for a refused account
// header. Any other error wraps auth.ErrUnavailable.
//
// It reads the body of a request of version 2, and puts it back for the handler.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	a := attempt{mechanism: m, tenant: t}
	v := signing.Verifier{Keys: &a, Replays: m.Replays, Policy: m.Policy, Admit: a.admit}
	settings := t.Settings()
	v.Policy.Header, v.Policy.Now = settings.Brand.Header, settings.Now
	if m.Policy.Version != 1 && r.Header["Signature-Input"] != nil {
		v.BaseURL, v.Path = t.BaseURL(), t.Path()
		if r.Body != nil && r.Body != http.NoBody {
			v.Replays = afterBody{m.Replays, t, r.Context()}
		}
	}
	key, err := v.Verify(ctx, r, t.Command)
	if err != nil || a.overrideErr != nil {
		names := signing.HeadersFor(settings.Brand.Header)
		t.Claim(auth.Claimed{App: claimedKey(r.Header, names), Account: r.Header.Get(names.Account)})
	}
	switch {
	case err != nil:
		return auth.Principal{}, fault(err)
	case a.overrideErr != nil:
		// Only after the claim: otherwise a captured request could be sent again and again with
		// other account headers, to learn which accounts exist.
		return auth.Principal{}, &auth.Error{Detail: auth.DetailPrincipal, Err: a.overrideErr}
	}
	return a.principal(key), nil
}

// claimedKey returns the client key that a rejected request names, for events only.
func claimedKey(h http.Header, names signing.Headers) string {
	_, input, second := strings.Cut(h.Get("Signature-Input"), `keyid="`)
	if !second {
		return h.Get(names.ClientKey)
	}
	key, _, _ := strings.Cut(input, `"`)
	return key
}

// Challenge implements auth.Mechanism.
func (m *Mechanism) Challenge(err error) string {
	if detail(err) == auth.DetailScope {
		return ""
	}
	return m.Policy.Challenge(err)
}

// afterBody gives the claim the Guard's Timeout anew. It limits stores, but a body comes as fast
// as its client sends it.
type afterBody struct {
	signing.Replays
	tenant  *auth.Tenant
	request context.Context
}

func (a afterBody) Claim(_ context.Context, u signing.Use) error {
	ctx, cancel := a.tenant.Bound(a.request)
	defer cancel()
	return a.Replays.Claim(ctx, u)
}

// Used implements signing.UsedNonces if the store does. It is called before the body is read.
func (a afterBody) Used(ctx context.Context, clientKey, nonce string) (bool, error) {
	if store, ok := a.Replays.(signing.UsedNonces); ok {
		return store.Used(ctx, clientKey, nonce)
	}
	return false, nil
}

func detail(err error) string {
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return e.Detail
	}
	return ""
}

// fault returns the *auth.Error for an error of package signing.
func fault(err error) error {
	var detail string
	switch {
	case errors.Is(err, auth.ErrUnavailable):
		return err // first: see auth.IsNotFound
	case errors.Is(err, signing.ErrMethod):
		detail = auth.DetailMethod
	case errors.Is(err, signing.ErrDigest):
		detail = auth.DetailContentDigest
	case errors.Is(err, signing.ErrBodyTooLarge):
		detail = auth.DetailBodyTooLarge
	case errors.Is(err, signing.ErrPath):
		detail = auth.DetailPath
	case errors.Is(err, signing.ErrAmbiguous):
		detail = auth.DetailAmbiguous
	case errors.Is(err, signing.ErrMalformed), errors.Is(err, signing.ErrNoSignature):
		detail = auth.DetailMalformedSignature
	case errors.Is(err, signing.ErrStale):
		detail = auth.DetailStaleSignature
	case errors.Is(err, signing.ErrMismatch), errors.Is(err, signing.ErrUnknownKey), errors.Is(err, signing.ErrVersion),
		errors.Is(err, errRefused):
		detail = auth.DetailInvalidSignature
	case errors.Is(err, signing.ErrReplayed):
		detail = auth.DetailReplayed
	case errors.Is(err, signing.ErrFull):
		detail = auth.DetailStoreFull
	default:
		return auth.Unavailable(err)
	}
	return &auth.Error{Detail: detail, Err: err}
}
