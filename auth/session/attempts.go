package session

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Attempts keeps a record for each key, in which the Manager counts attempts at passwords and
// codes. A store knows nothing of counts and delays: it compares and sets.
//
// A key is 64 hex digits, a hash, so that no identifier is stored. A record is a text of at most
// 64 ASCII characters. A key without a record has the empty one. Each verb names the org that a
// shard is chosen by, or auth.PersonKey; the records of two orgs are apart.
//
// Implementations are safe for concurrent use, in this process and in others that share the store,
// and return when ctx ends.
type Attempts interface {
	// Load returns the record of the key.
	Load(ctx context.Context, org auth.OrgKey, key string) (record string, err error)

	// Swap replaces the record old of the key, in one atomic step, and reports whether it did: not
	// if the record is another one. An empty record is deleted. Any other is kept for a day at
	// least, by the store's clock, and may then be forgotten.
	Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error)
}

// count is the record of a key. An attempt may have an earlier time than others, by a clock that
// is behind. It is counted like any other.
type count struct {
	attempts int
	last     int64 // the latest time of an attempt; this and until are Unix milliseconds
	until    int64 // end of the delay that the latest attempt has set; 0: none
}

func parseCount(record string) (c count, err error) {
	if record != "" {
		_, err = fmt.Sscanf(record, "%d %d %d", &c.attempts, &c.last, &c.until)
	}
	return c, err
}

func (c count) String() string {
	if c.attempts <= 0 {
		return ""
	}
	return fmt.Sprintf("%d %d %d", c.attempts, c.last, c.until)
}

// counted returns the count with an attempt at the time at, or false inside a delay. A count is
// forgotten a day after its latest attempt. From the free-th attempt on, each one sets a delay.
func (c count) counted(at int64, free int) (count, bool) {
	switch {
	case at-c.last >= (24 * time.Hour).Milliseconds():
		c = count{}
	case at < c.until:
		return c, false
	}
	c.attempts++
	c.last, c.until = max(c.last, at), 0
	if d := delay(c.attempts, free); d > 0 {
		c.until = at + d.Milliseconds()
	}
	return c, true
}

// less returns the count without n attempts, the latest one of them. The delay before that one has ended,
// because no attempt is counted inside a delay.
func (c count) less(n int) count { return count{attempts: c.attempts - n, last: c.last} }

// delay returns the delay that the n-th attempt sets: one second for the free-th, doubled with
// each further one, at most 15 minutes.
func delay(n, free int) time.Duration {
	if n < free {
		return 0
	}
	// 2^10 s is beyond the longest delay, and a larger shift would overflow.
	return min(time.Second<<min(n-free, 10), 15*time.Minute)
}

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
	tenant   *auth.Tenant
	org      auth.OrgKey // or auth.PersonKey
	key      string
	free     int
	all      *attempt // of all accounts of the person, of which this one counts a part; nil: none
}

func (m *Manager) attempt(t *auth.Tenant, free int, parts ...string) attempt {
	return m.attemptIn(t, t.Org.Key(), free, parts...)
}

