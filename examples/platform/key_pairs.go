package main

import (
	"context"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// keyPairs are the RSA key pairs with which the apps sign tokens, and the bearer
// mechanism's cache of them. Both change together. A key that an administrator has
// removed is refused in this process at once, and in others after keyStaleness at
// most.
type keyPairs struct {
	*sqlstore.Keys
	cached *token.CachedKeys // the cache in front of them
}

const keyStaleness = 2 * time.Second

func newKeyPairs(keys *sqlstore.Keys) *keyPairs {
	return &keyPairs{keys, token.Cached(keys, keyStaleness)}
}

// newPair makes a pair for an app. This takes a while, so call it without a lock.
func newPair(a *app) (*token.KeyPair, error) {
	pair, err := token.GeneratePair(2048)
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = a.ClientKey, a.Org
	return pair, nil
}

// replace gives an app the pair in place of its former one, and ends all tokens of
// the app, those of former keys too.
func (k *keyPairs) replace(ctx context.Context, a *app, pair *token.KeyPair) error {
	defer k.cached.Invalidate(a.ClientKey)
	pair.Exposed = a.listsKeys()
	return storeFailed(k.Put(ctx, pair))
}

// rotate gives an app a new pair, and lets the tokens of its present one end after the
// overlap.
func (k *keyPairs) rotate(ctx context.Context, a *app, overlap time.Duration) error {
	defer k.cached.Invalidate(a.ClientKey)
	_, err := k.Rotate(ctx, a.Org, a.ClientKey, overlap)
	switch {
	case errors.Is(err, token.ErrNotFound):
		return &auth.Error{Detail: auth.DetailNoKeyPair, Err: err}
	case errors.Is(err, token.ErrFormers):
		return &auth.Error{Detail: auth.DetailConflict, Reason: "8 former keys still verify", Err: err}
	}
	return storeFailed(err)
}

// expose lists or hides the app's key, as listsKeys says. An app without a pair has
// nothing to list.
func (k *keyPairs) expose(ctx context.Context, a *app) error {
	defer k.cached.Invalidate(a.ClientKey)
	err := k.Expose(ctx, a.Org, a.ClientKey, a.listsKeys())
	if errors.Is(err, token.ErrNotFound) {
		return nil
	}
	return storeFailed(err)
}

// remove deletes the pair of an app, if it has one, and ends all its tokens.
func (k *keyPairs) remove(ctx context.Context, a *app) error {
	defer k.cached.Invalidate(a.ClientKey)
	err := k.Delete(ctx, a.Org, a.ClientKey)
	if errors.Is(err, token.ErrNotFound) {
		return nil
	}
	return storeFailed(err)
}

// verifying returns the ids of the app's keys that verify: the present one, and then
// the former ones. It returns none if the app has no pair.
func (k *keyPairs) verifying(ctx context.Context, clientKey string) ([]string, error) {
	pair, err := k.Signer(ctx, clientKey)
	switch {
	case errors.Is(err, token.ErrNoKeyPair):
		return nil, nil
	case err != nil:
		return nil, storeFailed(err)
	}
	return append([]string{pair.KeyID}, pair.Former...), nil
}
