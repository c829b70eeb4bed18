package main

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// app is an app: what auth knows of it, and the platform's own property. Its
// secrets and its key pair are in other tables.
type app struct {
	auth.App
	ExposeKeys bool
}

// ItemID is for pages.
func (a *app) ItemID() string { return a.ClientKey }

// listsKeys reports whether the certificates endpoints list the app's key. Other
// servers verify tokens with that key. They must stop while the app is disabled.
func (a *app) listsKeys() bool { return a.ExposeKeys && !a.Disabled }

// apps serves the administration of apps. An app is the platform's own record, its
// credential and its key pair: they change together.
type apps struct {
	*platform
	generating *share // one slot for each org: to generate a pair takes a core for a while
}

// appReply is an app as administrators see it.
type appReply struct {
	envelope.Item
	Name       string           `json:"name"`
	Disabled   bool             `json:"disabled"`
	ExposeKeys bool             `json:"exposeKeys"`
	KeyID      string           `json:"kid"`
	Credential *credentialReply `json:"credential,omitempty"`
	Secret     shownOnce        `json:"secret,omitempty"`
}

func (h apps) list(r *http.Request) (page envelope.List[appReply], err error) {
	if err := h.store.queries.hold(r.Context()); err != nil {
		return page, err
	}
	all, err := h.store.listApps(r.Context(), auth.From(r.Context()).Org)
	if err != nil {
		return page, err
	}
	apps, err := ownPage(r, "app", all)
	page.HasMore = apps.HasMore
	for _, a := range apps.Data {
		reply, err := h.reply(r.Context(), a)
		if err != nil {
			return page, err
		}
		page.Data = append(page.Data, reply)
	}
	return page, err
}

func (h apps) get(r *http.Request) (appReply, error) {
	a, err := h.store.app(r.Context(), r.PathValue("key"))
	if err != nil {
		return appReply{}, err
	}
	return h.reply(r.Context(), a)
}

func (h apps) create(w http.ResponseWriter, r *http.Request, values map[string]any) (appReply, error) {
	changes := appChanges(values)
	if err := changes.check(r, new(signature.Credential)); err != nil {
		return appReply{}, err
	}
	credential := signature.Credential{Maker: cmp.Or(auth.From(r.Context()).Caller, auth.From(r.Context()).Account)} // acts as no account unless the body names one
	changes.restrict(&credential)

	org := auth.From(r.Context()).Org
	clientKey, secret := signing.Generate()
	if err := mayGive(r.Context(), clientKey, nil, credential); err != nil {
		return appReply{}, inFields(err, credentialFields)
	}
	a := &app{App: auth.App{ClientKey: clientKey, Org: org}}
	changes.apply(a)
	if changes.publicKey() != nil {
		secret = "" // the server keeps none
	}
	err := h.stores.together(r.Context(), org, func(tx *sql.Tx, in *sqlstore.In) error {
		return addApp(r.Context(), tx, in, *a, secret, credential, changes.publicKey())
	})
	if err != nil {
		return appReply{}, err
	}
	auth.Emit(r.Context(), auth.Event{Verb: "credential.made", App: a.ClientKey})
	// For whoever loses the response that shows the secret.
	w.Header().Set("Location", auth.TenantFrom(r.Context()).URL()+"/apps/"+clientKey)
	reply, err := h.reply(r.Context(), a)
	reply.Secret = shownOnce(secret)
	return reply, err
}

func (h apps) update(r *http.Request, values map[string]any) (appReply, error) {
	a, err := h.store.app(r.Context(), r.PathValue("key"))
	if err != nil {
		return appReply{}, err
	}
	current, err := h.stores.credentials.Credential(r.Context(), a.ClientKey)
	if err != nil {
		return appReply{}, storeFailed(err)
	}
	changes := appChanges(values)
	if err := changes.check(r, current); err != nil {
		return appReply{}, err
	}
	verb, named := "app.changed", false
	if changes.restricts() {
		verb = "credential.restricted"
	}
	reply, err := h.change(r, verb, func(ctx context.Context, c *appChange) error {
		err := mayEnable(ctx, c.app, changes)
		if err == nil {
			err = c.restrict(ctx, changes)
		}
		if err == nil {
			named, err = h.rename(ctx, c, changes)
		}
		if err != nil {
			return err
		}
		err = c.keys.Expose(ctx, c.app.Org, c.app.ClientKey, c.app.listsKeys())
		if errors.Is(err, token.ErrNotFound) { // an app without a pair has nothing to list
			return nil
		}
		return storeFailed(err)
	})
	if err == nil && named && changes.restricts() {
		auth.Emit(r.Context(), auth.Event{Verb: "app.changed", App: a.ClientKey})
	}
	return reply, err
}

