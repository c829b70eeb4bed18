package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
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

// listsKeys reports whether the certificates endpoints list the app's key. Other
// servers verify tokens with that key. They must stop while the app is disabled.
func (a *app) listsKeys() bool { return a.ExposeKeys && !a.Disabled }

// apps serves the administration of apps. An app is kept in three tables. One lock
// of this process covers their changes, so that a key pair generated while its app
// is deleted does not outlive it.
//
// Other instances do not share the lock. A pair that they generate meanwhile may be
// left in the store. It signs nothing, because its app is unknown.
type apps struct {
	store       *store
	credentials *sqlstore.Credentials
	keys        *keyPairs
	locks       *share // one slot for each app
	generating  *share // one slot for each org: to generate a pair takes a core for a while
	pairs       *quota // likewise, by org
}

func (h apps) lock(r *http.Request) (unlock func(), err error) {
	return h.locks.take(r.Context(), inOrg{auth.From(r.Context()).Org, r.PathValue("key")}, 1, nil)
}

// appReply is an app as administrators see it. A list omits the credential.
type appReply struct {
	envelope.Item
	Name       string           `json:"name"`
	Disabled   bool             `json:"disabled"`
	ExposeKeys bool             `json:"exposeKeys"`
	KeyID      string           `json:"kid"`
	Credential *credentialReply `json:"credential,omitempty"`
	Secret     shownOnce        `json:"secret,omitempty"`
}

// credentialReply is a signing key with its restrictions. null means no
// restriction, as in the body that sets them.
type credentialReply struct {
	Account   *string        `json:"account"`
	Accounts  []string       `json:"accounts"`
	Scope     []string       `json:"scope"`
	NotBefore *string        `json:"notBefore"`
	NotAfter  *string        `json:"notAfter"`
	Networks  []netip.Prefix `json:"networks"`

	MinVersion int     `json:"minVersion"`
	PublicKey  *string `json:"publicKey"` // null: it has secrets
	Secrets    int     `json:"secrets"`   // the number of secrets that verify
}

func replyOfCredential(c *signature.Credential) *credentialReply {
	return &credentialReply{
		Account:   orNull(c.Account),
		Accounts:  append([]string{}, c.Accounts...),
		Scope:     c.Scope,
		NotBefore: orNull(date(c.NotBefore)),
		NotAfter:  orNull(date(c.NotAfter)),
		Networks:  c.Networks,

		MinVersion: max(1, c.MinVersion),
		PublicKey:  orNull(base64.RawURLEncoding.EncodeToString(publicKey(c))),
		Secrets:    c.Key.Secrets(),
	}
}

func (h apps) list(r *http.Request) (envelope.List[appReply], error) {
	if err := h.store.queries.hold(r.Context()); err != nil {
		return envelope.List[appReply]{}, err
	}
	all, err := h.store.listApps(r.Context(), auth.From(r.Context()).Org)
	if err != nil {
		return envelope.List[appReply]{}, err
	}
	var replies []appReply
	for _, a := range all {
		reply, err := h.summary(r.Context(), a)
		if err != nil {
			return envelope.List[appReply]{}, err
		}
		replies = append(replies, reply)
	}
	return ownPage(r, "app", replies)
}

func (h apps) get(r *http.Request) (appReply, error) {
	a, err := h.find(r)
	if err != nil {
		return appReply{}, err
	}
	return h.reply(r.Context(), a)
}

func (h apps) create(r *http.Request) (appReply, error) {
	changes, err := readApp(r, nil)
	if err != nil {
		return appReply{}, err
	}
	var credential signature.Credential // acts as no account unless the body names one
	changes.restrict(&credential)

	// Without a lock, because nobody knows the client key yet.
	org := auth.From(r.Context()).Org
	clientKey, secret := signing.Generate()
	if err := mayGive(r.Context(), clientKey, nil, credential); err != nil {
		return appReply{}, inFields(err, credentialFields)
	}
	if changes.publicKey != nil {
		secret = "" // the server keeps none
		err = h.credentials.PutPublicKey(r.Context(), org, clientKey, credential, changes.publicKey)
	} else {
		err = h.credentials.Put(r.Context(), org, clientKey, secret, credential)
	}
	if err != nil {
		return appReply{}, storeFailed(err)
	}
	a := &app{App: auth.App{ClientKey: clientKey, Org: org}}
	changes.apply(a)
	if err := h.store.putApp(r.Context(), *a); err != nil {
		return appReply{}, err
	}
	reply, err := h.reply(r.Context(), a)
	reply.Secret = shownOnce(secret)
	return reply, err
}

