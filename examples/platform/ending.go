package main

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/token"
)

// soon is how long before its end a credential is in the list of what ends.
const soon = 14 * 24 * time.Hour

var endingSchema = &paging.Schema{
	Object: "ending",
	Properties: []paging.Property{
		{Path: "ends", Type: paging.Date, Filter: true, Sort: true},
		{Path: "kind", Type: paging.String, Filter: true},
		{Path: "app", Type: paging.String, Filter: true},
	},
}

// endingReply is what ends soon. Its _id is that of the token or API key, or the client key of the
// credential.
type endingReply struct {
	envelope.Item
	Kind    string `json:"kind"` // token, key or credential
	App     string `json:"app"`
	Account string `json:"account,omitempty"` // whose it is
	face
	Ends string `json:"ends"`
}

// face is what lists show of each credential.
type face struct {
	Name    string       `json:"name,omitempty"`
	Maker   string       `json:"maker,omitempty"`      // account; none: the server itself
	Used    string       `json:"lastUsed,omitempty"`   // at most two hours before the last use
	Address netip.Prefix `json:"lastAddress,omitzero"` // where that use came from: a /24 or a /48
}

func (e endingReply) property(path string) (value any, ok bool) {
	switch path {
	case "ends":
		return e.Ends, true
	case "kind":
		return e.Kind, true
	case "app":
		return e.App, true
	}
	return itemProperty(e.Item, path)
}

// ending lists the tokens, API keys and signing credentials of an org that end soon.
func (h *tokens) ending(r *http.Request) (envelope.List[endingReply], error) {
	return pageFrom(r, h.store, endingSchema, endingReply.property, func(_ paging.Query, kept *collected[endingReply]) error {
		all, err := h.store.listApps(r.Context(), auth.From(r.Context()).Org)
		for _, app := range all {
			if err == nil && !app.Disabled {
				err = h.addEnding(r.Context(), app, kept)
			}
		}
		return err
	})
}

// addEnding adds what ends of an app. What is disabled or replaced needs no notice.
func (h *tokens) addEnding(ctx context.Context, app *app, kept *collected[endingReply]) error {
	add := func(id, kind, account string, f face, ends time.Time) {
		if left := time.Until(ends); 0 < left && left < soon { // the zero time is long ago
			kept.add(endingReply{envelope.Item{ID: id, Object: endingSchema.Object}, kind, app.ClientKey, account, f, date(ends)})
		}
	}
	c, err := h.stores.credentials.Credential(ctx, app.ClientKey)
	if err == nil && !c.Disabled {
		add(app.ClientKey, "credential", c.Account, faceOf(cmp.Or(c.Name, app.Name), c.Maker, c.Seen, c.From), c.NotAfter)
	}
	if err != nil && !auth.IsNotFound(err) {
		return storeFailed(err)
	}
	for k, err := range apikey.Records(ctx, h.stores.apiKeys, apikey.Of{Org: app.Org, App: app.ClientKey}) {
		switch {
		case err != nil:
			return storeFailed(err)
		case k.LiveAt(time.Now()) && k.Successor == "":
			add(k.ID, "key", k.Account, faceOf(k.Name, k.Maker, k.Seen, k.From), k.Expires)
		}
	}
	for page, err := range h.live(ctx, anyOf(ctx, app.ClientKey), token.Position{}) {
		if err != nil {
			return err
		}
		for _, t := range page {
			add(t.ID, "token", t.Subject, faceOf(t.Name, t.Maker, t.Seen, t.From), t.Expires)
		}
	}
	return nil
}

func faceOf(name, maker string, seen time.Time, from netip.Prefix) face {
	return face{name, maker, date(seen), from}
}
