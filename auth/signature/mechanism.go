package signature

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/signing"
)

// Name is what the mechanism is called in principals and in auth.Need.By.
const Name = "signature"

// Mechanism authenticates signed requests. Its fields must not be changed once
// it is in use; its methods are safe for concurrent use.
type Mechanism struct {
	Credentials Credentials     // required
	Replays     signing.Replays // required; shared by all instances of a server

	// Policy bounds time and replays; the zero Policy is the recommended one.
	// Its Header is set from the Guard's Brand.
	Policy signing.Policy

	// ClientAddr finds the client's address for credentials bound to
	// networks. nil: the connection's own. Behind a proxy, read here the one
	// header that the proxy sets itself: clients can write the others.
	ClientAddr func(*http.Request) netip.Addr
}

// Validate reports a missing field, and a bound below zero.
func (m *Mechanism) Validate() error {
	var missing []error
	if m.Credentials == nil {
		missing = append(missing, errors.New("signature: Mechanism.Credentials is required"))
	}
	if m.Replays == nil {
		missing = append(missing, errors.New("signature: Mechanism.Replays is required"))
	}
	for name, bound := range map[string]int64{
		"Tolerance": int64(m.Policy.Tolerance), "FutureTolerance": int64(m.Policy.FutureTolerance),
		"SiblingWindow": int64(m.Policy.SiblingWindow), "SiblingMax": int64(m.Policy.SiblingMax),
	} {
		if bound < 0 {
			missing = append(missing, fmt.Errorf("signature: Mechanism.Policy.%s must not be negative", name))
		}
	}
	return errors.Join(missing...)
}

// Presented implements auth.Mechanism. The client key alone is no credential:
// clients send it beside tokens, too. The account header is one, so that it is
// refused without a signature instead of being ignored.
func (m *Mechanism) Presented(r *http.Request) auth.Presence {
	names := signing.HeadersFor(auth.TenantFrom(r.Context()).Brand().Header)
	if names.Signed(r.Header) || len(r.Header[names.Account]) > 0 {
		return auth.Header
	}
	return auth.Absent
}

// Authenticate implements auth.Mechanism. It claims nonce and signature last.
//
// Details of its errors are auth.DetailAmbiguous, DetailMalformedSignature,
// DetailMethod, DetailPath, DetailStaleSignature, DetailInvalidSignature, DetailReplayed,
// DetailStoreFull, and DetailPrincipal for what the account header asks. Any other
// one wraps auth.ErrUnavailable.
func (m *Mechanism) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	a := attempt{mechanism: m, tenant: t}
	v := signing.Verifier{Keys: &a, Replays: m.Replays, Policy: m.Policy, Admit: a.admit}
	v.Policy.Header = t.Brand().Header
	key, err := v.Verify(ctx, r, t.Command)
	switch {
	case err != nil:
		return auth.Principal{}, fault(err)
	case a.override != nil:
		// Only now, after the claim: a captured request with another account
		// header must not tell which accounts there are, time and again.
		return auth.Principal{}, &auth.Error{Detail: auth.DetailPrincipal, Err: a.override}
	}
	return a.principal(key), nil
}

// Challenge implements auth.Mechanism.
func (m *Mechanism) Challenge(err error) string {
	switch {
	case detail(err) == auth.DetailScope:
		return ""
	case errors.Is(err, signing.ErrStale):
		return `Signature error="stale"`
	case errors.Is(err, signing.ErrReplayed):
		return `Signature error="replayed"`
	}
	return "Signature"
}

func detail(err error) string {
	if e, ok := errors.AsType[*auth.Error](err); ok {
		return e.Detail
	}
	return ""
}

// fault gives the errors of package signing their place in the table.
func fault(err error) error {
	var detail string
	switch {
	case errors.Is(err, signing.ErrMethod):
		detail = auth.DetailMethod
	case errors.Is(err, signing.ErrPath):
		detail = auth.DetailPath
	case errors.Is(err, signing.ErrAmbiguous):
		detail = auth.DetailAmbiguous
	case errors.Is(err, signing.ErrMalformed), errors.Is(err, signing.ErrNoSignature):
		detail = auth.DetailMalformedSignature
	case errors.Is(err, signing.ErrStale):
		detail = auth.DetailStaleSignature
	case errors.Is(err, signing.ErrMismatch), errors.Is(err, signing.ErrUnknownKey), errors.Is(err, errRefused):
		detail = auth.DetailInvalidSignature
	case errors.Is(err, signing.ErrReplayed):
		detail = auth.DetailReplayed
	case errors.Is(err, signing.ErrFull):
		detail = auth.DetailStoreFull
	default:
		return fmt.Errorf("%w: %w", auth.ErrUnavailable, err)
	}
	return &auth.Error{Detail: detail, Err: err}
}

func (m *Mechanism) now() time.Time {
	if m.Policy.Now == nil {
		return time.Now()
	}
	return m.Policy.Now()
}

func (m *Mechanism) clientAddr(r *http.Request) netip.Addr {
	if m.ClientAddr != nil {
		return m.ClientAddr(r).Unmap()
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return remote.Addr().Unmap()
}
