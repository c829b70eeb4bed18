package main

import (
	"context"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// secondFactor serves the routes by which an account sees, gets, replaces and removes
// its second factor.
type secondFactor struct {
	store    *store
	sessions *session.Manager
}

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
