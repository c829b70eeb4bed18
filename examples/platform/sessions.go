package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
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
	return h.listOf(r, auth.From(r.Context()).Account)
}

func (h openSessions) listOf(r *http.Request, account string) (envelope.List[sessionReply], error) {
	p := auth.From(r.Context())
	open, err := h.sessions.Sessions().List(r.Context(), auth.TenantFrom(r.Context()).Org, account)
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

// sessionsOf serves the sessions of other accounts, which administrators see and end.
type sessionsOf struct {
	openSessions
	store *store
}

func (h sessionsOf) list(r *http.Request) (envelope.List[sessionReply], error) {
	if _, err := h.account(r); err != nil {
		return envelope.List[sessionReply]{}, err
	}
	return h.listOf(r, r.PathValue("id"))
}

func (h sessionsOf) revoke(r *http.Request) (envelope.Result[bool], error) {
	a, err := h.account(r)
	if err == nil {
		err = h.sessions.Sessions().Revoke(r.Context(), a.Org, a.ID, r.PathValue("session"))
	}
	return done(err)
}

// revokeAll answers with the number of ended sessions. The one of the request stays.
func (h sessionsOf) revokeAll(r *http.Request) (envelope.Result[int], error) {
	a, err := h.account(r)
	if err != nil {
		return envelope.Result[int]{}, err
	}
	return result(h.sessions.Sessions().RevokeAll(r.Context(), a.Org, a.ID, auth.From(r.Context()).SessionID))
}

func (h sessionsOf) account(r *http.Request) (*account, error) {
	return h.store.account(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
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
	mux.HandleFunc("POST /accounts", auth.Public, publicBody(ownPages(p.sessions, replyAs(signIn.register))))
	mux.HandleFunc("POST /accounts/login", auth.Public, publicBody(ownPages(p.sessions, withBodyAs(loginForm, signIn.login))))
	mux.HandleFunc("GET /accounts/status", auth.Public, reply(signIn.status))
	mux.HandleFunc("GET /accounts/me", auth.Authenticated, reply(signIn.me))
	mux.HandleFunc("POST /accounts/me/logout", bySession, replyAs(signIn.logout))
	mux.HandleFunc("POST /accounts/me/reauthenticate", bySession, withBodyAs(passwordForm, signIn.reauthenticate))
	mux.HandleFunc("POST /accounts/me/password", fresh, withBodyAs(changeForm, signIn.changePassword))

	factor := secondFactor{p.store, p.sessions}
	mux.HandleFunc("GET /accounts/me/second-factor", bySession, reply(factor.state))
	mux.HandleFunc("POST /accounts/me/second-factor", freshOrTicket, publicBody(ownPages(p.sessions, reply(bodiless(factor.enrol)))))
	mux.HandleFunc("POST /accounts/me/second-factor/confirm", freshOrTicket, publicBody(ownPages(p.sessions, withBodyAs(codeForm, factor.confirm))))
	mux.HandleFunc("POST /accounts/me/second-factor/recovery-codes", fresh, reply(withBody(codeForm, factor.renewRecovery)))
	mux.HandleFunc("DELETE /accounts/me/second-factor", fresh, reply(withBody(codeForm, factor.remove)))

	of := memberships{p.store, p.sessions, p.guard}
	mux.HandleFunc("GET /accounts/me/orgs", bySession, reply(of.list))
	mux.HandleFunc("POST /accounts/enter", auth.Public, publicBody(ownPages(p.sessions, replyAs(of.enter))))
	mux.HandleFunc("DELETE /accounts/me/act", bySession, replyAs(signIn.stopActing))

	open := openSessions{p.sessions}
	mux.HandleFunc("GET /accounts/me/sessions", bySession, reply(open.list))
	mux.HandleFunc("DELETE /accounts/me/sessions/{id}", bySession, reply(bodiless(open.revoke)))
	mux.HandleFunc("DELETE /accounts/me/sessions", bySession, reply(bodiless(open.revokeOthers)))

	devices := devices{p.sessions}
	mux.HandleFunc("GET /accounts/me/devices", bySession, reply(devices.list))
	mux.HandleFunc("DELETE /accounts/me/devices/{id}", bySession, reply(bodiless(devices.forget)))
	mux.HandleFunc("DELETE /accounts/me/devices", bySession, reply(bodiless(devices.forgetAll)))
}
