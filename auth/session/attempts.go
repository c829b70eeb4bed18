package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/recent"
)

// Attempts counts attempts at passwords and codes, and delays further ones after many.
// It never locks for good.
//
// An attempt is counted before the password is checked. Of any number that run at once,
// no more than free proceed. The Manager hashes the keys, so that no identifier is
// stored. A key is 64 hex digits.
//
// Each verb is one atomic step. A count is forgotten a day after its latest attempt. An
// attempt may have an earlier time than others, by a clock that is behind. It is
// counted like any other. Implementations are safe for concurrent use, in this process
// and in others that share the store, and return when ctx ends.
type Attempts interface {
	// Try counts an attempt at the time at, and returns the new count. From the free-th
	// attempt on, each one sets a delay: one second, doubled with each further attempt,
	// at most 15 minutes. An attempt inside the delay is not counted: count is then
	// unchanged, and until is the end of the delay. Otherwise until is zero.
	Try(ctx context.Context, key string, at time.Time, free int) (count int, until time.Time, err error)

	// Return takes back the latest attempt and the delay that it has set. It is for an
	// attempt that succeeded, or that was never checked. If the only attempt of a key
	// is returned, nothing is kept of the key. To return an attempt of a key without
	// attempts is not an error. It does not change what the next Try counts, however
	// many calls run at once.
	Return(ctx context.Context, key string) error

	// Reset forgets the key, because the account has authenticated.
	Reset(ctx context.Context, key string) error
}

// Delay returns the delay that the count-th attempt sets. It is zero if count is less
// than free. Then it is one second, doubled with each further attempt, at most 15
// minutes. Implementations of Attempts use it.
func Delay(count, free int) time.Duration {
	const first = time.Second
	if count < free {
		return 0
	}
	// 2^10 s is beyond the longest delay, and a larger shift would overflow.
	return min(first<<min(count-free, 10), longestDelay)
}

const longestDelay = 15 * time.Minute

// How many attempts proceed before a delay is set.
const (
	freeLogins    = 5   // per name, whether its account exists or not
	freeCodes     = 5   // per account
	freeMails     = 3   // per name that a reset is asked for, and per account that verifies an address
	freeOnDevice  = 5   // per account, on all its known devices together
	freeAddresses = 100 // per address and hour, because many people may share an address
	ticketCodes   = 5   // per ticket, which is refused afterwards
)

// attempt is one attempt under one key of Attempts. The key is a hash: the store holds
// no readable name, address or account.
type attempt struct {
	attempts Attempts
	delays   *delays
	tenant   *auth.Tenant
	key      string
	free     int
}

func (m *Manager) attempt(t *auth.Tenant, free int, parts ...string) attempt {
	sum := sha256.New()
	writeParts(sum, append(parts, string(t.Org.Key()))...)
	return attempt{m.Attempts, &m.delays, t, hex.EncodeToString(sum.Sum(nil)), free}
}

// writeParts writes each part with its length in front, so that different lists of
// parts give different texts.
func writeParts(w io.Writer, parts ...string) {
	for _, part := range parts {
		fmt.Fprintf(w, "%d:%s", len(part), part)
	}
}

// nameAttempt counts by the login name. Case and surrounding blanks are ignored, as
// most directories ignore them.
func (m *Manager) nameAttempt(t *auth.Tenant, login string) attempt {
	return m.attempt(t, freeLogins, "login", normalLogin(login))
}

func normalLogin(login string) string { return strings.ToLower(strings.TrimSpace(login)) }

func (m *Manager) codeAttempt(t *auth.Tenant, account string) attempt {
	return m.attempt(t, freeCodes, "code", account)
}

func (m *Manager) ticketAttempt(t *auth.Tenant, s Session) attempt {
	return m.attempt(t, ticketCodes+1, "ticket", s.ID)
}

// addressAttempt has a new key each hour, so that failures of many people behind one
// address do not add up.
func (m *Manager) addressAttempt(t *auth.Tenant, r *http.Request) attempt {
	return m.attempt(t, freeAddresses, "address", m.subscriber(r), m.hour())
}

// hour names the present hour.
func (m *Manager) hour() string { return m.now().UTC().Format("2006-01-02T15") }

// subscriber is the client's address, or its /64 of IPv6, because one subscriber has
// all of it.
func (m *Manager) subscriber(r *http.Request) string {
	addr := m.address(r)
	if addr.Is6() {
		addr = netip.PrefixFrom(addr.WithZone(""), 64).Masked().Addr()
	}
	return addr.String()
}

// passwordAttempt is an attempt at a password, before it is counted.
type passwordAttempt struct {
	by            party
	device        attempt // without a key if the device is unknown
	name, address attempt
}

// passwordAttempt returns the keys that an attempt is counted by. Known devices have
// their own places in the queue of hashes, so that strangers at the same name or
// address cannot take them.
func (m *Manager) passwordAttempt(r *http.Request, t *auth.Tenant, name string) passwordAttempt {
	l := passwordAttempt{name: m.nameAttempt(t, name), address: m.addressAttempt(t, r)}
	l.by = party{t.Org.Key(), l.name.key, m.subscriber(r)}
	if account, ok := m.knownDevice(r, t, name); ok {
		l.device = m.attempt(t, freeOnDevice, "device", account)
		l.by.name, l.by.address = l.device.key, l.by.address+" known"
	}
	return l
}

