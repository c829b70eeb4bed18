package session

import (
	"cmp"
	"context"
	"crypto/fips140"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Code is codeHash.code. It is for known answers and authenticators, so FIPS 140 is not
// enforced.
func (m *Manager) Code(secret FactorSecret, step int64) (code string) {
	fips140.WithoutEnforcement(func() { code = m.codes().code(secret, step) })
	return code
}

// Match is codeHash.match.
func (m *Manager) Match(secret FactorSecret, given string, now time.Time, after int64) (int64, bool) {
	return m.codes().match(secret, given, now, after)
}

// NewRecovery is newRecovery.
func NewRecovery() ([]string, [][32]byte) { return newRecovery() }

// UseRecovery is useRecovery.
func UseRecovery(hashes [][32]byte, code string) ([][32]byte, bool) { return useRecovery(hashes, code) }

// NormalRecovery is normalRecovery.
func NormalRecovery(code string) string { return normalRecovery(code) }

// Hashing is hashing.
type Hashing struct{ h *hashing }

// NewHashing returns a hashing with these limits. 0 stands for the default.
func NewHashing(hasher Hasher, parallel, queue int) *Hashing {
	h := newHashing(hasher)
	h.parallel, h.places = cmp.Or(parallel, h.parallel), cmp.Or(queue, h.places)
	return &Hashing{h}
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
	p, err := h.h.enter(party{auth.OrgKey(by.Org), by.Name, by.Address})
	if err != nil {
		return false, false, err
	}
	defer p.leave()
	return p.verify(ctx, encoded, password)
}

// Len returns how many places are taken.
func (h *Hashing) Len() int {
	h.h.mu.Lock()
	defer h.h.mu.Unlock()
	return len(h.h.queue)
}

var ErrQueueFull = errQueueFull

// Len returns how many records, accounts and previous hashes are kept.
func (m *Memory) Len() (records, accounts, previous int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for hash, r := range m.records {
		if hash != r.Hash {
			previous++
		}
	}
	return len(m.records) - previous, len(m.accounts), previous
}

// Counts returns how many keys have a count.
func (m *Memory) Counts() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.attempts)
}

// MailTicketOf returns a ticket of this text.
func MailTicketOf(text string) MailTicket { return MailTicket(text) }

// Count is count, with times.
type Count struct{ c count }

func ParseCount(record string) (Count, error) {
	c, err := parseCount(record)
	return Count{c}, err
}

func (c Count) String() string { return c.c.String() }

func (c Count) Undone() Count { return Count{c.c.less(1)} }

// Counted also returns the number of attempts and the end of the delay that refuses this one.
func (c Count) Counted(at time.Time, free int) (next Count, n int, until time.Time) {
	counted, err := counter{free: free}.counted(c.c, at)
	if err != nil {
		until = time.UnixMilli(counted.until)
	}
	return Count{counted}, counted.attempts, until
}

// ParseToken is parseToken.
func ParseToken(text string) (parsed [32]byte, ok bool) { return parseToken(text) }

// Text is token.text.
func Text(t [32]byte) string { return token(t).text() }

// NewDevice and ParseDevice write and read the text of a device cookie. FIPS 140 is not
// enforced, because an attacker may forge a cookie with an empty key.
func NewDevice(k DeviceKey, org, account string, at time.Time) (text string) {
	fips140.WithoutEnforcement(func() {
		text = k.newDevice(auth.OrgKey(org), authentication{account: account, Proof: Proof{At: at}}).text()
	})
	return text
}

func ParseDevice(k DeviceKey, org, text string) (again string, ok bool) {
	d, ok := k.parse(auth.OrgKey(org), text)
	return d.text(), ok
}
