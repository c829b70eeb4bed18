package token

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/weakkey"
)

// MemoryKeys keeps key pairs in this process. It is for tests, for one server without
// a database, and a reference for other stores. An app has one pair, and up to
// MaxFormers former public keys that still verify. A client key belongs to the org that
// gave it a pair first, until Delete. The zero MemoryKeys is empty and ready. It must
// not be copied.
type MemoryKeys struct {
	Now func() time.Time // nil: time.Now; for the ends of former keys

	mu   sync.RWMutex
	apps map[string]*appKeys   // by client key
	kids map[string]*PublicKey // the present and the former keys
}

// appKeys are the keys of an app.
type appKeys struct {
	pair    *KeyPair     // without Former
	formers []*PublicKey // the latest end first; some may have ended
}

var (
	_ Keys    = (*MemoryKeys)(nil)
	_ Signers = (*MemoryKeys)(nil)
	_ Exposed = (*MemoryKeys)(nil)
)

// change replaces the keys of an app by what f makes of them, and deletes them for nil. If the org has no
// such app, it returns absent. Without absent, f then gets nil, but an app of another org is an error.
func (m *MemoryKeys) change(org OrgKey, clientKey string, absent error, f func(old *appKeys) (*appKeys, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	old := m.apps[clientKey]
	foreign := old != nil && old.pair.Org != org
	switch {
	case absent != nil && (old == nil || foreign):
		return absent
	case foreign:
		return errForeign
	}
	changed, err := f(old)
	if err == nil && changed != old {
		m.set(clientKey, changed)
	}
	return err
}

var errForeign = badKey("client key of another org")

// Generate gives an app a new pair of 2048 bits. It replaces the old pair and all
// former keys, which invalidates every token of the app. The new key is exposed if the
// old one was. Generate returns the new public key. The error matches ErrBadKey for a
// client key of another shape, or of another org.
func (m *MemoryKeys) Generate(ctx context.Context, org OrgKey, clientKey string) (*PublicKey, error) {
	return m.make(org, clientKey, nil, m.replace)
}

// Ensure returns the public key of an app's present pair, and gives the app a new pair of 2048 bits
// if it has none. It is one atomic step: of all calls for an app without a pair one makes it, and
// all return the same key. It never ends a token. The error matches ErrBadKey for a client key of
// another shape, or of another org.
func (m *MemoryKeys) Ensure(ctx context.Context, org OrgKey, clientKey string) (*PublicKey, error) {
	m.mu.RLock()
	a := m.apps[clientKey]
	m.mu.RUnlock()
	if a == nil {
		return m.make(org, clientKey, nil, m.keep)
	}
	if a.pair.Org != org {
		return nil, errForeign // before a pair is made, which takes long
	}
	return &a.pair.PublicKey, nil
}

// make makes a new pair for an app, and changes its keys to what f makes of the pair and of them. It
// returns the app's public key after that.
func (m *MemoryKeys) make(org OrgKey, clientKey string, absent error, f func(pair *KeyPair, old *appKeys) (*appKeys, error)) (public *PublicKey, err error) {
	pair, err := GeneratePair(weakkey.MinBits)
	if err != nil {
		return nil, err
	}
	pair.ClientKey, pair.Org = clientKey, org
	err = m.change(org, clientKey, absent, func(old *appKeys) (*appKeys, error) {
		changed, err := f(pair, old)
		if err == nil {
			public = &changed.pair.PublicKey
		}
		return changed, err
	})
	return public, err
}

func (m *MemoryKeys) replace(pair *KeyPair, old *appKeys) (*appKeys, error) {
	pair.Exposed = old != nil && old.pair.Exposed
	return &appKeys{pair: pair}, m.vet(pair)
}

// keep is replace, but leaves a pair that is there.
func (m *MemoryKeys) keep(pair *KeyPair, old *appKeys) (*appKeys, error) {
	if old != nil {
		return old, nil
	}
	return m.replace(pair, nil)
}

// Put gives pair.ClientKey this pair. It replaces the old pair and all former keys,
// which invalidates every token of the app. Ends and Former of the argument are ignored.
// The error matches ErrBadKey if the pair is not valid, if another app has it, or if
// the client key is another org's.
func (m *MemoryKeys) Put(ctx context.Context, pair *KeyPair) error {
	kept := *pair
	kept.Ends, kept.Former = time.Time{}, nil
	return m.change(pair.Org, pair.ClientKey, nil, func(*appKeys) (*appKeys, error) {
		return &appKeys{pair: &kept}, m.vet(&kept)
	})
}

// vet refuses a pair that is not valid, or that another app has.
func (m *MemoryKeys) vet(pair *KeyPair) error {
	if err := pair.Validate(); err != nil {
		return err
	}
	if owner := m.kids[pair.KeyID]; owner != nil && owner.ClientKey != pair.ClientKey && !owner.hasEnded(m.Now) {
		return badKey("pair of another app")
	}
	return nil
}

// Rotate gives an app a new pair of 2048 bits, which signs from now on. The public key
// of the old pair becomes a former key: it verifies until overlap has passed. The new
// key is exposed if the old one was. Rotate returns the new public key, and changes
// nothing if it returns one of these errors:
//
//   - ErrOverlap if overlap is not 1 second to MaxOverlap; for no overlap, use Generate;
//   - ErrNotFound if the org has no app of this client key with a pair;
//   - ErrFormers if the app has MaxFormers former keys that still verify. To drop one of
//     them would invalidate tokens before the stated end.
//
// It costs what GeneratePair costs, and so does Generate.
func (m *MemoryKeys) Rotate(ctx context.Context, org OrgKey, clientKey string, overlap time.Duration) (*PublicKey, error) {
	if err := CheckOverlap(overlap); err != nil {
		return nil, err
	}
	return m.make(org, clientKey, ErrNotFound, func(pair *KeyPair, old *appKeys) (*appKeys, error) {
		formers := old.verifying(m.Now)
		if len(formers) >= MaxFormers {
			return nil, ErrFormers
		}
		former := old.pair.PublicKey
		former.Ends = clock.Now(m.Now).Add(overlap).UTC().Truncate(time.Millisecond)
		pair.Exposed = former.Exposed
		formers = append(formers, &former)
		slices.SortFunc(formers, func(a, b *PublicKey) int { return cmp.Or(b.Ends.Compare(a.Ends), cmp.Compare(a.KeyID, b.KeyID)) })
		return &appKeys{pair, formers}, nil
	})
}

// verifying returns a copy of the former keys that still verify.
func (a *appKeys) verifying(now func() time.Time) []*PublicKey {
	return slices.DeleteFunc(slices.Clone(a.formers), func(f *PublicKey) bool { return f.hasEnded(now) })
}

// all returns the present key and the former ones, of which some may have ended; none for nil.
func (a *appKeys) all() []*PublicKey {
	if a == nil {
		return nil
	}
	return append([]*PublicKey{&a.pair.PublicKey}, a.formers...)
}

// set replaces the keys of an app, or deletes them if a is nil.
func (m *MemoryKeys) set(clientKey string, a *appKeys) {
	if m.apps == nil {
		m.apps, m.kids = map[string]*appKeys{}, map[string]*PublicKey{}
	}
	for _, k := range m.apps[clientKey].all() {
		// Once a former key has ended, another app may have it.
		if m.kids[k.KeyID] == k {
			delete(m.kids, k.KeyID)
		}
	}
	if m.apps[clientKey] = a; a == nil {
		delete(m.apps, clientKey)
	}
	for _, k := range a.all() {
		m.kids[k.KeyID] = k
	}
}

// Delete forgets the pair and the former keys of an app, which invalidates every token
// of the app. It returns ErrNotFound if the org has no app of this client key with a
// pair.
func (m *MemoryKeys) Delete(ctx context.Context, org OrgKey, clientKey string) error {
	return m.change(org, clientKey, ErrNotFound, func(*appKeys) (*appKeys, error) { return nil, nil })
}

// Expose sets whether the app's public keys, the present one and the former ones, are
// listed among those of its org. It returns ErrNotFound if the org has no app of this
// client key with a pair.
func (m *MemoryKeys) Expose(ctx context.Context, org OrgKey, clientKey string, exposed bool) error {
	return m.change(org, clientKey, ErrNotFound, func(old *appKeys) (*appKeys, error) {
		// Copies, because readers may hold the old ones.
		pair := *old.pair
		pair.Exposed = exposed
		changed := &appKeys{pair: &pair}
		for _, f := range old.verifying(m.Now) {
			former := *f
			former.Exposed = exposed
			changed.formers = append(changed.formers, &former)
		}
		return changed, nil
	})
}

// Public implements Keys.
func (m *MemoryKeys) Public(ctx context.Context, kid string) (*PublicKey, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	key := m.kids[kid]
	if key == nil || key.hasEnded(m.Now) {
		return nil, ErrNotFound
	}
	return key, nil
}

// Signer implements Signers.
func (m *MemoryKeys) Signer(ctx context.Context, clientKey string) (*KeyPair, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	a := m.apps[clientKey]
	if a == nil {
		return nil, fmt.Errorf("%w: %q", ErrNoKeyPair, clientKey)
	}
	pair := *a.pair
	for _, f := range a.verifying(m.Now) {
		pair.Former = append(pair.Former, f.KeyID)
	}
	return &pair, nil
}

// Exposed implements Exposed. The keys are in the order of their client keys. The
// present key of an app comes first, and then its former keys, the latest end first.
func (m *MemoryKeys) Exposed(ctx context.Context, org OrgKey) ([]PublicKey, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	keys, apps := []PublicKey{}, []*appKeys{} // only of the org: a reply must not cost more for the apps of others
	for _, a := range m.apps {
		if a.pair.Org == org && a.pair.Exposed {
			apps = append(apps, a)
		}
	}
	slices.SortFunc(apps, func(a, b *appKeys) int { return cmp.Compare(a.pair.ClientKey, b.pair.ClientKey) })
	for _, a := range apps {
		for _, k := range a.all() {
			if !k.hasEnded(m.Now) {
				keys = append(keys, *k)
			}
		}
	}
	return keys, nil
}