// countedAttempts are the counts of one attempt at a password. They are those of the
// name and the address, in this order, or that of the device alone.
type countedAttempts []attempt

// count counts the attempt by the device alone if the device is known and not delayed.
// The delays of the name and the address then do not matter. A delayed device counts
// like an unknown one.
//
// Otherwise the address is counted before the name, so that a refused address adds no
// names to the store. If the name then refuses, the count of the address is undone: the
// attempt may come from the owner, or from an office with an old password in one
// program. To save these two writes, a name that this process knows to be delayed is
// asked first.
func (l passwordAttempt) count(ctx context.Context, now time.Time) (countedAttempts, error) {
	if l.device.key != "" {
		if _, err := l.device.begin(ctx, now); !errors.Is(err, ErrLocked) {
			return countedAttempts{l.device}, err
		}
	}
	if err := l.name.stillDelayed(ctx, now); err != nil {
		return nil, err
	}
	if _, err := l.address.begin(ctx, now); err != nil {
		return nil, err
	}
	if _, err := l.name.begin(ctx, now); err != nil {
		l.address.undo(ctx)
		return nil, err
	}
	return countedAttempts{l.name, l.address}, nil
}

// finish reports the result err of an attempt at a password to Attempts, and returns
// err. A right password resets the count of the name or the device. It says nothing
// about other attempts from its address, so that count is only undone.
func (l countedAttempts) finish(ctx context.Context, err error) error {
	switch {
	case err == nil:
		l[0].succeed(ctx)
		l = l[1:]
	case errors.Is(err, ErrCredentials):
		return err
	}
	for _, t := range l {
		t.undo(ctx) // a failure of a store is no failed attempt
	}
	return err
}

// begin counts the attempt, or refuses it with ErrLocked. Call it before the password
// is checked, so that parallel attempts cannot exceed the limit.
func (t attempt) begin(ctx context.Context, now time.Time) (count int, err error) {
	ctx, cancel := t.tenant.Bound(ctx)
	defer cancel()
	count, until, err := t.attempts.Try(ctx, t.key, now, t.free)
	if err != nil {
		return 0, auth.Unavailable(err)
	}
	if !until.IsZero() {
		t.delays.note(t.tenant.Org.Key(), t.key, now, until)
		return count, locked(until.Sub(now))
	}
	t.delays.note(t.tenant.Org.Key(), t.key, now, now.Add(Delay(count, t.free)))
	return count, nil
}

// stillDelayed returns ErrLocked for an attempt inside a delay that this process has
// set or seen. Such an attempt writes nothing. If begin refused it only after the
// address was counted, that count would be written and undone.
func (t attempt) stillDelayed(ctx context.Context, now time.Time) error {
	if !t.delays.has(t.key, now) {
		return nil
	}
	_, err := t.begin(ctx, now)
	if err == nil {
		t.undo(ctx) // another process has ended the delay: count it in the usual order
	}
	return err
}

// spend counts an attempt of a ticket. After ticketCodes attempts the ticket is refused
// for good, with no delay to wait for. Whoever knows the password gets another ticket.
func (t attempt) spend(ctx context.Context, now time.Time) error {
	count, err := t.begin(ctx, now)
	if errors.Is(err, ErrLocked) || err == nil && count > ticketCodes {
		return errCode
	}
	return err
}

// undo takes back an attempt that succeeded, or that was never checked. If that fails,
// the attempt stays counted, and no other key is affected.
func (t attempt) undo(ctx context.Context) { t.withdraw(ctx, t.attempts.Return) }

// finish reports the result err of an attempt at a code to Attempts, and returns err.
func (t attempt) finish(ctx context.Context, err error) error {
	switch {
	case err == nil:
		t.succeed(ctx)
	case !errors.Is(err, ErrCode):
		t.undo(ctx) // a failure of a store is no failed attempt
	}
	return err
}

// succeed forgets all attempts of the key, because the account has authenticated.
func (t attempt) succeed(ctx context.Context) { t.withdraw(ctx, t.attempts.Reset) }

// withdraw calls Return or Reset of Attempts, also if the client has disconnected.
func (t attempt) withdraw(ctx context.Context, verb func(ctx context.Context, key string) error) {
	ctx, cancel := t.tenant.Bound(context.WithoutCancel(ctx))
	defer cancel()
	verb(ctx, t.key)
}

// delays remembers the delays that attempts in this process have set or seen. It only
// decides which count is asked first, and refuses nothing by itself. If it has no entry
// for a delay, or an old one, the attempt costs two more writes. Each org has a share.
type delays struct {
	once  sync.Once
	orgs  recent.Groups
	until recent.Answers[string, time.Time] // by key
}

// mostDelays is how many delays are remembered, in about a megabyte.
const mostDelays = 4096

func (d *delays) groups() *recent.Groups {
	d.once.Do(func() { d.orgs.Stale, d.orgs.Limit = longestDelay, mostDelays })
	return &d.orgs
}

func (d *delays) note(org auth.OrgKey, key string, now, until time.Time) {
	if now.Before(until) || d.has(key, now) {
		d.until.Keep(d.groups(), 0, now, key, recent.Found[time.Time]{Value: until, Group: string(org)})
	}
}

func (d *delays) has(key string, now time.Time) bool {
	until, _ := d.until.Find(d.groups(), now, key)
	return now.Before(until)
}