// rename changes the platform's own record of an app, and appends that to the audit log. It reports whether
// something has changed. What changes of the credential and the key pair, their stores append.
func (h apps) rename(ctx context.Context, c *appChange, changes appChanges) (bool, error) {
	before := asJSON(c.app)
	changes.apply(c.app)
	if asJSON(c.app) == before {
		return false, nil
	}
	if err := putApp(ctx, c.tx, *c.app); err != nil {
		return false, err
	}
	return true, h.store.audited(ctx, c.tx, appRow(c.app.Org, c.app.ClientKey).changed, "")
}

var keyPairForm = body.Form{{Path: "overlap", Kind: body.Integer}} // seconds

// changeKeys gives an app a new key pair. All its tokens end at once, unless the request
// names an overlap.
func (h apps) changeKeys(r *http.Request, values map[string]any) (appReply, error) {
	a, err := h.store.app(r.Context(), r.PathValue("key"))
	if err != nil {
		return appReply{}, err
	}
	overlap, given := values["overlap"].(int64)
	// Not 0: that somebody writes it need not mean that all tokens may end.
	if given && (overlap < 1 || overlap > int64(token.MaxOverlap/time.Second)) {
		return appReply{}, &auth.Error{Detail: auth.DetailOption, Path: "overlap", Reason: "must be 1 to 2592000 seconds"}
	}
	org := inOrg{org: a.Org}
	if err := h.pairs.take(org); err != nil {
		return appReply{}, err
	}
	done, err := h.generating.take(r.Context(), org, 1, nil)
	if err != nil {
		return appReply{}, err
	}
	defer done()
	if given {
		return h.rotateKeys(r, a, time.Duration(overlap)*time.Second)
	}
	pair, err := newPair(a) // before the transaction: it takes a while
	if err != nil {
		return appReply{}, err
	}
	return h.change(r, "keypair.made", func(ctx context.Context, c *appChange) error {
		pair.Exposed = c.app.listsKeys()
		return storeFailed(c.keys.Put(ctx, pair))
	})
}

// rotateKeys gives an app a new pair, and lets the tokens of its present one end after the
// overlap. An app that is deleted meanwhile has none: see Keys.Rotate.
func (h apps) rotateKeys(r *http.Request, a *app, overlap time.Duration) (appReply, error) {
	_, err := h.stores.keys.Rotate(r.Context(), a.Org, a.ClientKey, overlap)
	h.keys.Invalidate(a.ClientKey)
	switch {
	case errors.Is(err, token.ErrNotFound):
		return appReply{}, &auth.Error{Detail: auth.DetailNoKeyPair, Err: err}
	case errors.Is(err, token.ErrFormers):
		return appReply{}, &auth.Error{Detail: auth.DetailConflict, Reason: "8 former keys still verify", Err: err}
	case err != nil:
		return appReply{}, storeFailed(err)
	}
	auth.Emit(r.Context(), auth.Event{Verb: "keypair.rotated", App: a.ClientKey})
	return h.reply(r.Context(), a)
}

func newPair(a *app) (*token.KeyPair, error) {
	pair, err := token.GeneratePair(2048)
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = a.ClientKey, a.Org
	return pair, nil
}

// mayEnable decides whether the caller may enable an app, if the changes do that.
// All tokens of the app's key become valid again, whoever they are for.
func mayEnable(ctx context.Context, a *app, changes appChanges) error {
	if !a.Disabled || changes["disabled"] != false {
		return nil
	}
	return mayMake(auth.From(ctx), auth.Everything("")) // no account: only administrators may make this
}

