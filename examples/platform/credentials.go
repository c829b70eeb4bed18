package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// credentials keeps the signing keys of the apps: it is what the signature
// mechanism asks. They lie apart from the store, since they are secrets.
type credentials struct {
	mu    sync.RWMutex
	byKey map[string]*signingKey
}

// signingKey is the credential of one app. It is not altered, only replaced.
type signingKey struct {
	secrets []issuedSecret // the newest last
	signature.Credential
}

// issuedSecret is a secret, and when it ends. The newest does not.
type issuedSecret struct {
	signing.Secret
	until time.Time
}

const (
	// rotationGrace is how long a secret lives after it was rotated.
	rotationGrace = 24 * time.Hour

	// maxSecrets bounds how many MACs a request can cost: who rotates more
	// often than that loses the oldest early.
	maxSecrets = 4
)

func newCredentials() *credentials {
	return &credentials{byKey: make(map[string]*signingKey)}
}

// Credential implements signature.Credentials.
func (c *credentials) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.RLock()
	k := c.byKey[clientKey]
	c.mu.RUnlock()
	switch {
	case k == nil:
		return nil, auth.ErrNotFound
	case !k.holdsEnded(time.Now()):
		return &k.Credential, nil
	}
	if err := c.drop(clientKey); err != nil {
		return nil, err
	}
	return c.Credential(ctx, clientKey)
}

// put gives an app a secret, and a credential whose Key is filled in.
func (c *credentials) put(clientKey string, secret signing.Secret, credential signature.Credential) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replace(clientKey, []issuedSecret{{Secret: secret}}, credential)
}

// restrict changes everything about a credential but its secrets.
func (c *credentials) restrict(clientKey string, change func(*signature.Credential)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byKey[clientKey]
	if k == nil {
		return auth.ErrNotFound
	}
	changed := *k
	change(&changed.Credential)
	c.byKey[clientKey] = &changed
	return nil
}

// rotate gives an app another secret. The one it had lives for rotationGrace.
func (c *credentials) rotate(clientKey string, secret signing.Secret) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byKey[clientKey]
	if k == nil {
		return auth.ErrNotFound
	}
	secrets := slices.Clone(k.secrets)
	secrets[len(secrets)-1].until = time.Now().Add(rotationGrace)
	secrets = append(secrets, issuedSecret{Secret: secret})
	return c.replace(clientKey, secrets[max(0, len(secrets)-maxSecrets):], k.Credential)
}

// remove forgets the credential of an app.
func (c *credentials) remove(clientKey string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byKey, clientKey)
}

// drop forgets the secrets whose time has come.
func (c *credentials) drop(clientKey string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byKey[clientKey]
	if k == nil {
		return auth.ErrNotFound
	}
	now := time.Now()
	live := slices.DeleteFunc(slices.Clone(k.secrets), func(s issuedSecret) bool { return s.ended(now) })
	return c.replace(clientKey, live, k.Credential)
}

// replace builds the key of a credential anew. c.mu is held.
func (c *credentials) replace(clientKey string, secrets []issuedSecret, credential signature.Credential) (err error) {
	texts := make([]signing.Secret, len(secrets))
	for i, s := range secrets {
		texts[i] = s.Secret
	}
	if credential.Key, err = signing.NewKey(clientKey, texts...); err != nil {
		return err
	}
	c.byKey[clientKey] = &signingKey{secrets, credential}
	return nil
}

func (s issuedSecret) ended(now time.Time) bool { return !s.until.IsZero() && !now.Before(s.until) }

func (k *signingKey) holdsEnded(now time.Time) bool {
	return slices.ContainsFunc(k.secrets, func(s issuedSecret) bool { return s.ended(now) })
}
