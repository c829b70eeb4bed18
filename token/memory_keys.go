package token

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// MemoryKeys keeps key pairs in this process. It is for tests, for one server without
// a database, and a reference for other stores. An app has one pair; a replaced pair
// is forgotten at once. The zero MemoryKeys is empty and ready. It must not be
// copied.
type MemoryKeys struct {
	mu    sync.RWMutex
	pairs map[string]*KeyPair // by client key
	kids  map[string]*KeyPair
}

var (
	_ Keys    = (*MemoryKeys)(nil)
	_ Signers = (*MemoryKeys)(nil)
	_ Exposed = (*MemoryKeys)(nil)
)

// Generate gives an app a new pair of 2048 bits. It replaces the old pair, which
// invalidates every token of the app. The new key is exposed if the old one was.
// Generate returns the new public key, or an error matching ErrBadKey for a client
// key of another shape.
func (m *MemoryKeys) Generate(ctx context.Context, org, clientKey string) (*PublicKey, error) {
	pair, err := GeneratePair(minBits)
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = clientKey, org
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.pairs[clientKey]; old != nil {
		pair.Exposed = old.Exposed
	}
	if err := m.put(pair); err != nil {
		return nil, err
	}
	return &pair.PublicKey, nil
}

// Put gives pair.ClientKey this pair and replaces the old one. The error matches
// ErrBadKey if the pair is not valid, or if another app has it: a kid has one owner.
func (m *MemoryKeys) Put(ctx context.Context, pair *KeyPair) error {
	kept := *pair
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.put(&kept)
}

func (m *MemoryKeys) put(pair *KeyPair) error {
	if err := pair.Validate(); err != nil {
		return err
	}
	if owner := m.kids[pair.KeyID]; owner != nil && owner.ClientKey != pair.ClientKey {
		return badKey("pair of another app")
	}
	m.remove(pair.ClientKey)
	if m.pairs == nil {
		m.pairs, m.kids = map[string]*KeyPair{}, map[string]*KeyPair{}
	}
	m.pairs[pair.ClientKey] = pair
	m.kids[pair.KeyID] = pair
	return nil
}

func (m *MemoryKeys) remove(clientKey string) bool {
	pair := m.pairs[clientKey]
	if pair == nil {
		return false
	}
	delete(m.pairs, clientKey)
	delete(m.kids, pair.KeyID)
	return true
}

// Delete forgets the pair of an app, which invalidates every token of the app. It
// returns ErrNotFound if the app has no pair.
func (m *MemoryKeys) Delete(ctx context.Context, clientKey string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.remove(clientKey) {
		return ErrNotFound
	}
	return nil
}

// Expose sets whether the app's public key is listed among those of its org. It
// returns ErrNotFound if the app has no pair.
func (m *MemoryKeys) Expose(ctx context.Context, clientKey string, exposed bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	pair := m.pairs[clientKey]
	if pair == nil {
		return ErrNotFound
	}
	// A copy, because readers may hold the old one.
	changed := *pair
	changed.Exposed = exposed
	m.pairs[clientKey], m.kids[pair.KeyID] = &changed, &changed
	return nil
}

// Public implements Keys.
func (m *MemoryKeys) Public(ctx context.Context, kid string) (*PublicKey, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	pair := m.kids[kid]
	if pair == nil {
		return nil, ErrNotFound
	}
	return &pair.PublicKey, nil
}

// Signer implements Signers.
func (m *MemoryKeys) Signer(ctx context.Context, clientKey string) (*KeyPair, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	pair := m.pairs[clientKey]
	if pair == nil {
		return nil, fmt.Errorf("%w: %q", ErrNoKeyPair, clientKey)
	}
	return pair, nil
}

// Exposed implements Exposed. The keys are in the order of their client keys.
func (m *MemoryKeys) Exposed(ctx context.Context, org string) ([]PublicKey, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys := []PublicKey{}
	for _, pair := range m.pairs {
		if pair.Org == org && pair.Exposed {
			keys = append(keys, pair.PublicKey)
		}
	}
	slices.SortFunc(keys, func(a, b PublicKey) int { return cmp.Compare(a.ClientKey, b.ClientKey) })
	return keys, nil
}
