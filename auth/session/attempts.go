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
	"slices"
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

// counter is a key of Attempts. The key is a hash: the store holds no readable name, address or
// account.
type counter struct {
	org    auth.OrgKey // or auth.PersonKey
	key    string
	free   int
	shared bool // of an address: others are counted there, too, so an attempt takes back only itself
}

func newCounter(org auth.OrgKey, free int, parts ...string) counter {
	sum := sha256.New()
	writeParts(sum, append(parts, string(org))...)
	return counter{org: org, key: hex.EncodeToString(sum.Sum(nil)), free: free}
}

// writeParts writes each part with its length in front, so that different lists of
// parts give different texts.
func writeParts(w io.Writer, parts ...string) {
	for _, part := range parts {
		fmt.Fprintf(w, "%d:%s", len(part), part)
	}
}

// attempt is one attempt, and what counts it: where it comes from if that matters, all accounts of a
// person, and last its own count, of a name, a known device, a ticket or codes.
type attempt struct {
	attempts Attempts
	tenant   *auth.Tenant
	counters []counter
}

func (a attempt) own() *counter { return &a.counters[len(a.counters)-1] }

func (m *Manager) attempt(t *auth.Tenant, free int, parts ...string) attempt {
	return attempt{m.Attempts, t, []counter{newCounter(t.Org.Key(), free, parts...)}}
}

// attemptFrom also counts by the address of the request. It has a new key each hour, so that
// failures of many people behind one address do not add up.
func (m *Manager) attemptFrom(r *http.Request, t *auth.Tenant, from string, free int, parts ...string) attempt {
	a := m.attempt(t, free, parts...)
	address := newCounter(t.Org.Key(), freeAddresses, from, m.subscriber(r), m.now().UTC().Format("2006-01-02T15"))
	address.shared = true
	a.counters = append([]counter{address}, a.counters...)
	return a
}

// inAll also counts by all accounts of an owner, if the Directory knows people. A name that is nobody's
// has such a count, too, so that it costs as much.
func (a attempt) inAll(of owner, kind string) attempt {
	if a.tenant.People() != nil {
		a.counters = slices.Insert(a.counters, len(a.counters)-1, newCounter(of.org, a.own().free, kind, of.id))
	}
	return a
}

// normalLogin is the login name that attempts are counted by. Case and surrounding blanks are ignored,
// as most directories ignore them.
func normalLogin(login string) string { return strings.ToLower(strings.TrimSpace(login)) }

// subscriber is the client's address, or its /64 of IPv6, because one subscriber has
// all of it.
func (m *Manager) subscriber(r *http.Request) string {
	addr := m.address(r)
	if addr.Is6() {
		addr = netip.PrefixFrom(addr.WithZone(""), 64).Masked().Addr()
	}
	return addr.String()
}

// passwordAttempts returns what an attempt at a password can be counted by: the name and the address,
// and before them the device alone if it is known. Known devices have
// their own places in the queue of hashes, so that strangers at the same name or
// address cannot take them. Guesses at all accounts of a person have one count.
func (m *Manager) passwordAttempts(r *http.Request, t *auth.Tenant, name string) (by party, attempts []attempt, err error) {
	of, err := m.ownerOfName(r.Context(), t, name)
	if err != nil {
		return by, nil, err
	}
	stranger := m.attemptFrom(r, t, "address", freeLogins, "login", normalLogin(name)).inAll(of, "login of all")
	account, ok := m.knownDevice(r, t, name)
	if !ok {
		return party{t.Org.Key(), stranger.own().key, m.subscriber(r)}, []attempt{stranger}, nil
	}
	device := m.attempt(t, freeOnDevice, "device", account).inAll(of, "device of all")
	return party{t.Org.Key(), device.own().key, m.subscriber(r) + " known"}, []attempt{device, stranger}, nil
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
	if err != nil || account == nil || account.Org != t.Org.Key() || account.ID != id || account.Person == "" {
		return alone, auth.Unavailable(absent(err, nil))
	}
	return ownerOf(account), nil
}

