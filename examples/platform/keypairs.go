package main

import (
	"context"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// keyPairs are the RSA key pairs that the apps sign tokens with, and what the
// bearer mechanism remembers of them. Both change together: what an
// administrator has been told is gone is gone, in this process at once, and in
// others within keyStaleness.
type keyPairs struct {
	*sqlstore.Keys
	cached *token.CachedKeys // in front of them
}

const keyStaleness = 2 * time.Second

func newKeyPairs(keys *sqlstore.Keys) *keyPairs {
	return &keyPairs{keys, token.Cached(keys, keyStaleness)}
}

// newPair makes a pair for an app. That takes a while, so no lock is held.
func newPair(a *app) (*token.KeyPair, error) {
	pair, err := token.GeneratePair(2048)
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = a.ClientKey, a.Org
	return pair, nil
}

// replace gives an app the pair in place of the one it had, and ends every
// token of that.
func (k *keyPairs) replace(ctx context.Context, a *app, pair *token.KeyPair) error {
	defer k.cached.Invalidate(a.ClientKey)
	pair.Exposed = a.listsKeys()
	return storeFailed(k.Put(ctx, pair))
}

// expose lists the app's key, or no longer. An app without a pair has nothing
// to list.
func (k *keyPairs) expose(ctx context.Context, a *app) error {
	defer k.cached.Invalidate(a.ClientKey)
	err := k.Expose(ctx, a.ClientKey, a.listsKeys())
	if errors.Is(err, token.ErrNotFound) {
		return nil
	}
	return storeFailed(err)
}

// remove forgets the pair of an app, if it has one, and ends all its tokens.
func (k *keyPairs) remove(ctx context.Context, clientKey string) error {
	defer k.cached.Invalidate(clientKey)
	err := k.Delete(ctx, clientKey)
	if errors.Is(err, token.ErrNotFound) {
		return nil
	}
	return storeFailed(err)
}

// kid returns the id of an app's key, "" for an app that has none.
func (k *keyPairs) kid(ctx context.Context, clientKey string) (string, error) {
	pair, err := k.Signer(ctx, clientKey)
	switch {
	case errors.Is(err, token.ErrNoKeyPair):
		return "", nil
	case err != nil:
		return "", storeFailed(err)
	}
	return pair.KeyID, nil
}
