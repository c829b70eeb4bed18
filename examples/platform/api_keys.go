package main

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/scope"
)

// apiKeys serves the API keys of apps. They are in the database, also with -redis.
type apiKeys struct {
	*platform
	mechanism *apikey.Mechanism
}

// keySchema is the schema of lists of API keys. The store has them in the order of _id.
var keySchema = &paging.Schema{
	Object: "key",
	Properties: []paging.Property{
		{Path: "account", Type: paging.String, Filter: true},
		{Path: "expires", Type: paging.Date, Filter: true, Null: true},
	},
}

// keyReply is an API key without its secret.
type keyReply struct {
	envelope.Item
	face
	Name      string         `json:"name"` // each has one
	App       string         `json:"app"`  // client key
	Account   string         `json:"account"`
	Scope     []string       `json:"scope"`
	Networks  []netip.Prefix `json:"networks"` // null: anywhere
	Created   string         `json:"created"`
	Expires   string         `json:"expires,omitempty"`
	Uses      int64          `json:"uses"`
	MaxUses   int64          `json:"maxUses,omitempty"`
	Successor string         `json:"successor,omitempty"`
	Key       shownOnce      `json:"key,omitempty"` // in the reply to making it
}

func replyOfKey(r apikey.Record) keyReply {
	return keyReply{
		Item:      envelope.Item{ID: r.ID, Object: keySchema.Object},
		Name:      r.Name,
		App:       r.App,
		face:      faceOf("", r.Maker, r.Seen, r.From),
		Account:   r.Account,
		Scope:     append([]string{}, r.Scope...),
		Networks:  r.Networks,
		Created:   date(r.Created),
		Expires:   date(r.Expires),
		Uses:      r.Used,
		MaxUses:   r.Uses,
		Successor: r.Successor,
	}
}

// property returns what a list of keys can be filtered by.
func (k keyReply) property(path string) (value any, ok bool) {
	switch path {
	case "account":
		return k.Account, true
	case "expires":
		return k.Expires, k.Expires != ""
	}
	return itemProperty(k.Item, path)
}

// list answers with the keys of an app, or of all apps if the path names none. Others than administrators see
// their own.
func (h apiKeys) list(r *http.Request) (envelope.List[keyReply], error) {
	return pageFrom(r, h.store, keySchema, keyReply.property, func(_ paging.Query, kept *collected[keyReply]) error {
		ctx, p := r.Context(), auth.From(r.Context())
		account, err := mayHandleOwn(p, scope.Read)
		of := apikey.Of{Org: p.Org, App: r.PathValue("key"), Account: account}
		if err == nil && of.App != "" {
			_, err = h.store.app(ctx, of.App)
		}
		if err != nil {
			return err
		}
		for record, err := range apikey.Records(ctx, h.stores.apiKeys, of) {
			if err != nil {
				return storeFailed(err)
			}
			kept.add(replyOfKey(record))
		}
		return nil
	})
}

var (
	newKeyForm = body.Form{
		{Path: "name", Kind: line(maxKeyName), Required: true},
		{Path: "account", Kind: body.String}, // the owner; without it, that of the caller
		{Path: "scope", Kind: body.Strings},  // without it, nothing
		{Path: "networks", Kind: networks},
		{Path: "uses", Kind: between(1, 1<<53)},
		{Path: "expires", Kind: instant}, // without it, never
	}
	replaceKeyForm = body.Form{
		{Path: "overlap", Kind: seconds(0, year)},    // in which both work; without it, none
		{Path: "expires", Kind: instant, Null: true}, // without it, when the old one would have; null: never
	}
)

const maxKeyName = 128 // bytes

// create makes a key of an app. What it may do is judged by Make.
func (h apiKeys) create(r *http.Request, values map[string]any) (keyReply, error) {
	g := apikey.Grant{App: r.PathValue("key")}
	setIfGiven(&g.Name, values, "name")
	setIfGiven(&g.Account, values, "account")
	setIfGiven(&g.Scope, values, "scope")
	setIfGiven(&g.Networks, values, "networks")
	setIfGiven(&g.Uses, values, "uses")
	setIfGiven(&g.Expires, values, "expires")
	return h.issue(r, func(by auth.Principal, t *auth.Tenant) (apikey.Key, apikey.Record, error) {
		return h.mechanism.Keys().Make(r.Context(), by, t, g)
	})
}

// replace makes the successor of a key, with the same grant and another end.
func (h apiKeys) replace(r *http.Request, values map[string]any) (keyReply, error) {
	former, err := h.find(r, scope.Update)
	if err != nil {
		return keyReply{}, err
	}
	overlap, _ := values["overlap"].(time.Duration)
	expires := former.Expires
	setIfGiven(&expires, values, "expires")
	return h.issue(r, func(by auth.Principal, t *auth.Tenant) (apikey.Key, apikey.Record, error) {
		until := t.Now().Add(overlap)
		return h.mechanism.Keys().Replace(r.Context(), by, t, former.ID, until, expires)
	})
}

// issue answers with a new key. It outlives the caller's session, so the session must be fresh.
func (h apiKeys) issue(r *http.Request, issue func(auth.Principal, *auth.Tenant) (apikey.Key, apikey.Record, error)) (keyReply, error) {
	p := auth.From(r.Context())
	if err := cmp.Or(h.tokens.quota.take(callerOf(p)), mustBeFresh(p)); err != nil {
		return keyReply{}, err
	}
	key, record, err := issue(p.AsAdministrator(p.HasRole(administrator)), auth.TenantFrom(r.Context()))
	if err != nil {
		return keyReply{}, inFields(err, map[string]string{"sub": "account"})
	}
	reply := replyOfKey(record)
	reply.Key = shownOnce(key)
	return reply, nil
}

func (h apiKeys) revoke(r *http.Request) (envelope.Result[bool], error) {
	record, err := h.find(r, scope.Update)
	if err == nil {
		err = h.mechanism.Keys().Revoke(r.Context(), record.Org, record.ID)
	}
	return done(err)
}

func (h apiKeys) get(r *http.Request) (keyReply, error) {
	record, err := h.find(r, scope.Read)
	return replyOfKey(record), err
}

// find returns the key that the path names, if the caller may do with it what the verb says. Those of
// other apps, and of others for all but administrators, do not exist.
func (h apiKeys) find(r *http.Request, v scope.Verb) (record apikey.Record, err error) {
	p := auth.From(r.Context())
	account, err := mayHandleOwn(p, v)
	if err == nil {
		record, err = h.mechanism.Keys().Get(r.Context(), p.Org, r.PathValue("id"))
	}
	if err == nil && (record.App != r.PathValue("key") || account != "" && account != record.Account) {
		err = auth.ErrNotFound
	}
	return record, err
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
