package main

import (
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/envelope"
)

// devices serves the routes on which an account lists the devices that need no code, and forgets them.
type devices struct{ sessions *session.Manager }

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
	remembered, err := h.of(r)
	if err != nil {
		return envelope.List[deviceReply]{}, err
	}
	life := auth.TenantFrom(r.Context()).Org.Session.Effective().RememberDevice
	current := h.sessions.Sessions().Device(r, auth.From(r.Context()).Account)
	return ownPage(r, "device", each(remembered, func(d session.SessionInfo) deviceReply {
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
	}))
}

// forget ends no session, whose ids are of the same kind.
func (h devices) forget(r *http.Request) (envelope.Result[bool], error) {
	remembered, err := h.of(r)
	id := r.PathValue("id")
	if err == nil && !slices.ContainsFunc(remembered, func(d session.SessionInfo) bool { return d.ID == id }) {
		err = auth.ErrNotFound
	}
	if err != nil {
		return envelope.Result[bool]{}, err
	}
	p := auth.From(r.Context())
	return done(h.sessions.Sessions().Revoke(r.Context(), p.Org, p.Account, id))
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