// beginAny begins the first of the attempts that is not delayed, and returns it. A delayed device
// counts like an unknown one, and the delays of the name and the address do not matter to another one.
func beginAny(ctx context.Context, now time.Time, attempts []attempt) (begun attempt, err error) {
	for _, a := range attempts {
		if _, err = a.begin(ctx, now); !errors.Is(err, ErrLocked) {
			return a, err
		}
	}
	return begun, err
}

// begin counts the attempt, or refuses it with ErrLocked. Call it before the password is checked:
// of any number that run at once, no more than free proceed. It returns the count of own.
//
// The address is counted before the name, so that a refused address adds no names to the store. If a
// later count refuses, the others are undone: the attempt may come from the owner, or from an office
// with an old password in one program. To save these writes, the delays of
// all but the first are read before.
func (a attempt) begin(ctx context.Context, now time.Time) (n int, err error) {
	for _, c := range a.counters[1:] {
		err := a.change(ctx, c, func(old count) (count, error) {
			_, err := c.counted(old, now)
			return old, err
		})
		if err != nil {
			return 0, err
		}
	}
	for i, c := range a.counters {
		err := a.change(ctx, c, func(old count) (count, error) {
			next, err := c.counted(old, now)
			n = next.attempts
			return next, err
		})
		if err != nil {
			attempt{a.attempts, a.tenant, a.counters[:i]}.withdraw(ctx, 1)
			return 0, err
		}
	}
	return n, nil
}

// counted returns the count with an attempt at the time now, or the error inside a delay. A count is
// forgotten a day after its latest attempt. From the free-th attempt on, each one sets a delay.
func (c counter) counted(old count, now time.Time) (count, error) {
	at := now.UnixMilli()
	switch {
	case at-old.last >= (24 * time.Hour).Milliseconds():
		old = count{}
	case at < old.until:
		return old, locked(time.UnixMilli(old.until).Sub(now))
	}
	next := count{attempts: old.attempts + 1, last: max(old.last, at)}
	if d := delay(next.attempts, c.free); d > 0 {
		next.until = at + d.Milliseconds()
	}
	return next, nil
}

// change replaces a count in one step. Its timeout is for all rounds: another request may be
// faster each time, but not for ever.
func (a attempt) change(ctx context.Context, of counter, change func(count) (count, error)) error {
	ctx, cancel := a.tenant.Bound(ctx)
	defer cancel()
	for {
		record, err := a.attempts.Load(ctx, of.org, of.key)
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
		done, err := a.attempts.Swap(ctx, of.org, of.key, record, next.String())
		if done || err != nil {
			return auth.Unavailable(err)
		}
	}
}

// finish reports the result err of an attempt to Attempts, and returns err. A right password or code
// forgets all attempts of the name or the device, because the account has authenticated. It says
// nothing about other attempts from its address, of which it takes back this one.
func (a attempt) finish(ctx context.Context, err error) error {
	switch {
	case err == nil:
		a.withdraw(ctx, math.MaxInt)
	case !errors.Is(err, ErrCredentials) && !errors.Is(err, ErrCode):
		a.withdraw(ctx, 1) // a failure of a store is no failed attempt
	}
	return err
}

// withdraw takes up to n attempts of its own count back, and one of the address. The count of all accounts
// of the person loses only those: whoever knows the password of one account must not guess at another
// without end. It does so also if the client has disconnected. If a step fails, its attempts stay counted.
func (a attempt) withdraw(ctx context.Context, n int) {
	for _, c := range slices.Backward(a.counters) {
		taken := 0
		if c.shared {
			n = 1
		}
		err := a.change(context.WithoutCancel(ctx), c, func(old count) (count, error) {
			if taken = min(n, old.attempts); taken == 0 {
				return old, nil
			}
			return old.less(taken), nil
		})
		if err != nil {
			taken = 0 // they are still counted here, so they are in what follows
		}
		n = taken
	}
}
