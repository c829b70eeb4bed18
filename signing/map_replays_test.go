package signing_test

import (
	"context"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// mapReplays is the simplest implementation of Replays. Its clock is that of the
// verifier.
type mapReplays struct {
	mu         sync.Mutex
	nonces     map[[2]string]time.Time
	signatures map[signature]*sighting
	uses       []signing.Use
}

type signature struct {
	clientKey string
	sum       [32]byte
}

type sighting struct {
	first, keep time.Time
	times, max  int
}

func (m *mapReplays) Claim(_ context.Context, u signing.Use) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if u.Keep.Before(u.Seen) {
		return signing.ErrStale
	}
	if m.nonces == nil {
		m.nonces, m.signatures = map[[2]string]time.Time{}, map[signature]*sighting{}
	}
	nonce := [2]string{u.ClientKey, u.Nonce}
	if keep, ok := m.nonces[nonce]; ok && !keep.Before(u.Seen) {
		return signing.ErrReplayed
	}
	sum := signature{u.ClientKey, u.Signature}
	switch s := m.signatures[sum]; {
	case s == nil || s.keep.Before(u.Seen):
		m.signatures[sum] = &sighting{first: u.Seen, keep: u.Keep, times: 1, max: u.Siblings}
	// Single use is final: an attacker can remove an account header.
	case s.times >= min(s.max, u.Siblings) || u.Seen.Sub(s.first) > u.Window:
		return signing.ErrReplayed
	default:
		s.times++
	}
	m.nonces[nonce] = u.Keep
	m.uses = append(m.uses, u)
	return nil
}

// claimed returns the recorded requests.
func (m *mapReplays) claimed() []signing.Use {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.uses
}

// replaysFunc is a Replays of one function.
type replaysFunc func(context.Context, signing.Use) error

func (f replaysFunc) Claim(ctx context.Context, u signing.Use) error { return f(ctx, u) }

// keyring is a set of keys.
type keyring map[string]*signing.Key

func (k keyring) Key(_ context.Context, clientKey string) (*signing.Key, error) {
	key, ok := k[clientKey]
	if !ok {
		return nil, signing.ErrUnknownKey
	}
	return key, nil
}

// keysFunc is a Keys of one function.
type keysFunc func(context.Context, string) (*signing.Key, error)

func (f keysFunc) Key(ctx context.Context, clientKey string) (*signing.Key, error) {
	return f(ctx, clientKey)
}
