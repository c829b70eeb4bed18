package main

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/signing"
)

// app is what auth knows of an app, and what only the platform does. Its
// secrets and its key pair lie elsewhere.
type app struct {
	auth.App
	ExposeKeys bool
}

// listsKeys tells whether the certificates endpoints list the app's key. Others
// than this server verify tokens with it: they must not go on while the app is
// disabled.
func (a *app) listsKeys() bool { return a.ExposeKeys && !a.Disabled }

// apps serves the administration of apps. An app is kept in three places, which
// in this process change under one lock: a pair that is generated while its app
// is deleted does not outlive it. Other instances do not share the lock: the pair
// that one of them generates meanwhile may be left in the store, where an app that
// is unknown signs nothing with it.
type apps struct {
	store       *store
	credentials *sqlstore.Credentials
	keys        *keyPairs
	locks       *appLocks
}

// appLocks are the locks of apps. Some apps share one, and wait for each other.
type appLocks [64]sync.Mutex

var lockSeed = maphash.MakeSeed()

func (l *appLocks) lock(clientKey string) (unlock func()) {
	one := &l[maphash.String(lockSeed, clientKey)%uint64(len(l))]
	one.Lock()
	return one.Unlock
}

// appReply is an app as administrators see it. A list leaves the credential out.
type appReply struct {
	envelope.Item
	Name       string           `json:"name"`
	Disabled   bool             `json:"disabled"`
	ExposeKeys bool             `json:"exposeKeys"`
	KeyID      string           `json:"kid"`
	Credential *credentialReply `json:"credential,omitempty"`
	Secret     shownOnce        `json:"secret,omitempty"`
}

// credentialReply is a signing key with its restrictions. Null is none, as in the
// body that sets them.
type credentialReply struct {
	Account   *string        `json:"account"`
	Accounts  []string       `json:"accounts"`
	Scope     []string       `json:"scope"`
	NotBefore *string        `json:"notBefore"`
	NotAfter  *string        `json:"notAfter"`
	Networks  []netip.Prefix `json:"networks"`
	Secrets   int            `json:"secrets"` // how many verify
}

func replyOfCredential(c *signature.Credential) *credentialReply {
	return &credentialReply{
		Account:   orNull(c.Account),
		Accounts:  append([]string{}, c.Accounts...),
		Scope:     c.Scope,
		NotBefore: orNull(date(c.NotBefore)),
		NotAfter:  orNull(date(c.NotAfter)),
		Networks:  c.Networks,
		Secrets:   c.Key.Secrets(),
	}
}

// orNull is null for what is not there.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// shownOnce is a secret in the one reply that shows it.
type shownOnce string

func (h apps) list(r *http.Request) (envelope.List[appReply], error) {
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
	var credential signature.Credential // acts as nobody until it is told as whom
	changes.restrict(&credential)

	// Without a lock: nobody knows the client key yet.
	org := auth.From(r.Context()).Org
	clientKey, secret := signing.Generate()
	if err := mayGive(r.Context(), clientKey, nil, credential); err != nil {
		return appReply{}, inFields(err, credentialFields)
	}
	if err := h.credentials.Put(r.Context(), org, clientKey, secret, credential); err != nil {
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
			return mayEnable(ctx, a, changes) // by now: another instance may have disabled it
		})
		if err != nil {
			return unknownApp(err)
		}
		*a = *stored
		return h.keys.expose(ctx, a)
	})
}

// generate gives an app a key pair, or another one, and ends all its tokens.
func (h apps) generate(r *http.Request) (appReply, error) {
	a, err := h.find(r)
	if err != nil {
		return appReply{}, err
	}
	pair, err := newPair(a)
	if err != nil {
		return appReply{}, err
	}
	return h.change(r, func(ctx context.Context, a *app) error { return h.keys.replace(ctx, a, pair) })
}

type secretReply struct {
	Secret shownOnce `json:"secret"`
}

var rotationForm = envelope.Form{{Path: "grace", Kind: envelope.Integer}} // seconds

// rotate gives an app another secret, and tells it: whoever asks can then sign as
// the app does.
func (h apps) rotate(r *http.Request) (envelope.Result[secretReply], error) {
	none := envelope.Result[secretReply]{}
	grace, err := readGrace(r)
	if err != nil {
		return none, err
	}
	var secret signing.Secret
	_, err = h.change(r, func(ctx context.Context, a *app) error {
		err := h.mayActAs(ctx, a)
		if err != nil {
			return err
		}
		secret, err = h.credentials.Rotate(ctx, a.ClientKey, grace)
		return storeFailed(err)
	})
	if err != nil {
		return none, err
	}
	return envelope.Result[secretReply]{Data: secretReply{shownOnce(secret)}}, nil
}

const (
	// rotationGrace is how long a secret lives after it was rotated, unless the
	// request says otherwise.
	rotationGrace = 24 * time.Hour

	maxGrace = 365 * 24 * 60 * 60 // seconds
)

// readGrace reads a body that may be missing.
func readGrace(r *http.Request) (time.Duration, error) {
	if !hasBody(r) {
		return rotationGrace, nil
	}
	values, err := readValues(r, rotationForm)
	if err != nil {
		return 0, err
	}
	seconds, given := values["grace"].(int64)
	if !given {
		return rotationGrace, nil
	}
	wrong := invalid{detail: auth.DetailBody}
	if seconds < 0 || seconds > maxGrace {
		wrong.add("grace", "must be 0 to 31536000 seconds")
	}
	return time.Duration(seconds) * time.Second, wrong.orNil()
}