func (h apps) update(r *http.Request) (appReply, error) {
	a, err := h.find(r)
	if err != nil {
		return appReply{}, err
	}
	current, err := h.credentials.Credential(r.Context(), a.ClientKey)
	if err != nil {
		return appReply{}, storeFailed(err)
	}
	changes, err := readApp(r, current)
	if err != nil {
		return appReply{}, err
	}
	return h.change(r, func(ctx context.Context, a *app) error {
		if err := mayEnable(ctx, a, changes); err != nil {
			return err
		}
		if err := h.restrict(ctx, a, changes); err != nil {
			return err
		}
		stored, err := h.store.changeApp(ctx, a.Org, a.ClientKey, func(a *app) error {
			defer changes.apply(a)
			return mayEnable(ctx, a, changes) // again: another instance may have disabled the app meanwhile
		})
		if err != nil {
			return err
		}
		*a = *stored
		return h.keys.expose(ctx, a)
	})
}

var keyPairForm = body.Form{{Path: "overlap", Kind: body.Integer}} // seconds

// mayGenerate waits for the org's turn to generate a pair.
func (h apps) mayGenerate(ctx context.Context) (done func(), err error) {
	org := inOrg{org: auth.From(ctx).Org}
	if err := h.pairs.take(org); err != nil {
		return nil, err
	}
	return h.generating.take(ctx, org, 1, nil)
}

// changeKeys gives an app a new key pair. All its tokens end at once, unless the request
// names an overlap.
func (h apps) changeKeys(r *http.Request) (appReply, error) {
	a, err := h.find(r)
	if err != nil {
		return appReply{}, err
	}
	// Not 0: that somebody writes it need not mean that all tokens may end.
	overlap, _, err := readSeconds(r, keyPairForm, 1, int64(token.MaxOverlap/time.Second),
		&auth.Error{Detail: auth.DetailOption, Path: "overlap", Reason: "must be 1 to 2592000 seconds"})
	if err != nil {
		return appReply{}, err
	}
	done, err := h.mayGenerate(r.Context())
	if err != nil {
		return appReply{}, err
	}
	defer done()
	if overlap > 0 {
		return h.change(r, func(ctx context.Context, a *app) error { return h.keys.rotate(ctx, a, overlap) })
	}
	pair, err := newPair(a)
	if err != nil {
		return appReply{}, err
	}
	return h.change(r, func(ctx context.Context, a *app) error { return h.keys.replace(ctx, a, pair) })
}

// readSeconds reads the seconds at the only path of a body, which may be missing.
func readSeconds(r *http.Request, f body.Form, from, to int64, wrong error) (d time.Duration, given bool, err error) {
	if !hasBody(r) {
		return 0, false, nil
	}
	values, err := readValues(r, f)
	if err != nil {
		return 0, false, err
	}
	seconds, given := values[f[0].Path].(int64)
	if given && (seconds < from || seconds > to) {
		return 0, false, wrong
	}
	return time.Duration(seconds) * time.Second, given, nil
}

type secretReply struct {
	Secret shownOnce `json:"secret"`
}

var rotationForm = body.Form{{Path: "grace", Kind: body.Integer}} // seconds

// rotate gives an app another secret and returns it. The caller can then sign as
// the app.
func (h apps) rotate(r *http.Request) (envelope.Result[secretReply], error) {
	none := envelope.Result[secretReply]{}
	grace, given, err := readSeconds(r, rotationForm, 0, maxGrace, wrongBody("grace", "must be 0 to 31536000 seconds"))
	if err != nil {
		return none, err
	}
	if !given {
		grace = rotationGrace
	}
	var secret signing.Secret
	_, err = h.change(r, func(ctx context.Context, a *app) error {
		current, err := h.credentials.Credential(ctx, a.ClientKey)
		if err != nil {
			return storeFailed(err)
		}
		if err := mayGive(ctx, a.ClientKey, nil, *current); err != nil {
			return err
		}
		if publicKey(current) != nil {
			return &auth.Error{Detail: auth.DetailConflict, Reason: "the app has a public key: change that"}
		}
		secret, err = h.credentials.Rotate(ctx, a.Org, a.ClientKey, grace)
		return storeFailed(err)
	})
	if err != nil {
		return none, err
	}
	return result(secretReply{shownOnce(secret)}, nil)
}

const (
	// rotationGrace is how long the former secret stays valid, unless the request
	// names another time.
	rotationGrace = 24 * time.Hour

	maxGrace = 365 * 24 * 60 * 60 // seconds
)

// restrict changes the restrictions of a credential, and its public key. Whoever gives it
// a public key can then sign as the app: that counts as making it.
func (h apps) restrict(ctx context.Context, a *app, changes *appChanges) error {
	if !changes.restricts() {
		return nil
	}
	var refused error
	err := h.credentials.Restrict(ctx, a.Org, a.ClientKey, func(c *signature.Credential) error {
		before := new(*c)
		changes.restrict(c)
		refused = inFields(mayGive(ctx, a.ClientKey, before, *c), credentialFields)
		return refused
	})
	if refused != nil {
		return refused
	}
	return storeFailed(err)
}

// mayEnable decides whether the caller may enable an app, if the changes do that.
// All tokens of the app's key become valid again, whoever they are for.
func mayEnable(ctx context.Context, a *app, changes *appChanges) error {
	if !a.Disabled || !changes.enables() {
		return nil
	}
	return mayMake(auth.From(ctx), auth.Everything("")) // no account: only administrators may make this
}

