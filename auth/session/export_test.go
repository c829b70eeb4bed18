package session

import (
	"context"
	"time"
)

// Code is code, for known answers.
func Code(secret FactorSecret, step int64) string { return code(secret, step) }

// Match is match.
func Match(secret FactorSecret, given string, now time.Time, after int64) (int64, bool) {
	return match(secret, given, now, after)
}

// NewRecovery is newRecovery.
func NewRecovery() ([]string, [][32]byte) { return newRecovery() }

// UseRecovery is useRecovery.
func UseRecovery(hashes [][32]byte, code string) ([][32]byte, bool) { return useRecovery(hashes, code) }

// NormalRecovery is normalRecovery.
func NormalRecovery(code string) string { return normalRecovery(code) }

// Hashing is hashing.
type Hashing struct{ h hashing }

// NewHashing makes a hashing with bounds; 0: those of the zero hashing.
func NewHashing(hasher Hasher, parallel, queue int) *Hashing {
	return &Hashing{hashing{hasher: hasher, parallel: parallel, queue: queue}}
}

func (h *Hashing) Verify(ctx context.Context, encoded, password string) (ok, rehash bool, err error) {
	return h.VerifyBy(ctx, Party{}, encoded, password)
}

func (h *Hashing) Hash(ctx context.Context, password string) (string, error) {
	return h.h.hash(ctx, party{}, password)
}

// Party is party.
type Party struct{ Org, Name, Address string }

// VerifyBy is Verify for a party.
func (h *Hashing) VerifyBy(ctx context.Context, by Party, encoded, password string) (ok, rehash bool, err error) {
	p, err := h.h.enter(party{by.Org, by.Name, by.Address})
	if err != nil {
		return false, false, err
	}
	defer p.leave()
	return p.verify(ctx, encoded, password)
}

// Len is how many places are taken.
func (h *Hashing) Len() int {
	h.h.mu.Lock()
	defer h.h.mu.Unlock()
	return len(h.h.line)
}

var ErrQueueFull = errQueueFull

// Len is how many records, accounts and earlier hashes are kept.
func (m *Memory) Len() (records, accounts, previous int) {
	t := &m.sessions
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, org := range t.orgs {
		accounts += len(org)
	}
	return len(t.records), accounts, len(t.previous)
}

// Counts is how many keys have a count.
func (m *Memory) Counts() int {
	m.attempts.mu.Lock()
	defer m.attempts.mu.Unlock()
	return len(m.attempts.counts)
}

// ParseSecret is parseSecret.
func ParseSecret(text string) (token [32]byte, ok bool) { return parseSecret(text) }

// Text is secret.text.
func Text(token [32]byte) string { return secret(token).text() }

// NewDevice and ParseDevice make and take the text of a device cookie.
func NewDevice(k DeviceKey, org, account string, at time.Time) string {
	return k.newDevice(org, proof{account, at}).text()
}

func ParseDevice(k DeviceKey, org, text string) (again string, ok bool) {
	d, ok := k.parse(org, text)
	return d.text(), ok
}
