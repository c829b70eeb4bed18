package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// openSessions serves the routes on which an account sees where it is signed
// in, and signs itself out there.
type openSessions struct{ sessions *session.Manager }

type sessionReply struct {
	envelope.Item
	Created string `json:"created"`
	Seen    string `json:"seen"` // a twentieth of the idle time late, at most
	Address string `json:"address"`
	Agent   string `json:"agent"`
	Current bool   `json:"current"`
}

func (h openSessions) list(r *http.Request) (envelope.List[sessionReply], error) {
	p := auth.From(r.Context())
	open, err := h.sessions.List(r.Context(), auth.TenantFrom(r.Context()).Org, p.Account)
	if err != nil {
		return envelope.List[sessionReply]{}, err
	}
	var replies []sessionReply
	for _, s := range open {
		replies = append(replies, sessionReply{
			Item:    envelope.Item{ID: s.ID, Object: "session"},
			Created: date(s.Created),
			Seen:    date(s.Seen),
			Address: s.Address,
			Agent:   s.Agent,
			Current: s.ID == p.SessionID,
		})
	}
	return ownPage(r, "session", replies)
}

func (h openSessions) revoke(r *http.Request) (envelope.Result[bool], error) {
	p := auth.From(r.Context())
	err := h.sessions.Revoke(r.Context(), p.Org, p.Account, r.PathValue("id"))
	return envelope.Result[bool]{Data: err == nil}, err
}

// revokeOthers answers with how many there were.
func (h openSessions) revokeOthers(r *http.Request) (envelope.Result[int], error) {
	p := auth.From(r.Context())
	n, err := h.sessions.RevokeAll(r.Context(), p.Org, p.Account, p.SessionID)
	return envelope.Result[int]{Data: n}, err
}

var (
	bySession = auth.Authenticated.By(session.Name)

	// freshOrTicket lets in whoever has just signed in, and whoever has only
	// the ticket for enrolling a factor, which the Manager checks.
	freshOrTicket = auth.Optional.By(session.Name).Fresh(stepUp)
	fresh         = bySession.Fresh(stepUp)
)

// stepUp is how long a password or a code counts as just given.
const stepUp = 10 * time.Minute

func (p *platform) sessionRoutes(mux *auth.Mux) {
	signIn := signIn{p.store, p.sessions, p.guard, newQuota(registerInterval, registerBurst, maxRegistering), p.proxies}
	mux.HandleFunc("POST /accounts", auth.Public, publicBody(ownPages(p.sessions, replyAs(signIn.register))))
	mux.HandleFunc("POST /accounts/login", auth.Public, publicBody(ownPages(p.sessions, replyAs(signIn.login))))
	mux.HandleFunc("GET /accounts/status", auth.Public, reply(signIn.status))
	mux.HandleFunc("POST /accounts/me/logout", bySession, replyAs(signIn.logout))
	mux.HandleFunc("POST /accounts/me/reauthenticate", bySession, replyAs(signIn.reauthenticate))
	mux.HandleFunc("POST /accounts/me/password", fresh, replyAs(signIn.changePassword))

	factor := secondFactor{p.store, p.sessions}
	mux.HandleFunc("POST /accounts/me/second-factor", freshOrTicket, publicBody(ownPages(p.sessions, replyAs(factor.enrol))))
	mux.HandleFunc("POST /accounts/me/second-factor/confirm", freshOrTicket, publicBody(ownPages(p.sessions, replyAs(factor.confirm))))
	mux.HandleFunc("DELETE /accounts/me/second-factor", fresh, replyAs(factor.remove))

	open := openSessions{p.sessions}
	mux.HandleFunc("GET /accounts/me/sessions", bySession, reply(open.list))
	mux.HandleFunc("DELETE /accounts/me/sessions/{id}", bySession, reply(bodiless(open.revoke)))
	mux.HandleFunc("DELETE /accounts/me/sessions", bySession, reply(bodiless(open.revokeOthers)))
}
