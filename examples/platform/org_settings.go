package main

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

type settings struct{ *platform }

type settingsReply struct {
	envelope.Item
	Idle                int64 `json:"idle"`       // seconds
	MaxSession          int64 `json:"maxSession"` // seconds
	RequireSecondFactor bool  `json:"requireSecondFactor"`
	SessionsPerAccount  int64 `json:"sessionsPerAccount"`
	RememberDevices     int64 `json:"rememberDevices"` // in which a remembered device needs no code; 0: none is remembered
}

func replyOfSettings(o *auth.Org) settingsReply {
	s := o.Session.Effective()
	return settingsReply{
		Item:                envelope.Item{ID: o.Code, Object: "settings"},
		Idle:                int64(s.Idle / time.Second),
		MaxSession:          int64(s.Max / time.Second),
		RequireSecondFactor: s.SecondFactor,
		SessionsPerAccount:  int64(s.PerAccount),
		RememberDevices:     int64(max(s.RememberDevice, 0) / day),
	}
}

func (h settings) get(r *http.Request) (settingsReply, error) {
	return as(replyOfSettings)(h.store.Org(r.Context(), auth.TenantFrom(r.Context()).Org.Code))
}

const day = 24 * time.Hour

const year = 365 * 24 * 60 * 60 // seconds

var settingsForm = body.Form{
	{Path: "idle", Kind: seconds(1, year)},
	{Path: "maxSession", Kind: seconds(1, year)},
	{Path: "requireSecondFactor", Kind: body.Boolean},
	{Path: "sessionsPerAccount", Kind: between(1, 1000)},
	{Path: "rememberDevices", Kind: between(0, 90)},
}

func (h settings) update(r *http.Request, values map[string]any) (settingsReply, error) {
	p := auth.From(r.Context())
	at := orgRow(string(p.Org))
	at.changed.Reason = strings.Join(slices.Sorted(maps.Keys(values)), " ")
	return as(replyOfSettings)(alter(r.Context(), h.store, at, func(o *auth.Org) error {
		before := o.Session.Effective()
		setIfGiven(&o.Session.Idle, values, "idle")
		setIfGiven(&o.Session.Max, values, "maxSession")
		if most, given := values["sessionsPerAccount"].(int64); given {
			o.Session.PerAccount = int(most)
		}
		if days, given := values["rememberDevices"].(int64); given {
			o.Session.RememberDevice = cmp.Or(time.Duration(days)*day, -1) // 0 would be the default
		}
		setIfGiven(&o.Session.SecondFactor, values, "requireSecondFactor")
		if !weakens(before, o.Session.Effective()) {
			return nil
		}
		return mayMake(p, auth.Everything(p.Account)) // because everybody's sessions last longer
	}))
}

// weakens reports whether after makes sessions easier to get or to keep than before.
func weakens(before, after auth.SessionPolicy) bool {
	return after.Idle > before.Idle || after.Max > before.Max || before.SecondFactor && !after.SecondFactor ||
		after.PerAccount > before.PerAccount || after.RememberDevice > before.RememberDevice
}
