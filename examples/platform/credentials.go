package main

import (
	"context"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
)

// credentials keeps the signing keys of the apps: it is what the signature
// mechanism asks. They lie apart from the store, since they are secrets.
type credentials struct {
	mu    sync.RWMutex
	byKey map[string]*signature.Credential
}

func newCredentials() *credentials {
	return &credentials{byKey: make(map[string]*signature.Credential)}
}

// Credential implements signature.Credentials.
func (c *credentials) Credential(ctx context.Context, clientKey string) (*signature.Credential, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if credential, ok := c.byKey[clientKey]; ok {
		return credential, nil
	}
	return nil, auth.ErrNotFound
}

func (c *credentials) put(credential *signature.Credential) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[credential.Key.ClientKey()] = credential
}
