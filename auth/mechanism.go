package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Mechanism is one way to prove who is calling.
//
// "Not mine" and "no" are different answers. Presented reports whether the request has this
// mechanism's credential. It reads only headers and records nothing. If the Guard chooses
// this mechanism, Authenticate decides, and its error is final: no other mechanism is tried.
//
// Implementations are safe for concurrent use. An error is an *Error, or it wraps
// ErrUnavailable if a store did not answer. authtest.CheckMechanism checks all of this.
type Mechanism interface {
	// Name returns what principals have as their Mechanism, and what Need.By and Need.Fresh
	// name. It is not empty and always the same.
	Name() string

	Presented(r *http.Request) Presence

	// Authenticate returns the principal of a request that presents this mechanism's
	// credential. It records last (a nonce, a use), after every check that needs no record.
	// It looks up accounts and apps through t, and the principal must have t's org. Its store
	// calls use ctx, which ends with the Guard's Timeout; the request's own context does not.
	// It must not call Guard.Check, which would wait for it.
	Authenticate(ctx context.Context, r *http.Request, t *Tenant) (Principal, error)

	// Challenge returns the WWW-Authenticate value of a refusal. err is the refusal if this
	// mechanism ran, and nil otherwise. The Guard calls Challenge for each 401. For a missing
	// scope it calls only the mechanism that authenticated the request. "" adds no header. Of
	// several challenges with one scheme, the first one is sent, or that of the mechanism that ran.
	Challenge(t *Tenant, err error) string

	// Bind gets what the Guard says for all its mechanisms, the value that Tenant.Settings
	// returns later. Guard.Validate calls it. It returns an error if a field of the mechanism
	// is missing or wrong, or if the mechanism cannot serve this Guard beside another one.
	Bind(s *Settings) error
}

// Settings are what a Guard says once for all its mechanisms. They do not change.
type Settings struct {
	Brand   Brand
	Scopes  *scope.Grammar // nil: the standard grammar
	Roles   Roles
	Ceiling bool
	Now     func() time.Time // nil: time.Now

	Mechanisms []Mechanism // all of the Guard
}

// Same reports whether a mechanism that is bound to s can also serve a Guard with the settings
// t. If both have a clock of their own, it must be one clock: clocks cannot be compared.
func (s *Settings) Same(t *Settings) bool {
	return s == t || s.Brand == t.Brand && s.Scopes == t.Scopes && s.Roles == t.Roles &&
		s.Ceiling == t.Ceiling && (s.Now == nil) == (t.Now == nil)
}

// Roles says whether the roles of an account limit its sessions and signed requests. Only
// handlers know which one a server means, so a Guard that does not say is not valid. What a
// token may do is another question: see Guard.Ceiling.
type Roles uint8

const (
	// RolesLimit permits a session and a signed request only the chains of the roles of the
	// account that it acts as. A role without chains permits nothing, and an account without
	// roles may do nothing that needs a scope. If the credential of a signed request has a
	// scope, too, both must permit. With an account header, the account in the header counts,
	// and the roles of the caller do not matter.
	RolesLimit Roles = iota + 1

	// RolesDoNotLimit permits every session every operation, whoever logged in, and every
	// signed request whose credential has no scope, too. Handlers decide by Principal.Roles.
	RolesDoNotLimit
)

// Presence says how a request carries a mechanism's credential.
type Presence uint8

const (
	Absent   Presence = iota
	InCookie          // sent by a browser by itself; yields to a header
	InHeader          // sent on purpose; the headers of two mechanisms are ambiguous
)

// none is the index that stands for no mechanism.
const none int32 = -1