// mayGive decides whether the caller may give an app the credential after in place
// of before. To narrow a credential needs no more than the route.
func mayGive(ctx context.Context, clientKey string, before *signature.Credential, after signature.Credential) error {
	p, tenant := auth.From(ctx), auth.TenantFrom(ctx)
	if before != nil && after.Narrows(before, tenant, clientKey) {
		return nil
	}
	err := signature.Within(p.AsAdministrator(p.HasRole(administrator)), tenant, clientKey, before, after)
	if err != nil {
		return err
	}
	return mustBeFresh(p)
}

// credentialFields maps the options of a credential to the fields of the body.
var credentialFields = map[string]string{
	"sub":      "credential.account",
	"scope":    "credential.scope",
	"expires":  "credential.notAfter",
	"networks": "credential.networks",
}

// delete removes an app with its credential and its key pair, and so ends its
// tokens. It removes first what lets requests in.
func (h apps) delete(r *http.Request) (envelope.Result[bool], error) {
	unlock, err := h.lock(r)
	if err != nil {
		return done(err)
	}
	defer unlock()
	a, err := h.find(r)
	if err != nil {
		return done(err)
	}
	if err := h.credentials.Delete(r.Context(), a.Org, a.ClientKey); err != nil && !auth.IsNotFound(err) {
		return done(storeFailed(err))
	}
	if err := h.keys.remove(r.Context(), a); err != nil {
		return done(err)
	}
	return done(h.store.deleteApp(r.Context(), a.Org, a.ClientKey))
}

// change alters a copy of the app that the request's path names, and returns the
// reply for it.
func (h apps) change(r *http.Request, change func(context.Context, *app) error) (appReply, error) {
	unlock, err := h.lock(r)
	if err != nil {
		return appReply{}, err
	}
	defer unlock()
	a, err := h.find(r)
	if err != nil {
		return appReply{}, err
	}
	changed := *a
	if err := change(r.Context(), &changed); err != nil {
		return appReply{}, err
	}
	return h.reply(r.Context(), &changed)
}

// find returns the app that the request's path names, even if it is disabled.
func (h apps) find(r *http.Request) (*app, error) {
	return h.store.app(r.Context(), auth.From(r.Context()).Org, r.PathValue("key"))
}

// unknownApp turns "not found" into the fault of an unknown app.
func unknownApp(err error) error {
	if auth.IsNotFound(err) {
		return &auth.Error{Detail: auth.DetailUnknownApp, Err: err}
	}
	return err
}

func (h apps) reply(ctx context.Context, a *app) (appReply, error) {
	reply, err := h.summary(ctx, a)
	if err != nil {
		return appReply{}, err
	}
	credential, err := h.credentials.Credential(ctx, a.ClientKey)
	if err != nil {
		return appReply{}, storeFailed(err)
	}
	reply.Credential = replyOfCredential(credential)
	return reply, nil
}

func (h apps) summary(ctx context.Context, a *app) (appReply, error) {
	reply := appReply{
		Item:       envelope.Item{ID: a.ClientKey, Object: "app"},
		Name:       a.Name,
		Disabled:   a.Disabled,
		ExposeKeys: a.ExposeKeys,
	}
	kids, err := h.keys.verifying(ctx, a.ClientKey)
	if len(kids) > 0 {
		reply.KeyID = kids[0]
	}
	return reply, err
}

// app returns an app of an org, even if it is disabled.
func (s *store) app(ctx context.Context, org auth.OrgKey, clientKey string) (*app, error) {
	a, err := find[app](ctx, s.db, appRow(org, clientKey))
	return a, unknownApp(err)
}

// listApps returns the apps of an org, in the order of their keys. It sorts them
// itself, because the order of PostgreSQL need not be that of the bytes.
func (s *store) listApps(ctx context.Context, org auth.OrgKey) ([]*app, error) {
	all, err := findAll[app](ctx, s.db, "SELECT record FROM platform_apps WHERE org = $1", org)
	slices.SortFunc(all, func(a, b *app) int { return cmp.Compare(a.ClientKey, b.ClientKey) })
	return all, err
}

func (s *store) putApp(ctx context.Context, a app) error {
	return s.exec(ctx, a.Org, nil, `INSERT INTO platform_apps (client_key, org, record) VALUES ($1, $2, $3)
		ON CONFLICT (client_key) DO UPDATE SET record = excluded.record`, a.ClientKey, a.Org, asJSON(a))
}

// changeApp changes an existing app, and returns the new state. Another instance
// may be changing or deleting it.
func (s *store) changeApp(ctx context.Context, org auth.OrgKey, clientKey string, change func(*app) error) (*app, error) {
	a, err := alter(ctx, s, appRow(org, clientKey), change)
	return a, unknownApp(err)
}

func (s *store) deleteApp(ctx context.Context, org auth.OrgKey, clientKey string) error {
	return s.remove(ctx, appRow(org, clientKey), nil)
}
