package signature

import (
	"context"
	"errors"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/signing"
)

// Client authenticates an app that proves its credential in another way than by signing the
// request, as clients of OAuth do (package oauth). proves returns the Key that has made the
// proof, or nil. It gets the Key of the credential, or nil for an unknown client key, and should
// take the same time for both.
//
// A credential that proves passes the checks of a signed request: app and org, dates, networks,
// its own account, and the lowest version that the Policy and the credential accept. version is that
// of the signatures which protect as much as the proof does: 1 for a secret that is sent.
//
// The principal is that of a signed request without an account header. If the credential has no
// account of its own, the principal has none. Client records nothing but the last use. The caller records proofs that
// could be sent again.
//
// The error has auth.DetailInvalidCredentials, whatever the reason, or wraps auth.ErrUnavailable. If
// everything but the version is right, it has auth.DetailForbidden.
func (m *Mechanism) Client(ctx context.Context, r *http.Request, t *auth.Tenant, clientKey string, version int, proves func(*signing.Key) *signing.Key) (_ auth.Principal, err error) {
	defer func() {
		if err != nil {
			t.Claim(auth.Claimed{Mechanism: Name, App: clientKey})
		}
	}()
	a := attempt{mechanism: m, tenant: t}
	var key *signing.Key              // nil: unknown
	if ascii.IsClientKey(clientKey) { // not every store accepts any text
		key, err = a.Key(ctx, clientKey)
	}
	if err != nil && !errors.Is(err, signing.ErrUnknownKey) {
		return auth.Principal{}, auth.Unavailable(err)
	}
	by := proves(key)
	if by == nil || key == nil {
		return auth.Principal{}, notProven(errors.New("signature: unknown client key or wrong proof"))
	}
	err = a.admitCredential(ctx, r, by)
	if err == nil && a.account != nil { // without one the principal may do nothing
		a.scope, err = a.limit(ctx, clientKey)
	}
	switch {
	case errors.Is(err, errRefused):
		return auth.Principal{}, notProven(err)
	case err != nil:
		return auth.Principal{}, auth.Unavailable(err)
	}
	if version < max(a.credential.MinVersion, m.Policy.Version) {
		return auth.Principal{}, &auth.Error{Detail: auth.DetailForbidden, Err: signing.ErrVersion}
	}
	p := a.principal(by)
	if store := a.due(); store != nil {
		a.see(ctx, store, r, p)
	}
	return p, nil
}

// Claim records that the proof of a Client is accepted, so that no endpoint and no process that
// shares the Replays accepts it again. The error has auth.DetailReplayed, DetailStaleSignature (the
// Replays began later than the proof was made) or DetailStoreFull, or wraps auth.ErrUnavailable.
func (m *Mechanism) Claim(ctx context.Context, proof signing.Use) error {
	if err := m.Replays.Claim(ctx, proof); err != nil {
		return fault(err)
	}
	return nil
}

func notProven(cause error) error {
	return &auth.Error{Detail: auth.DetailInvalidCredentials, Err: cause}
}
