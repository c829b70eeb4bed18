package main

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"net/http"
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
// is unknown signs nothing with it; and of two that restrict a credential at once
// the later one is obeyed.
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

// appReply is an app as administrators see it.
type appReply struct {
	envelope.Item
	Name       string    `json:"name"`
	Disabled   bool      `json:"disabled"`
	ExposeKeys bool      `json:"exposeKeys"`
	KeyID      string    `json:"kid"`
	Secret     shownOnce `json:"secret,omitempty"`
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
		reply, err := h.reply(r.Context(), a)
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
	changes, err := readApp(r, true)
	if err != nil {
		return appReply{}, err
	}
	var credential signature.Credential // acts as nobody until it is told as whom
	changes.restrict(&credential)

	// Without a lock: nobody knows the client key yet.
	org := auth.From(r.Context()).Org
	clientKey, secret, err := h.credentials.Create(r.Context(), org, credential)
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
	if _, err := h.find(r); err != nil {
		return appReply{}, err
	}
	changes, err := readApp(r, false)
	if err != nil {
		return appReply{}, err
	}
	return h.change(r, func(ctx context.Context, a *app) error {
		stored, err := h.store.changeApp(ctx, a.Org, a.ClientKey, changes.apply)
		if err != nil {
			return unknownApp(err)
		}
		*a = *stored
		return errors.Join(
			h.restrict(ctx, a.ClientKey, changes.restrict),
			h.keys.expose(ctx, a),
		)
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

func (h apps) rotate(r *http.Request) (envelope.Result[secretReply], error) {
	var secret signing.Secret
	_, err := h.change(r, func(ctx context.Context, a *app) (err error) {
		secret, err = h.credentials.Rotate(ctx, a.ClientKey, rotationGrace)
		return storeFailed(err)
	})
	return envelope.Result[secretReply]{Data: secretReply{shownOnce(secret)}}, err
}

// rotationGrace is how long a secret lives after it was rotated.
const rotationGrace = 24 * time.Hour

// restrict changes everything about a credential but its secrets.
func (h apps) restrict(ctx context.Context, clientKey string, change func(*signature.Credential)) error {
	current, err := h.credentials.Credential(ctx, clientKey)
	if err != nil {
		return storeFailed(err)
	}
	changed := *current // shared, and not to be altered
	change(&changed)
	return storeFailed(h.credentials.Restrict(ctx, clientKey, changed))
}

// delete removes an app with its credential, its key pair and so its tokens:
// first what lets somebody in.
func (h apps) delete(r *http.Request) (envelope.Result[bool], error) {
	defer h.locks.lock(r.PathValue("key"))()
	a, err := h.find(r)
	if err != nil {
		return envelope.Result[bool]{}, err
	}
	if err := h.credentials.Delete(r.Context(), a.ClientKey); err != nil && !errors.Is(err, auth.ErrNotFound) {
		return envelope.Result[bool]{}, storeFailed(err)
	}
	if err := h.keys.remove(r.Context(), a.ClientKey); err != nil {
		return envelope.Result[bool]{}, err
	}
	return envelope.Result[bool]{Data: true}, h.store.deleteApp(r.Context(), a.ClientKey)
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
	if errors.Is(err, auth.ErrNotFound) {
		return &auth.Error{Detail: auth.DetailUnknownApp, Err: err}
	}
	return err
}

func (h apps) reply(ctx context.Context, a *app) (appReply, error) {
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
	return s.exec(ctx, nil, `INSERT INTO platform_apps (client_key, org, record) VALUES ($1, $2, $3)
		ON CONFLICT (client_key) DO UPDATE SET record = excluded.record`, a.ClientKey, a.Org, record(a))
}

// changeApp alters an app that is there, and returns it as it is then: another
// instance may be changing or deleting it.
func (s *store) changeApp(ctx context.Context, org, clientKey string, change func(*app)) (*app, error) {
	for {
		a, err := s.app(ctx, org, clientKey)
		if err != nil {
			return nil, err
		}
		before := record(a)
		change(a)
		err = s.exec(ctx, errMoved, "UPDATE platform_apps SET record = $4 WHERE org = $1 AND client_key = $2 AND record = $3",
			org, clientKey, before, record(a))
		if !errors.Is(err, errMoved) {
			return a, err
		}
	}
}

func (s *store) deleteApp(ctx context.Context, clientKey string) error {
	return s.exec(ctx, nil, "DELETE FROM platform_apps WHERE client_key = $1", clientKey)
}
