package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// openSessions serves the routes on which an account lists its sessions and ends them.
type openSessions struct{ sessions *session.Manager }

type sessionReply struct {
	envelope.Item
	Created string `json:"created"`
	Seen    string `json:"seen"` // at most a twentieth of the idle time late
	Address string `json:"address"`
	Agent   string `json:"agent"`
	Current bool   `json:"current"`
	Reason  string `json:"reason,omitempty"` // why somebody acts for the account in it
}

func (h openSessions) list(r *http.Request) (envelope.List[sessionReply], error) {
	p := auth.From(r.Context())
	open, err := h.sessions.Sessions().List(r.Context(), auth.TenantFrom(r.Context()).Org, p.Account)
	if err != nil {
		return envelope.List[sessionReply]{}, err
	}
	return ownPage(r, "session", each(open, func(s session.SessionInfo) sessionReply {
		return sessionReply{
			Item:    envelope.Item{ID: s.ID, Object: "session"},
			Created: date(s.Created),
			Seen:    date(s.Seen),
			Address: s.Address,
			Agent:   s.Agent,
			Current: s.ID == p.SessionID,
			Reason:  s.Proof.Text,
		}
	}))
}

func (h openSessions) revoke(r *http.Request) (envelope.Result[bool], error) {
	p := auth.From(r.Context())
	return done(h.sessions.Sessions().Revoke(r.Context(), p.Org, p.Account, r.PathValue("id")))
}

// revokeOthers answers with the number of ended sessions.
func (h openSessions) revokeOthers(r *http.Request) (envelope.Result[int], error) {
	p := auth.From(r.Context())
	return result(h.sessions.Sessions().RevokeAll(r.Context(), p.Org, p.Account, p.SessionID))
}

var (
	bySession = auth.Authenticated.By(session.Name)

	// freshOrTicket admits a caller who has just signed in, and a caller who has
	// only the ticket to enrol a factor. The Manager checks the ticket.
	freshOrTicket = auth.Optional.By(session.Name).Fresh(stepUp)
	fresh         = bySession.Fresh(stepUp)
)

// stepUp is how long a session is fresh after a password or a code.
const stepUp = 10 * time.Minute

func (p *platform) sessionRoutes(mux router) {
	signIn := signIn{p.store, p.sessions, p.guard, newRegisterQuota()}
	mux.HandleFunc("POST /accounts", auth.Public, publicBody(ownPages(p.sessions, replyAs(signIn.register))),
		openapi.Route{Summary: "Register an account", Request: registrationForm, Reply: accountReply{}})
	mux.HandleFunc("POST /accounts/login", auth.Public, publicBody(ownPages(p.sessions, withBodyAs(loginForm, signIn.login))), openapi.Route{
		Summary:     "Sign in",
		Description: "If a second factor is wanted, send the same body with `location`, or `location` alone with the ticket cookie.",
		Request:     loginForm,
		Reply:       loginReply{},
	})
	mux.HandleFunc("GET /accounts/status", auth.Public, reply(signIn.status), openapi.Route{Summary: "Who is signed in", Reply: statusReply{}})
	mux.HandleFunc("GET /accounts/me", auth.Authenticated, reply(signIn.me), openapi.Route{Summary: "The caller's account", Reply: meReply{}})
	mux.HandleFunc("POST /accounts/me/logout", bySession, replyAs(signIn.logout),
		openapi.Route{Summary: "End the session", Reply: envelope.Result[bool]{}})
	mux.HandleFunc("POST /accounts/me/reauthenticate", bySession, withBodyAs(passwordForm, signIn.reauthenticate),
		openapi.Route{Summary: "Prove the password again", Request: passwordForm, Reply: accountReply{}})
	mux.HandleFunc("POST /accounts/me/password", fresh, withBodyAs(changeForm, signIn.changePassword),
		openapi.Route{Summary: "Change the password", Request: changeForm, Reply: accountReply{}})

	factor := secondFactor{p.store, p.sessions}
	mux.HandleFunc("GET /accounts/me/second-factor", bySession, reply(factor.state),
		openapi.Route{Summary: "What second factor the caller has", Reply: envelope.Result[factorReply]{}})
	mux.HandleFunc("POST /accounts/me/second-factor", freshOrTicket, publicBody(ownPages(p.sessions, reply(bodiless(factor.enrol)))),
		openapi.Route{Summary: "Begin a second factor", Reply: envelope.Result[enrolmentReply]{}})
	mux.HandleFunc("POST /accounts/me/second-factor/confirm", freshOrTicket, publicBody(ownPages(p.sessions, withBodyAs(codeForm, factor.confirm))),
		openapi.Route{Summary: "Confirm a second factor", Request: codeForm, Reply: envelope.Result[recoveryReply]{}})
	mux.HandleFunc("POST /accounts/me/second-factor/recovery-codes", fresh, reply(withBody(codeForm, factor.renewRecovery)), openapi.Route{
		Summary:     "Replace the recovery codes",
		Description: "All former recovery codes end.",
		Request:     codeForm,
		Reply:       envelope.Result[recoveryReply]{},
	})
	mux.HandleFunc("DELETE /accounts/me/second-factor", fresh, reply(withBody(codeForm, factor.remove)),
		openapi.Route{Summary: "Remove the second factor", Request: codeForm, Reply: envelope.Result[bool]{}})

	of := memberships{p.store, p.sessions, p.guard}
	mux.HandleFunc("GET /accounts/me/orgs", bySession, reply(of.list), ownList[orgReply]("List the other orgs of the person", "org"))
	mux.HandleFunc("POST /accounts/enter", auth.Public, publicBody(ownPages(p.sessions, replyAs(of.enter))), openapi.Route{
		Summary:     "Enter this org from another one of the person",
		Description: "The request carries the session cookie of another org of this host, whose session stays. This org decides what it accepts: it may ask for a second factor.",
		Reply:       accountReply{},
	})
	mux.HandleFunc("DELETE /accounts/me/act", bySession, replyAs(signIn.stopActing),
		openapi.Route{Summary: "Stop acting for the account", Description: "The session of the actor ends, too.", Reply: envelope.Result[bool]{}})

	open := openSessions{p.sessions}
	mux.HandleFunc("GET /accounts/me/sessions", bySession, reply(open.list), ownList[sessionReply]("List the caller's sessions", "session"))
	mux.HandleFunc("DELETE /accounts/me/sessions/{id}", bySession, reply(bodiless(open.revoke)),
		openapi.Route{Summary: "End a session", Reply: envelope.Result[bool]{}})
	mux.HandleFunc("DELETE /accounts/me/sessions", bySession, reply(bodiless(open.revokeOthers)),
		openapi.Route{Summary: "End the other sessions", Reply: envelope.Result[int]{}})

	devices := devices{p.sessions}
	mux.HandleFunc("GET /accounts/me/devices", bySession, reply(devices.list),
		ownList[deviceReply]("List the devices on which a login needs no code", "device"))
	mux.HandleFunc("DELETE /accounts/me/devices/{id}", bySession, reply(bodiless(devices.forget)),
		openapi.Route{Summary: "Forget a device", Reply: envelope.Result[bool]{}})
	mux.HandleFunc("DELETE /accounts/me/devices", bySession, reply(bodiless(devices.forgetAll)),
		openapi.Route{Summary: "Forget all devices", Reply: envelope.Result[int]{}})
}
