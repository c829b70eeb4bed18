package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
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
// change under one lock: a pair that is generated while its app is deleted must
// not outlive it.
type apps struct {
	store       *memory
	credentials *credentials
	keys        *keyPairs
	changes     *sync.Mutex
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
	clientKey, secret := signing.Generate()
	a := &app{App: auth.App{ClientKey: clientKey, Org: auth.From(r.Context()).Org}}
	changes.apply(a)
	var credential signature.Credential // acts as nobody until it is told as whom
	changes.restrict(&credential)

	h.changes.Lock()
	defer h.changes.Unlock()
	if err := h.credentials.put(clientKey, secret, credential); err != nil {
		return appReply{}, err
	}
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
		changes.apply(a)
		return errors.Join(
			h.store.putApp(ctx, *a),
			h.credentials.restrict(a.ClientKey, changes.restrict),
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
	_, secret := signing.Generate()
	_, err := h.change(r, func(_ context.Context, a *app) error { return h.credentials.rotate(a.ClientKey, secret) })
	return envelope.Result[secretReply]{Data: secretReply{shownOnce(secret)}}, err
}

// delete removes an app with its credential, its key pair and so its tokens:
// first what lets somebody in.
func (h apps) delete(r *http.Request) (envelope.Result[bool], error) {
	h.changes.Lock()
	defer h.changes.Unlock()
	a, err := h.find(r)
	if err != nil {
		return envelope.Result[bool]{}, err
	}
	h.credentials.remove(a.ClientKey)
	if err := h.keys.remove(r.Context(), a.ClientKey); err != nil {
		return envelope.Result[bool]{}, err
	}
	return envelope.Result[bool]{Data: true}, h.store.deleteApp(r.Context(), a.ClientKey)
}

// change alters a copy of the app that the request's path names, and answers
// with it.
func (h apps) change(r *http.Request, change func(context.Context, *app) error) (appReply, error) {
	h.changes.Lock()
	defer h.changes.Unlock()
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
func (m *memory) app(ctx context.Context, org, clientKey string) (*app, error) {
	a, err := find(ctx, m, m.apps, clientKey)
	if err == nil && a.Org != org {
		return nil, auth.ErrNotFound
	}
	return a, err
}

// listApps returns the apps of an org, in the order of their keys.
func (m *memory) listApps(ctx context.Context, org string) ([]*app, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []*app
	for _, a := range m.apps {
		if a.Org == org {
			all = append(all, a)
		}
	}
	slices.SortFunc(all, func(a, b *app) int { return cmp.Compare(a.ClientKey, b.ClientKey) })
	return all, nil
}

func (m *memory) putApp(ctx context.Context, a app) error {
	return put(ctx, m, m.apps, a.ClientKey, a)
}

func (m *memory) deleteApp(ctx context.Context, clientKey string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.apps, clientKey)
	return nil
}