// restrict changes everything about a credential but its secrets.
func (h apps) restrict(ctx context.Context, a *app, changes *appChanges) error {
	if !changes.restricts() {
		return nil
	}
	var refused error
	err := h.credentials.Restrict(ctx, a.ClientKey, func(c *signature.Credential) error {
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

// mayEnable decides whether the caller may let an app in again, if that is what the
// changes do: with all tokens of its key, whoever they are for.
func mayEnable(ctx context.Context, a *app, changes *appChanges) error {
	if !a.Disabled || !changes.enables() {
		return nil
	}
	return mayMake(auth.From(ctx), auth.Everything("")) // no account: an administrator's to make
}

// mayActAs decides whether the caller may get what acts as an app does: a secret.
func (h apps) mayActAs(ctx context.Context, a *app) error {
	current, err := h.credentials.Credential(ctx, a.ClientKey)
	if err != nil {
		return storeFailed(err)
	}
	return mayGive(ctx, a.ClientKey, nil, *current)
}

// mayGive decides whether the caller may give an app a credential, in place of the
// one before. To narrow it needs no more than the route.
func mayGive(ctx context.Context, clientKey string, before *signature.Credential, after signature.Credential) error {
	p, tenant := auth.From(ctx), auth.TenantFrom(ctx)
	if before != nil && after.Narrows(before, tenant, clientKey) {
		return nil
	}
	err := signature.Within(p, p.HasRole(administrator), tenant, clientKey, before, after)
	if err != nil {
		return err
	}
	return mustBeFresh(p)
}

// credentialFields are the fields of the body by which a credential is asked for.
var credentialFields = map[string]string{
	"sub":      "credential.account",
	"scope":    "credential.scope",
	"expires":  "credential.notAfter",
	"networks": "credential.networks",
}

// delete removes an app with its credential, its key pair and so its tokens:
// first what lets somebody in.
func (h apps) delete(r *http.Request) (envelope.Result[bool], error) {
	defer h.locks.lock(r.PathValue("key"))()
	a, err := h.find(r)
	if err != nil {
		return envelope.Result[bool]{}, err
	}
	if err := h.credentials.Delete(r.Context(), a.ClientKey); err != nil && !auth.IsNotFound(err) {
		return envelope.Result[bool]{}, storeFailed(err)
	}
	if err := h.keys.remove(r.Context(), a.ClientKey); err != nil {
		return envelope.Result[bool]{}, err
	}
	return envelope.Result[bool]{Data: true}, h.store.deleteApp(r.Context(), a.Org, a.ClientKey)
}

// change alters a copy of the app that the request's path names, and answers
// with it.
func (h apps) change(r *http.Request, change func(context.Context, *app) error) (appReply, error) {
	defer h.locks.lock(r.PathValue("key"))()
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

// find returns the app that the request's path names, disabled or not.
func (h apps) find(r *http.Request) (*app, error) {
	a, err := h.store.app(r.Context(), auth.From(r.Context()).Org, r.PathValue("key"))
	return a, unknownApp(err)
}

// unknownApp says of what was not found that it is an app.
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
	kid, err := h.keys.kid(ctx, a.ClientKey)
	return appReply{
		Item:       envelope.Item{ID: a.ClientKey, Object: "app"},
		Name:       a.Name,
		Disabled:   a.Disabled,
		ExposeKeys: a.ExposeKeys,
		KeyID:      kid,
	}, err
}

// app returns an app of an org, or auth.ErrNotFound.
func (s *store) app(ctx context.Context, org, clientKey string) (*app, error) {
	return find[app](ctx, s, "SELECT record FROM platform_apps WHERE client_key = $1 AND org = $2", clientKey, org)
}

// listApps returns the apps of an org, in the order of their keys. It is not
// left to the engine: PostgreSQL's need not be that of the bytes.
func (s *store) listApps(ctx context.Context, org string) ([]*app, error) {
	all, err := findAll[app](ctx, s, "SELECT record FROM platform_apps WHERE org = $1", org)
	slices.SortFunc(all, func(a, b *app) int { return cmp.Compare(a.ClientKey, b.ClientKey) })
	return all, err
}

func (s *store) putApp(ctx context.Context, a app) error {
	return s.exec(ctx, a.Org, nil, `INSERT INTO platform_apps (client_key, org, record) VALUES ($1, $2, $3)
		ON CONFLICT (client_key) DO UPDATE SET record = excluded.record`, a.ClientKey, a.Org, record(a))
}

// changeApp alters an app that is there, and returns it as it is then: another
// instance may be changing or deleting it.
func (s *store) changeApp(ctx context.Context, org, clientKey string, change func(*app) error) (*app, error) {
	for {
		a, err := s.app(ctx, org, clientKey)
		if err != nil {
			return nil, err
		}
		before := record(a)
		if err := change(a); err != nil {
			return nil, err
		}
		err = s.exec(ctx, org, errMoved, "UPDATE platform_apps SET record = $4 WHERE org = $1 AND client_key = $2 AND record = $3",
			org, clientKey, before, record(a))
		if !errors.Is(err, errMoved) {
			return a, err
		}
	}
}

func (s *store) deleteApp(ctx context.Context, org, clientKey string) error {
	return s.exec(ctx, org, nil, "DELETE FROM platform_apps WHERE client_key = $1 AND org = $2", clientKey, org)
}
