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
	freeOnDevice  = 5   // per device that has logged in before
	freeAddresses = 100 // per address and hour: many people may share one
	ticketCodes   = 5   // per ticket, and then it is good for nothing
)

// try is one counted try, which Attempts knows by a hash: no name, address or
// account can be read from its store.
type try struct {
	attempts Attempts
	tenant   *auth.Tenant
	key      string
	free     int
}

func (m *Manager) try(t *auth.Tenant, free int, parts ...string) try {
	sum := sha256.New()
	writeParts(sum, append(parts, t.Org.Code)...)
	return try{m.Attempts, t, hex.EncodeToString(sum.Sum(nil)), free}
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
	addr := m.address(r)
	if addr.Is6() {
		// One subscriber has the whole of it.
		addr = netip.PrefixFrom(addr.WithZone(""), 64).Masked().Addr()
	}
	return m.try(t, freeAddresses, "address", addr.String(), m.now().UTC().Format("2006-01-02T15"))
}

// loginTries are what the try at a password is counted by: the name first, and
// the address; or else the device alone.
type loginTries []try

// countLogin goes by the device where it is known, whatever was tried elsewhere for
// the name, or from the address.
//
// Otherwise it asks the address before the name: from one that is refused nothing is
// written under any name. What the name refuses costs the address nothing, as it
// may be the owner's.
func (m *Manager) countLogin(r *http.Request, t *auth.Tenant, login string) (loginTries, error) {
	if counted, err := m.countDevice(r, t, login); counted != nil || err != nil {
		return counted, err
	}
	byName, byAddress := m.loginTry(t, login), m.addressTry(t, r)
	if _, err := byAddress.begin(r.Context(), m.now()); err != nil {
		return nil, err
	}
	if _, err := byName.begin(r.Context(), m.now()); err != nil {
		byAddress.giveBack(r.Context())
		return nil, err
	}
	return loginTries{byName, byAddress}, nil
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
		return count, locked(until.Sub(now))
	}
	return count, nil
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
	t.attempts.Reset(ctx, t.key)
}