func (m *Manager) attemptIn(t *auth.Tenant, org auth.OrgKey, free int, parts ...string) attempt {
	sum := sha256.New()
	writeParts(sum, append(parts, string(org))...)
	return attempt{m.Attempts, t, org, hex.EncodeToString(sum.Sum(nil)), free, nil}
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

func (m *Manager) codeAttempt(t *auth.Tenant, of owner) attempt {
	return m.attemptIn(t, of.org, freeCodes, "code", of.id)
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
// address cannot take them. Guesses at all accounts of a person have one count.
func (m *Manager) passwordAttempt(r *http.Request, t *auth.Tenant, name string) (passwordAttempt, error) {
	l := passwordAttempt{name: m.nameAttempt(t, name), address: m.addressAttempt(t, r)}
	of, err := m.ownerOfName(r.Context(), t, name)
	if err != nil {
		return l, err
	}
	l.name.all = m.allOf(t, of, freeLogins, "login of all")
	l.by = party{t.Org.Key(), l.name.key, m.subscriber(r)}
	if account, ok := m.knownDevice(r, t, name); ok {
		l.device = m.attempt(t, freeOnDevice, "device", account)
		l.device.all = m.allOf(t, of, freeOnDevice, "device of all")
		l.by.name, l.by.address = l.device.key, l.by.address+" known"
	}
	return l, nil
}

// allOf returns the count of all accounts of an owner, if the Directory knows people. A name that is
// nobody's has one, too, so that it costs as much.
func (m *Manager) allOf(t *auth.Tenant, of owner, free int, kind string) *attempt {
	if t.People() == nil {
		return nil
	}
	all := m.attemptIn(t, of.org, free, kind, of.id)
	return &all
}

// ownerOfName returns the owner of the account of a login name, if the Directory knows people. It also
// looks up an account for an unknown name, and all of them without a cache, so that each name costs the
// same.
func (m *Manager) ownerOfName(ctx context.Context, t *auth.Tenant, name string) (owner, error) {
	alone := owner{t.Org.Key(), normalLogin(name)}
	people := t.People()
	if people == nil {
		return alone, nil
	}
	id, _, err := m.lookUp(ctx, t, name)
	if err != nil && !auth.IsNotFound(err) {
		return alone, auth.Unavailable(err)
	}
	ctx, cancel := t.Bound(ctx)
	defer cancel()
	account, err := people.Account(ctx, t.Org.Key(), cmp.Or(id, name))
	switch {
	case err != nil && !auth.IsNotFound(err):
		return alone, auth.Unavailable(err)
	case err != nil, account == nil, account.Org != t.Org.Key(), account.ID != id, account.Person == "":
		return alone, nil
	}
	return ownerOf(account), nil
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
// program. To save these two writes, the delay of the name is read first.
func (l passwordAttempt) count(ctx context.Context, now time.Time) (countedAttempts, error) {
	if l.device.key != "" {
		if _, err := l.device.begin(ctx, now); !errors.Is(err, ErrLocked) {
			return countedAttempts{l.device}, err
		}
	}
	if err := l.name.checkDelay(ctx, now); err != nil {
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

// finish reports the result err of an attempt to Attempts, and returns
// err. A right password or code resets the count of the name or the device. It says nothing
// about other attempts from its address, so that count is only undone.
func (l countedAttempts) finish(ctx context.Context, err error) error {
	switch {
	case err == nil:
		l[0].succeed(ctx)
		l = l[1:]
	case errors.Is(err, ErrCredentials), errors.Is(err, ErrCode):
		return err
	}
	for _, t := range l {
		t.undo(ctx) // a failure of a store is no failed attempt
	}
	return err
}

// begin counts the attempt, or refuses it with ErrLocked. Call it before the password is checked:
// of any number that run at once, no more than free proceed.
func (t attempt) begin(ctx context.Context, now time.Time) (n int, err error) {
	if t.all != nil {
		if _, err := t.all.begin(ctx, now); err != nil {
			return 0, err
		}
	}
	err = t.change(ctx, func(c count) (count, error) {
		c, err := t.count(c, now)
		n = c.attempts
		return c, err
	})
	if err != nil && t.all != nil {
		t.all.undo(ctx)
	}
	return n, err
}

func (t attempt) count(c count, now time.Time) (count, error) {
	next, ok := c.counted(now.UnixMilli(), t.free)
	if !ok {
		return c, locked(time.UnixMilli(c.until).Sub(now))
	}
	return next, nil
}

// checkDelay returns ErrLocked for an attempt inside a delay. It writes nothing.
func (t attempt) checkDelay(ctx context.Context, now time.Time) error {
	if t.all != nil {
		if err := t.all.checkDelay(ctx, now); err != nil {
			return err
		}
	}
	return t.change(ctx, func(c count) (count, error) {
		_, err := t.count(c, now)
		return c, err
	})
}

// change replaces the count in one step. Its timeout is for all rounds: another request may be
// faster each time, but not for ever.
func (t attempt) change(ctx context.Context, change func(count) (count, error)) error {
	ctx, cancel := t.tenant.Bound(ctx)
	defer cancel()
	for {
		record, err := t.attempts.Load(ctx, t.org, t.key)
		if err != nil {
			return auth.Unavailable(err)
		}
		c, err := parseCount(record)
		if err != nil {
			return auth.Unavailable(err)
		}
		next, err := change(c)
		if err != nil || next == c {
			return err
		}
		done, err := t.attempts.Swap(ctx, t.org, t.key, record, next.String())
		if done || err != nil {
			return auth.Unavailable(err)
		}
	}
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
func (t attempt) undo(ctx context.Context) { t.withdraw(ctx, 1) }

// finish is that of an attempt under this key alone.
func (t attempt) finish(ctx context.Context, err error) error {
	return countedAttempts{t}.finish(ctx, err)
}

// succeed forgets all attempts of the key, because the account has authenticated.
func (t attempt) succeed(ctx context.Context) { t.withdraw(ctx, math.MaxInt) }

// withdraw takes up to n attempts back, also if the client has disconnected. The count of all accounts
// of the person loses only these: whoever knows the password of one account must not guess at another
// without end.
func (t attempt) withdraw(ctx context.Context, n int) {
	taken := 0
	t.change(context.WithoutCancel(ctx), func(c count) (count, error) {
		if taken = min(n, c.attempts); taken == 0 {
			return c, nil
		}
		return c.less(taken), nil
	})
	if t.all != nil {
		t.all.withdraw(ctx, taken)
	}
}
