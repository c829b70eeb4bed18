package session

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// DeviceKey is the MAC key of device cookies. It prints REDACTED.
type DeviceKey struct {
	hidden
	bytes string
	given bool // an empty key is an error, and no key is not
}

// NewDeviceKey returns the key of at least 32 random bytes, used for nothing else. All
// instances of a server have the same key, and keep it over a restart. It may be derived from
// another key by hkdf.Key of crypto/hkdf, with a label of its own.
func NewDeviceKey(key []byte) DeviceKey { return DeviceKey{bytes: string(key), given: true} }

// mac returns the HMAC-SHA256 of a list of parts. The first part names the purpose.
func (k DeviceKey) mac(parts ...string) []byte {
	sum := hmac.New(sha256.New, []byte(k.bytes))
	writeParts(sum, parts...)
	return sum.Sum(nil)
}

// deviceLife is how long a device is known after a login.
const deviceLife = 180 * 24 * time.Hour

// device is the content of a device cookie: a random nonce, when the account authenticated, in Unix
// milliseconds, a MAC of the account, and a MAC of the org and all that. All but the time is random
// or opaque to the browser.
type device [72]byte

func (d *device) nonce() []byte   { return d[:16] }
func (d *device) proven() []byte  { return d[16:24] }
func (d *device) account() []byte { return d[24:40] }
func (d *device) mac() []byte     { return d[40:] }

// newDevice returns the cookie content for a device on which the account has logged in.
func (k DeviceKey) newDevice(org auth.OrgKey, p authentication) (d device) {
	rand.Read(d.nonce())
	binary.BigEndian.PutUint64(d.proven(), uint64(p.At.UnixMilli()))
	copy(d.account(), k.accountOf(org, p.account, &d))
	copy(d.mac(), k.macOf(org, &d))
	return d
}

func (k DeviceKey) accountOf(org auth.OrgKey, account string, d *device) []byte {
	return k.mac("account", string(org), account, string(d.nonce()))[:len(d.account())]
}

func (k DeviceKey) isOf(org auth.OrgKey, account string, d *device) bool {
	return hmac.Equal(d.account(), k.accountOf(org, account, d))
}

func (k DeviceKey) macOf(org auth.OrgKey, d *device) []byte {
	return k.mac("device", string(org), string(d.nonce()), string(d.proven()), string(d.account()))
}

func (d device) hash() [32]byte { return sha256.Sum256(d[:]) }

func (d device) text() string { return encoding.EncodeToString(d[:]) }

// parse accepts only a cookie of this org that was made with this key.
func (k DeviceKey) parse(org auth.OrgKey, text string) (d device, ok bool) {
	all, err := encoding.DecodeString(text[:min(len(text), encoding.EncodedLen(len(d)))])
	ok = err == nil && copy(d[:], all) == len(d) && d.text() == text
	return d, ok && hmac.Equal(d.mac(), k.macOf(org, &d))
}

func (d device) provenAt() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(d.proven())))
}

// sendDevice sends the device cookie after a complete login or a step-up.
func (m *Manager) sendDevice(w http.ResponseWriter, t *auth.Tenant, d *device) {
	if d != nil {
		c := m.deviceCookie().cookie(t, d.text())
		c.MaxAge = int(deviceLife / time.Second)
		send(w, c)
	}
}

// presentedDevice returns the device cookie of the request, if it is of this org and not too old.
func (m *Manager) presentedDevice(r *http.Request, t *auth.Tenant) (d device, ok bool) {
	value, count := m.deviceCookie().read(r, t)
	if !m.DeviceKey.given || count != 1 {
		return d, false
	}
	d, ok = m.DeviceKey.parse(t.Org.Key(), value)
	return d, ok && m.now().Sub(d.provenAt()) < deviceLife
}

// knownDevice returns the account of the name if it has logged in on this device. Any other cookie makes
// the device unknown, and so does a look-up that fails, and a cookie of before the account was changed:
// somebody who knew the former password may have collected cookies.
func (m *Manager) knownDevice(r *http.Request, t *auth.Tenant, login string) (id string, ok bool) {
	d, ok := m.presentedDevice(r, t) // first, so that a forged cookie costs no look-up
	if !ok {
		return "", false
	}
	id, _, err := m.lookUp(r.Context(), t, login)
	if err != nil || !m.DeviceKey.isOf(t.Org.Key(), id, &d) {
		return "", false
	}
	ctx, cancel := t.Bound(r.Context())
	defer cancel()
	account, err := t.Account(ctx, id)
	return id, err == nil && !changedSince(account, d.provenAt())
}

// ticketDevice is the Ticket of the record of a remembered device. Its Hash is that of the device
// cookie, it is Created when the second factor is proved, and its Proof identifies that factor.
const ticketDevice = "device"

// maxDevices is how many remembered devices an account may have.
const maxDevices = 20

// nextDevice returns the next device cookie of the browser, or nil. If the account has just asked for it
// and proved its second factor, the device is remembered, and its ID is returned. A remembered device stays
// so under its next cookie.
func (m *Manager) nextDevice(r *http.Request, t *auth.Tenant, p authentication) (next *device, remembered string, err error) {
	if !m.DeviceKey.given {
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
	case p.rememberDevice && p.factor != "":
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
	return hex.EncodeToString(k.mac("factor", string(secret)))
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
