package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// settings serves the session policy of an org.
type settings struct{ store *store }

type settingsReply struct {
	envelope.Item
	Idle                int64 `json:"idle"`       // seconds
	MaxSession          int64 `json:"maxSession"` // seconds
	RequireSecondFactor bool  `json:"requireSecondFactor"`
	SessionsPerAccount  int64 `json:"sessionsPerAccount"`
}

func replyOfSettings(o *auth.Org) settingsReply {
	s := o.Session.Effective()
	return settingsReply{
		Item:                envelope.Item{ID: o.Code, Object: "settings"},
		Idle:                int64(s.Idle / time.Second),
		MaxSession:          int64(s.Max / time.Second),
		RequireSecondFactor: s.SecondFactor,
		SessionsPerAccount:  int64(s.PerAccount),
	}
}

func (h settings) get(r *http.Request) (settingsReply, error) {
	o, err := h.store.Org(r.Context(), auth.TenantFrom(r.Context()).Org.Code)
	if err != nil {
		return settingsReply{}, err
	}
	return replyOfSettings(o), nil
}

var settingsForm = body.Form{
	{Path: "idle", Kind: body.Integer},
	{Path: "maxSession", Kind: body.Integer},
	{Path: "requireSecondFactor", Kind: body.Boolean},
	{Path: "sessionsPerAccount", Kind: body.Integer},
}

func (h settings) update(r *http.Request) (settingsReply, error) {
	values, err := readValues(r, settingsForm)
	if err != nil {
		return settingsReply{}, err
	}
	wrong := invalid{detail: auth.DetailBody}
	const year = 365 * 24 * 60 * 60
	inRange(&wrong, values, "idle", 1, year)
	inRange(&wrong, values, "maxSession", 1, year)
	inRange(&wrong, values, "sessionsPerAccount", 1, 1000)
	if err := wrong.orNil(); err != nil {
		return settingsReply{}, err
	}
	p := auth.From(r.Context())
	o, err := alter(r.Context(), h.store, orgRow(string(p.Org)), func(o *auth.Org) error {
		before := o.Session.Effective()
		if seconds, given := values["idle"].(int64); given {
			o.Session.Idle = time.Duration(seconds) * time.Second
		}
		if seconds, given := values["maxSession"].(int64); given {
			o.Session.Max = time.Duration(seconds) * time.Second
		}
		if most, given := values["sessionsPerAccount"].(int64); given {
			o.Session.PerAccount = int(most)
		}
		setIfGiven(&o.Session.SecondFactor, values, "requireSecondFactor")
		if !weakens(before, o.Session.Effective()) {
			return nil
		}
		return mayMake(p, auth.Everything(p.Account)) // because everybody's sessions last longer
	})
	if err != nil {
		return settingsReply{}, err
	}
	return replyOfSettings(o), nil
}

func inRange(wrong *invalid, values map[string]any, path string, from, to int64) {
	if n, given := values[path].(int64); given && (n < from || n > to) {
		wrong.add(path, fmt.Sprintf("must be %d to %d", from, to))
	}
}

// weakens reports whether after makes sessions easier to get or to keep than
// before.
func weakens(before, after auth.SessionPolicy) bool {
	return after.Idle > before.Idle || after.Max > before.Max || before.SecondFactor && !after.SecondFactor ||
		after.PerAccount > before.PerAccount
}
