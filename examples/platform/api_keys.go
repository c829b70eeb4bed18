package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

// keyFormats are the API keys of this server. Give your own server a prefix of its own.
var keyFormats = []apikey.Format{{Prefix: "platform_key"}}

// apiKeys serves the API keys of apps. They are in the database, also with -redis.
type apiKeys struct {
	store     *store
	stores    *stores
	mechanism *apikey.Mechanism
	quota     *quota
}

// keySchema is the schema of lists of API keys. The store has them in the order of _id.
var keySchema = &paging.Schema{
	Object: "apiKey",
	Properties: []paging.Property{
		{Path: "account", Type: paging.String, Filter: true},
		{Path: "expires", Type: paging.Date, Filter: true, Null: true},
	},
}

// keyReply is an API key without its secret.
type keyReply struct {
	envelope.Item
	Name      string         `json:"name"`
	Account   string         `json:"account"`
	Maker     string         `json:"maker,omitempty"`
	Scope     []string       `json:"scope"`
	Networks  []netip.Prefix `json:"networks"` // null: anywhere
	Created   string         `json:"created"`
	Expires   string         `json:"expires,omitempty"`
	Uses      int64          `json:"uses"`
	MaxUses   int64          `json:"maxUses,omitempty"`
	Seen      string         `json:"seen,omitempty"` // at most an hour before the last use
	From      string         `json:"from,omitempty"` // where that use came from: a /24 or a /48
	Successor string         `json:"successor,omitempty"`
	Key       shownOnce      `json:"key,omitempty"` // in the reply to making it
}

func replyOfKey(r apikey.Record) keyReply {
	reply := keyReply{
		Item:      envelope.Item{ID: r.ID, Object: keySchema.Object},
		Name:      r.Name,
		Account:   r.Account,
		Maker:     r.Maker,
		Scope:     append([]string{}, r.Scope...),
		Networks:  r.Networks,
		Created:   date(r.Created),
		Expires:   date(r.Expires),
		Uses:      r.Used,
		MaxUses:   r.Uses,
		Seen:      date(r.Seen),
		Successor: r.Successor,
	}
	if r.From.IsValid() {
		reply.From = r.From.String()
	}
	return reply
}

// property returns what a list of keys can be filtered by.
func (k keyReply) property(path string) (value any, ok bool) {
	switch path {
	case "_id":
		return k.ID, true
	case "account":
		return k.Account, true
	case "expires":
		return k.Expires, k.Expires != ""
	}
	return k.Object, path == "object"
}

// list answers with the keys of an app. It keeps few more than the page in memory.
func (h apiKeys) list(r *http.Request) (page envelope.List[keyReply], err error) {
	ctx := r.Context()
	if err := h.store.queries.hold(ctx); err != nil {
		return page, err
	}
	q, err := keySchema.Parse(r.URL.RawQuery, anyProperty)
	if err != nil {
		return page, err
	}
	app, err := h.store.app(ctx, auth.From(ctx).Org, r.PathValue("key"))
	if err != nil {
		return page, err
	}
	first := q
	first.Skip, first.Limit = 0, q.Skip+q.Limit+1
	var kept []keyReply
	cut := false // there are so many bytes that the rest of the page is unknown
	for record, err := range apikey.Records(ctx, h.stores.apiKeys, apikey.Of{Org: app.Org, App: app.ClientKey}) {
		if err != nil {
			return page, storeFailed(err)
		}
		if kept = append(kept, replyOfKey(record)); len(kept) >= first.Limit+apikey.MaxPage {
			var more bool
			if kept, more = mempage.Page(kept, first, keyReply.property); more && len(kept) < first.Limit {
				cut, first.Limit = true, len(kept)
			}
		}
	}
	page.Data, page.HasMore = mempage.Page(kept, q, keyReply.property)
	page.HasMore = page.HasMore || cut && len(page.Data) > 0
	return page, nil
}

