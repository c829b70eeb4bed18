package main

import (
	"cmp"
	"net/http"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
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
	Name    string `json:"name,omitempty"`
	Maker   string `json:"maker,omitempty"`       // account; none: the server itself
	Used    string `json:"lastUsed,omitempty"`    // at most two hours before the last use
	Address string `json:"lastAddress,omitempty"` // where that use came from: a /24 or a /48
}

func (e endingReply) property(path string) (value any, ok bool) {
	switch path {
	case "_id":
		return e.ID, true
	case "ends":
		return e.Ends, true
	case "kind":
		return e.Kind, true
	case "app":
		return e.App, true
	}
	return e.Object, path == "object"
}

// ending lists the tokens, API keys and signing credentials of an org that end soon.
func (h *tokens) ending(r *http.Request) (page envelope.List[endingReply], err error) {
	ctx := r.Context()
	if err := h.store.queries.hold(ctx); err != nil {
		return page, err
	}
	q, err := endingSchema.Parse(r.URL.RawQuery, anyProperty)
	if err != nil {
		return page, err
	}
	all, err := h.store.listApps(ctx, auth.From(ctx).Org)
	if err != nil {
		return page, err
	}
	kept := &endings{now: time.Now(), query: q}
	kept.query.Skip, kept.query.Limit = 0, q.Skip+q.Limit+1
	for _, app := range all {
		if err := h.endingOf(r, app, kept); err != nil {
			return page, err
		}
	}
	page.Data, page.HasMore = mempage.Page(kept.all, q, endingReply.property)
	page.HasMore = page.HasMore || kept.cut && len(page.Data) > 0
	return page, nil
}

// endings are what a page may have. It keeps few more than those of the page.
type endings struct {
	now   time.Time
	query paging.Query
	all   []endingReply
	cut   bool // there are so many bytes that it keeps fewer: those after them are unknown
}

func (e *endings) add(id, kind, app, account string, f face, ends time.Time) {
	if ends.IsZero() || !ends.After(e.now) || ends.Sub(e.now) >= soon {
		return
	}
	e.all = append(e.all, endingReply{envelope.Item{ID: id, Object: endingSchema.Object}, kind, app, account, f, date(ends)})
	if len(e.all) >= e.query.Limit+room {
		var more bool
		if e.all, more = mempage.Page(e.all, e.query, endingReply.property); more && len(e.all) < e.query.Limit {
			e.cut, e.query.Limit = true, len(e.all)
		}
	}
}

// endingOf adds what ends of an app. What is disabled or replaced needs no notice.
func (h *tokens) endingOf(r *http.Request, app *app, kept *endings) error {
	ctx := r.Context()
	if app.Disabled {
		return nil
	}
	c, err := h.stores.credentials.Credential(ctx, app.ClientKey)
	if err == nil && !c.Disabled {
		kept.add(app.ClientKey, "credential", app.ClientKey, c.Account, faceOf(cmp.Or(c.Name, app.Name), c.Maker, c.Seen, c.From), c.NotAfter)
	}
	if err != nil && !auth.IsNotFound(err) {
		return storeFailed(err)
	}
	for k, err := range apikey.Records(ctx, h.stores.apiKeys, apikey.Of{Org: app.Org, App: app.ClientKey}) {
		switch {
		case err != nil:
			return storeFailed(err)
		case k.LiveAt(kept.now) && k.Successor == "":
			kept.add(k.ID, "key", app.ClientKey, k.Account, faceOf(k.Name, k.Maker, k.Seen, k.From), k.Expires)
		}
	}
	standing, err := h.standing(ctx, app.ClientKey)
	if err != nil {
		return err
	}
	for after, more := (token.Position{}), true; more; more = !after.IsZero() {
		var records []token.Record
		records, after, err = h.ledger.List(ctx, token.Holder{Org: app.Org, ClientKey: app.ClientKey, Subject: token.AnySubject}, after, token.MaxPage)
		if err != nil {
			return storeFailed(err)
		}
		if records, err = standing.among(ctx, records); err != nil {
			return err
		}
		for _, t := range records {
			kept.add(t.ID, "token", app.ClientKey, t.Subject, faceOf(t.Name, t.Maker, t.Seen, t.From), t.Expires)
		}
	}
	return nil
}

func faceOf(name, maker string, seen time.Time, from netip.Prefix) face {
	f := face{Name: name, Maker: maker, Used: date(seen)}
	if from.IsValid() {
		f.Address = from.String()
	}
	return f
}
