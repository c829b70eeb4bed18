package main

import (
	"context"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// secondFactor serves the routes by which an account sees, gets, replaces and removes
// its second factor.
type secondFactor struct{ *platform }

// factorReply says what second factor an account has. It holds no secret.
type factorReply struct {
	Active            bool `json:"active"`  // logins require a code
	Pending           bool `json:"pending"` // begun, and not confirmed
	RecoveryCodesLeft int  `json:"recoveryCodesLeft"`
}

func factorOf(ctx context.Context, sessions *session.Manager, org auth.OrgKey, account string) (factorReply, error) {
	state, err := sessions.Factors().State(ctx, org, account)
	return factorReply{state.Active, state.Pending, state.RecoveryLeft}, err
}

func (h secondFactor) state(r *http.Request) (envelope.Result[factorReply], error) {
	p := auth.From(r.Context())
	return result(factorOf(r.Context(), h.sessions, p.Org, p.Account))
}

type enrolmentReply struct {
	Secret  shownOnce `json:"secret"`
	OTPAuth shownOnce `json:"otpauth"` // for a QR code
}

func (h secondFactor) enrol(r *http.Request) (none envelope.Result[enrolmentReply], err error) {
	e, err := h.sessions.Factors().Enrol(r)
	if err != nil {
		return none, err
	}
	org := auth.TenantFrom(r.Context()).Org.Key() // a ticket has no principal
	a, err := h.store.account(r.Context(), org, e.Account)
	if err != nil {
		return none, err
	}
	return result(enrolmentReply{
		Secret:  shownOnce(e.Secret.Base32()),
		OTPAuth: shownOnce(h.sessions.Factors().OTPAuth(string(org), a.Email, e.Secret)),
	}, nil)
}

type recoveryReply struct {
	RecoveryCodes []string `json:"recoveryCodes"` // shown once
}

func (h secondFactor) confirm(w http.ResponseWriter, r *http.Request, values map[string]any) (envelope.Result[recoveryReply], error) {
	codes, err := h.sessions.Factors().Confirm(w, r, values["code"].(string))
	return result(recoveryReply{codes}, err)
}

func (h secondFactor) remove(r *http.Request, values map[string]any) (envelope.Result[bool], error) {
	return done(h.sessions.Factors().Remove(r, values["code"].(string)))
}

// renewRecovery replaces the recovery codes, by a code of the factor or one of them.
func (h secondFactor) renewRecovery(r *http.Request, values map[string]any) (envelope.Result[recoveryReply], error) {
	codes, err := h.sessions.Factors().RenewRecovery(r, values["code"].(string))
	return result(recoveryReply{codes}, err)
}

var codeForm = body.Form{{Path: "code", Kind: body.String, Required: true}}

// devices serves the routes on which an account lists the devices that need no code, and forgets them.
type devices struct{ *platform }

type deviceReply struct {
	envelope.Item
	Name    string `json:"name"` // the locationName of the login, or else its User-Agent
	Created string `json:"created"`
	Seen    string `json:"seen"`
	Expires string `json:"expires"`
	Current bool   `json:"current"`
}

func (h devices) of(r *http.Request) ([]session.SessionInfo, error) {
	return h.sessions.Sessions().Devices(r.Context(), auth.TenantFrom(r.Context()).Org, auth.From(r.Context()).Account)
}

func (h devices) list(r *http.Request) (envelope.List[deviceReply], error) {
	life := auth.TenantFrom(r.Context()).Org.Session.Effective().RememberDevice
	current := h.sessions.Sessions().Device(r, auth.From(r.Context()).Account)
	return pageOf(r, "device", func(d session.SessionInfo) deviceReply {
		end := d.Created.Add(life)
		if d.Expires.Before(end) { // the org has made it longer since
			end = d.Expires
		}
		return deviceReply{
			Item:    envelope.Item{ID: d.ID, Object: "device"},
			Name:    d.Agent,
			Created: date(d.Created),
			Seen:    date(d.Seen),
			Expires: date(end),
			Current: d.ID == current,
		}
	})(h.of(r))
}

// forget ends no session, whose ids are of the same kind.
func (h devices) forget(r *http.Request) (envelope.Result[bool], error) {
	remembered, err := h.of(r)
	id := r.PathValue("id")
	if err == nil && !slices.ContainsFunc(remembered, func(d session.SessionInfo) bool { return d.ID == id }) {
		err = auth.ErrNotFound
	}
	if err == nil {
		p := auth.From(r.Context())
		err = h.sessions.Sessions().Revoke(r.Context(), p.Org, p.Account, id)
	}
	return done(err)
}

// forgetAll answers with the number of forgotten devices.
func (h devices) forgetAll(r *http.Request) (envelope.Result[int], error) {
	remembered, err := h.of(r)
	p, count := auth.From(r.Context()), 0
	for _, d := range remembered {
		switch err := h.sessions.Sessions().Revoke(r.Context(), p.Org, p.Account, d.ID); {
		case err == nil:
			count++
		case !auth.IsNotFound(err): // otherwise another request has forgotten it
			return envelope.Result[int]{}, err
		}
	}
	return result(count, err)
}