var (
	newKeyForm = body.Form{
		{Path: "name", Kind: checked(notKeyName), Required: true},
		{Path: "account", Kind: body.String}, // the owner; without it, that of the caller
		{Path: "scope", Kind: body.Strings, Required: true},
		{Path: "networks", Kind: networks},
		{Path: "maxUses", Kind: between(1, 1<<53)},
		{Path: "expiresIn", Kind: between(1, maxLife)}, // seconds; without it, never
	}
	replaceKeyForm = body.Form{
		{Path: "overlap", Kind: between(0, maxGrace), Required: true}, // seconds in which both work
		{Path: "expiresIn", Kind: between(1, maxLife)},
	}
)

const maxKeyName = 128 // bytes

func notKeyName(name string) string {
	if len(name) > maxKeyName {
		return fmt.Sprintf("must be a line of 1 to %d bytes", maxKeyName)
	}
	return notAppName(name)
}

// keyFields maps the library's names to the fields of a request for a key.
var keyFields = map[string]string{"sub": "account", "expires": "expiresIn", "uses": "maxUses"}

// create makes a key of an app. What it may do is judged by Make.
func (h apiKeys) create(r *http.Request, values map[string]any) (keyReply, error) {
	g := apikey.Grant{App: r.PathValue("key"), Expires: expiryIn(values)}
	setIfGiven(&g.Name, values, "name")
	setIfGiven(&g.Account, values, "account")
	setIfGiven(&g.Scope, values, "scope")
	setIfGiven(&g.Networks, values, "networks")
	setIfGiven(&g.Uses, values, "maxUses")
	return h.issue(r, func(by auth.Principal, t *auth.Tenant) (apikey.Key, apikey.Record, error) {
		return h.mechanism.Keys().Make(r.Context(), by, t, g)
	})
}

// replace makes the successor of a key, with the same grant and another end.
func (h apiKeys) replace(r *http.Request, values map[string]any) (keyReply, error) {
	id, err := h.find(r)
	if err != nil {
		return keyReply{}, err
	}
	overlap, _ := values["overlap"].(int64)
	return h.issue(r, func(by auth.Principal, t *auth.Tenant) (apikey.Key, apikey.Record, error) {
		until := t.Now().Add(time.Duration(overlap) * time.Second)
		return h.mechanism.Keys().Replace(r.Context(), by, t, id, until, expiryIn(values))
	})
}

func expiryIn(values map[string]any) time.Time {
	seconds, given := values["expiresIn"].(int64)
	if !given {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(seconds) * time.Second)
}

// issue answers with a new key. It outlives the caller's session, so the session must be fresh.
func (h apiKeys) issue(r *http.Request, issue func(auth.Principal, *auth.Tenant) (apikey.Key, apikey.Record, error)) (keyReply, error) {
	p := auth.From(r.Context())
	if err := h.quota.take(callerOf(p)); err != nil {
		return keyReply{}, err
	}
	if err := mustBeFresh(p); err != nil {
		return keyReply{}, err
	}
	key, record, err := issue(p.AsAdministrator(p.HasRole(administrator)), auth.TenantFrom(r.Context()))
	if err != nil {
		return keyReply{}, inFields(err, keyFields)
	}
	reply := replyOfKey(record)
	reply.Key = shownOnce(key)
	return reply, nil
}

func (h apiKeys) revoke(r *http.Request) (envelope.Result[bool], error) {
	id, err := h.find(r)
	if err == nil {
		err = h.mechanism.Keys().Revoke(r.Context(), auth.From(r.Context()).Org, id)
	}
	return done(err)
}

// find returns the id of the key that the path names. Those of other apps do not exist.
func (h apiKeys) find(r *http.Request) (string, error) {
	record, err := h.mechanism.Keys().Get(r.Context(), auth.From(r.Context()).Org, r.PathValue("id"))
	if err == nil && record.App != r.PathValue("key") {
		err = auth.ErrNotFound
	}
	return record.ID, err
}

// endKeys ends API keys in a transaction. Call Invalidate after it.
func endKeys(ctx context.Context, in *sqlstore.In, of apikey.Of) error {
	keys := in.APIKeys()
	for record, err := range apikey.Records(ctx, keys, of) {
		if err == nil {
			err = keys.Revoke(ctx, of.Org, record.ID)
		}
		if err != nil && !auth.IsNotFound(err) {
			return storeFailed(err)
		}
	}
	return nil
}
