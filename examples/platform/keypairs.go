package main

import (
	"context"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// keyPairs are the RSA key pairs that the apps sign tokens with, and what the
// bearer mechanism remembers of them. Both change together: what an
// administrator has been told is gone, is.
type keyPairs struct {
	pairs  token.MemoryKeys
	cached *token.CachedKeys // in front of pairs
}

// keyStaleness bounds for how long another process might go on taking a
// replaced key for current.
const keyStaleness = 2 * time.Second

func newKeyPairs() *keyPairs {
	k := new(keyPairs)
	k.cached = token.Cached(&k.pairs, keyStaleness)
	return k
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
	pair.Exposed = a.listsKeys()
	if err := k.pairs.Put(ctx, pair); err != nil {
		return err
	}
	k.cached.Invalidate(a.ClientKey)
	return nil
}

// expose lists the app's key, or no longer. An app without a pair has nothing
// to list.
func (k *keyPairs) expose(ctx context.Context, a *app) error {
	err := k.pairs.Expose(ctx, a.ClientKey, a.listsKeys())
	if errors.Is(err, token.ErrNotFound) {
		return nil
	}
	k.cached.Invalidate(a.ClientKey)
	return err
}

// remove forgets the pair of an app, if it has one, and ends all its tokens.
func (k *keyPairs) remove(ctx context.Context, clientKey string) error {
	err := k.pairs.Delete(ctx, clientKey)
	if errors.Is(err, token.ErrNotFound) {
		return nil
	}
	k.cached.Invalidate(clientKey)
	return err
}

// kid returns the id of an app's key, "" for an app that has none.
func (k *keyPairs) kid(ctx context.Context, clientKey string) (string, error) {
	pair, err := k.pairs.Signer(ctx, clientKey)
	switch {
	case errors.Is(err, token.ErrNoKeyPair):
		return "", nil
	case err != nil:
		return "", err
	}
	return pair.KeyID, nil
}