func (h apps) delete(r *http.Request) (envelope.Result[bool], error) {
	paired := false
	a, err := h.together(r, "credential.ended", func(ctx context.Context, c *appChange) error {
		if err := c.credentials.Delete(ctx, c.app.Org, c.app.ClientKey); err != nil && !auth.IsNotFound(err) {
			return storeFailed(err)
		}
		err := c.keys.Delete(ctx, c.app.Org, c.app.ClientKey)
		if paired = err == nil; err != nil && !errors.Is(err, token.ErrNotFound) {
			return storeFailed(err)
		}
		return cmp.Or(
			endKeys(ctx, c.in, apikey.Of{Org: c.app.Org, App: c.app.ClientKey}),
			execIn(ctx, c.tx, nil, "DELETE FROM platform_token_scopes WHERE org = $1 AND client_key = $2", c.app.Org, c.app.ClientKey),
			execIn(ctx, c.tx, nil, "DELETE FROM platform_apps WHERE client_key = $1", c.app.ClientKey),
		)
	})
	if err == nil && paired {
		auth.Emit(r.Context(), auth.Event{Verb: "keypair.deleted", App: a.ClientKey})
	}
	return done(err)
}

// appChange is an app in a transaction of together.
type appChange struct {
	app         *app
	tx          *sql.Tx
	in          *sqlstore.In
	credentials *sqlstore.Credentials
	keys        *sqlstore.Keys
}

// together changes the app that the request's path names, its credential and its key pair. verb is what that is.
func (h apps) together(r *http.Request, verb string, change func(context.Context, *appChange) error) (*app, error) {
	ctx, org, clientKey, c := r.Context(), auth.From(r.Context()).Org, r.PathValue("key"), new(appChange)
	defer h.keys.Invalidate(clientKey)
	defer h.apiKeys.mechanism.Invalidate(org)
	err := h.stores.together(ctx, org, func(tx *sql.Tx, in *sqlstore.In) (err error) {
		c.tx, c.in = tx, in
		if c.app, err = find[app](ctx, tx, appRow(org, clientKey)); err != nil {
			return unknownApp(err)
		}
		if c.credentials, err = in.Credentials(); err == nil {
			c.keys, err = in.Keys()
		}
		if err != nil {
			return err
		}
		return change(ctx, c)
	})
	if err == nil {
		auth.Emit(ctx, auth.Event{Verb: verb, App: c.app.ClientKey})
	}
	return c.app, err
}

// change is together, and returns the reply for the app.
func (h apps) change(r *http.Request, verb string, change func(context.Context, *appChange) error) (appReply, error) {
	a, err := h.together(r, verb, change)
	if err != nil {
		return appReply{}, err
	}
	return h.reply(r.Context(), a)
}

func unknownApp(err error) error {
	if auth.IsNotFound(err) {
		return &auth.Error{Detail: auth.DetailUnknownApp, Err: err}
	}
	return err
}

// reply returns an app with its credential, unless that was deleted meanwhile.
func (h apps) reply(ctx context.Context, a *app) (appReply, error) {
	reply := appReply{
		Item:       envelope.Item{ID: a.ClientKey, Object: "app"},
		Name:       a.Name,
		Disabled:   a.Disabled,
		ExposeKeys: a.ExposeKeys,
	}
	credential, err := h.stores.credentials.Credential(ctx, a.ClientKey)
	switch {
	case err == nil:
		reply.Credential = replyOfCredential(credential)
	case !auth.IsNotFound(err):
		return reply, storeFailed(err)
	}
	kids, err := h.stores.verifying(ctx, a.ClientKey)
	if len(kids) > 0 {
		reply.KeyID = kids[0]
	}
	return reply, err
}

// app returns an app of the caller's org.
func (s *store) app(ctx context.Context, clientKey string) (*app, error) {
	a, err := find[app](ctx, s.db, appRow(auth.From(ctx).Org, clientKey))
	return a, unknownApp(err)
}

func (s *store) listApps(ctx context.Context, org auth.OrgKey) ([]*app, error) {
	return findAll[app](ctx, s.db, "SELECT record FROM platform_apps WHERE org = $1", org)
}

func putApp(ctx context.Context, db writer, a app) error {
	return execIn(ctx, db, nil, `INSERT INTO platform_apps (client_key, org, record) VALUES ($1, $2, $3)
		ON CONFLICT (client_key) DO UPDATE SET record = excluded.record`, a.ClientKey, a.Org, asJSON(a))
}

func addApp(ctx context.Context, tx *sql.Tx, in *sqlstore.In, a app, secret signing.Secret, c signature.Credential, public ed25519.PublicKey) error {
	credentials, err := in.Credentials()
	switch {
	case err != nil:
	case public != nil:
		err = credentials.PutPublicKey(ctx, a.Org, a.ClientKey, c, public)
	default:
		err = credentials.Put(ctx, a.Org, a.ClientKey, secret, c)
	}
	if err != nil {
		return storeFailed(err)
	}
	return putApp(ctx, tx, a)
}
