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
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// How many tries pass before they are spaced out.
const (
	freeLogins    = 5   // per name, whether there is such an account or not
	freeCodes     = 5   // per account
	freeOnDevice  = 5   // per account, on all devices that it has logged in on before
	freeAddresses = 100 // per address and hour: many people may share one
	ticketCodes   = 5   // per ticket, and then it is good for nothing
)

// try is one counted try, which Attempts knows by a hash: no name, address or
// account can be read from its store.
type try struct {
	attempts Attempts
	delays   *delays
	tenant   *auth.Tenant
	key      string
	free     int
}

func (m *Manager) try(t *auth.Tenant, free int, parts ...string) try {
	sum := sha256.New()
	writeParts(sum, append(parts, t.Org.Code)...)
	return try{m.Attempts, &m.delays, t, hex.EncodeToString(sum.Sum(nil)), free}
}

// writeParts writes each part with its length in front, so that no two lists of
// parts read the same.
func writeParts(w io.Writer, parts ...string) {
	for _, part := range parts {
		fmt.Fprintf(w, "%d:%s", len(part), part)
	}
}

// loginTry counts by the name as it was submitted. Case and blanks at the ends
// do not make another name, since to most directories they do not.
func (m *Manager) loginTry(t *auth.Tenant, login string) try {
	return m.try(t, freeLogins, "login", strings.ToLower(strings.TrimSpace(login)))
}

func (m *Manager) codeTry(t *auth.Tenant, account string) try {
	return m.try(t, freeCodes, "code", account)
}

func (m *Manager) ticketTry(t *auth.Tenant, s Session) try {
	return m.try(t, ticketCodes+1, "ticket", s.ID)
}

// addressTry begins anew each hour: failures of many people behind one address
// must not add up.
func (m *Manager) addressTry(t *auth.Tenant, r *http.Request) try {
	return m.try(t, freeAddresses, "address", m.subscriber(r), m.now().UTC().Format("2006-01-02T15"))
}

// subscriber is the address, or the /64 of IPv6: one subscriber has the whole of it.
func (m *Manager) subscriber(r *http.Request) string {
	addr := m.address(r)
	if addr.Is6() {
		addr = netip.PrefixFrom(addr.WithZone(""), 64).Masked().Addr()
	}
	return addr.String()
}

// login is a try at a password, before it is counted.
type login struct {
	by            party
	device        try // of a known device; otherwise without a key
	name, address try
}

// login says what a try is to be counted by. Known devices have places of their own
// in the line of hashes: strangers at a name, or at an address, do not take them.
func (m *Manager) login(r *http.Request, t *auth.Tenant, name string) login {
	l := login{name: m.loginTry(t, name), address: m.addressTry(t, r)}
	l.by = party{t.Org.Code, l.name.key, m.subscriber(r)}
	if account, ok := m.knownDevice(r, t, name); ok {
		l.device = m.try(t, freeOnDevice, "device", account)
		l.by.name, l.by.address = l.device.key, l.by.address+" known"
	}
	return l
}

// loginTries are what the try at a password is counted by: the name first, and
// the address; or else the device alone.
type loginTries []try

// count goes by the device where it is known, whatever was tried elsewhere for the
// name, or from the address. A device that has to wait is worth nothing: its try
// counts like that of any other.
//
// Otherwise it asks the address before the name: from one that is refused nothing is
// written under any name. What the name refuses costs the address nothing, as it may
// be the owner's, or that of an office where one program has an old password. So it
// must cost the store nothing either: a name that is delayed is asked first.
func (l login) count(ctx context.Context, now time.Time) (loginTries, error) {
	if l.device.key != "" {
		if _, err := l.device.begin(ctx, now); !errors.Is(err, ErrLocked) {
			return loginTries{l.device}, err
		}
	}
	if err := l.name.stillDelayed(ctx, now); err != nil {
		return nil, err
	}
	if _, err := l.address.begin(ctx, now); err != nil {
		return nil, err
	}
	if _, err := l.name.begin(ctx, now); err != nil {
		l.address.giveBack(ctx)
		return nil, err
	}
	return loginTries{l.name, l.address}, nil
}

// end settles counted tries at a password. A right one says nothing about the
// others that came from its address.
func (l loginTries) end(ctx context.Context, err error) {
	switch {
	case err == nil:
		l[0].succeed(ctx)
		l = l[1:]
	case errors.Is(err, ErrCredentials):
		return
	}
	for _, t := range l {
		t.giveBack(ctx) // a fault is nobody's failed try
	}
}

// begin counts the try, or refuses it with ErrLocked. It comes before the
// password is looked at, so that no number of parallel tries gets past the bound.
func (t try) begin(ctx context.Context, now time.Time) (count int, err error) {
	ctx, cancel := t.tenant.Bound(ctx)
	defer cancel()
	count, until, err := t.attempts.Try(ctx, t.key, now, t.free)
	if err != nil {
		return 0, unavailable(err)
	}
	if !until.IsZero() {
		t.delays.note(t.key, now, until)
		return count, locked(until.Sub(now))
	}
	t.delays.note(t.key, now, now.Add(Delay(count, t.free)))
	return count, nil
}

// stillDelayed returns ErrLocked for a try inside a delay that this process has set or
// met. Such a try writes nothing, where begin after another count would: that one is
// written and taken back.
func (t try) stillDelayed(ctx context.Context, now time.Time) error {
	if !t.delays.has(t.key, now) {
		return nil
	}
	_, err := t.begin(ctx, now)
	if err == nil {
		t.giveBack(ctx) // another process has lifted it: the try is counted in its turn
	}
	return err
}

// spend counts a try of a ticket. They end for good: whoever knows the password
// gets another ticket.
func (t try) spend(ctx context.Context, now time.Time) error {
	count, err := t.begin(ctx, now)
	if errors.Is(err, ErrLocked) || err == nil && count > ticketCodes {
		return errCode
	}
	return err
}

// giveBack takes a try back that was right, or was never looked at. What fails here
// costs its caller a try, and nobody else anything.
func (t try) giveBack(ctx context.Context) {
	ctx, cancel := t.tenant.Bound(context.WithoutCancel(ctx))
	defer cancel()
	t.delays.forget(t.key)
	t.attempts.Return(ctx, t.key)
}

// end settles a counted try at a code.
func (t try) end(ctx context.Context, err error) {
	switch {
	case err == nil:
		t.succeed(ctx)
	case !errors.Is(err, ErrCode):
		t.giveBack(ctx) // a fault is nobody's failed try
	}
}

// succeed forgets all tries: the account has proved itself.
func (t try) succeed(ctx context.Context) {
	ctx, cancel := t.tenant.Bound(context.WithoutCancel(ctx))
	defer cancel()
	t.delays.forget(t.key)
	t.attempts.Reset(ctx, t.key)
}
