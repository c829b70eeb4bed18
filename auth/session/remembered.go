package session

import (
	"cmp"
	"context"
	"encoding/hex"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
)

// ticketDevice is the Ticket of the record of a remembered device. Its Hash is that of the device
// cookie, it is Created when the second factor is proved, and its Proof identifies that factor.
const ticketDevice = "device"

// maxDevices is how many remembered devices an account may have.
const maxDevices = 20

// nextDevice returns the next device cookie of the browser, or nil. If the account has just asked for it
// and proved its second factor, the device is remembered, and its ID is returned. A remembered device stays
// so under its next cookie.
func (m *Manager) nextDevice(r *http.Request, t *auth.Tenant, p authentication) (next *device, remembered string, err error) {
	if m.DeviceKey.isNone() {
		return nil, "", nil
	}
	d := m.DeviceKey.newDevice(t.Org.Key(), p)
	life := t.Org.Session.Effective().RememberDevice
	if life < 0 || m.FactorStore == nil {
		return &d, "", nil
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	old, known := m.deviceRecord(ctx, r, t, p.account)
	switch {
	case p.rememberDevice && !p.factor.isNone():
		s, _ := m.newSession(r, t.Org, p, ticketDevice, life)
		s.Hash, s.Created, s.Proof = d.hash(), s.Seen, m.DeviceKey.factorMark(p.factor)
		s.Agent = cmp.Or(shown(p.deviceName), s.Agent)
		if known {
			err = m.Store.Delete(ctx, t.Org.Key(), old.Hash)
		}
		if err == nil {
			err, remembered = m.Store.Create(ctx, s, maxDevices), s.ID
		}
	case known:
		err = m.Store.Replace(ctx, t.Org.Key(), old.Hash, Session{Hash: d.hash(), Authenticated: old.Authenticated, Seen: m.stamp()})
	}
	if meansEnded(err) {
		err = nil // another request has renewed or ended it
	}
	return &d, remembered, auth.Unavailable(err)
}

// factorMark identifies a second factor, so that no device is remembered for the next one.
func (k DeviceKey) factorMark(secret FactorSecret) string {
	return hex.EncodeToString(k.mac("factor", secret.bytes))
}

// deviceRecord returns the record of the account's device cookie in the request. A look-up that fails
// finds none.
func (m *Manager) deviceRecord(ctx context.Context, r *http.Request, t *auth.Tenant, account string) (Session, bool) {
	d, ok := m.presentedDevice(r, t)
	if !ok || !m.DeviceKey.isOf(t.Org.Key(), account, &d) {
		return Session{}, false
	}
	s, err := m.Store.Get(ctx, t.Org.Key(), d.hash())
	return s, err == nil && s.Ticket == ticketDevice && s.Account == account
}

// isRemembered reports whether the device of the request replaces a code of the factor.
func (m *Manager) isRemembered(r *http.Request, t *auth.Tenant, account *auth.Account, f Factor) bool {
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, ok := m.deviceRecord(ctx, r, t, account.ID)
	return ok && m.now().Sub(s.Created) < t.Org.Session.Effective().RememberDevice &&
		!changedSince(account, s.Created) && s.Proof == m.DeviceKey.factorMark(f.Secret)
}

// Devices returns the account's remembered devices, on which a login needs no code: see
// auth.SessionPolicy.RememberDevice. Revoke ends one by its ID. RevokeAll ends all, and so does what
// replaces the password or the second factor. The error wraps auth.ErrUnavailable.
func (of Sessions) Devices(ctx context.Context, org *auth.Org, account string) ([]SessionInfo, error) {
	life := org.Session.Effective().RememberDevice
	return of.list(ctx, org, account, func(s *Session) bool {
		return s.Ticket == ticketDevice && of.manager.now().Sub(s.Created) < life
	})
}

// Device returns the ID of the remembered device that a request of the account comes from, among those of
// Devices, or "". It is for showing which one it is, and admits nobody.
func (of Sessions) Device(r *http.Request, account string) string {
	t := auth.TenantFrom(r.Context())
	if t == nil {
		return ""
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	s, _ := of.manager.deviceRecord(ctx, r, t, account)
	return s.ID
}
