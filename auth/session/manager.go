package session

import (
	"cmp"
	"context"
	"crypto/fips140"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/clock"
)

// Manager creates, checks and ends the sessions of one Guard, as one of its Mechanisms.
// Login, VerifyCode and the other verbs are for handlers below the Guard's Mount. They
// return an *auth.Error, which auth.Fail answers. It wraps one of this package's errors
// where a caller may want to branch.
//
// Its fields must not change once it is in use. Its methods are safe for concurrent
// use.
type Manager struct {
	Store    Store    // required
	Attempts Attempts // required

	PasswordStore PasswordStore // required for the verbs that take a password, and for Mail.SendReset
	Hasher        Hasher        // nil: PBKDF2
	FactorStore   FactorStore   // nil: no second factors; logins to an org that requires them fail

	// SHA256Codes selects HMAC-SHA-256 for the codes of second factors. Not every
	// authenticator supports it: see FIPS 140 in the package documentation. The
	// default, HMAC-SHA-1, works with all of them.
	SHA256Codes bool

	// DeviceKey exempts devices that an account has logged in on from delays that
	// attempts elsewhere have set for its name. See Device cookies in the package
	// documentation. If it is nil, no device is known, and an attacker who guesses at a
	// name delays its owner.
	DeviceKey DeviceKey

	// Cookies are the names of the cookies. The defaults are session-{org}, ticket-{org} and device-{org}, where {org} stands for
	// the org's Key. Each cookie is sent with the prefix __Host-, Secure, HttpOnly,
	// SameSite=Lax and the path /, so that no other host can set or read it (RFC
	// 6265bis, section 4.1.3). Over plain http on a loopback BaseURL, cookies have
	// neither the prefix nor Secure. Everywhere else they have both.
	//
	// No name should be another one with the Key of another org in it: put {org} last, after texts
	// of which none begins another. With x-{org} and x-{org}-ticket, a login at the org a ends the
	// session at the org a-ticket, in the same browser.
	Cookies Cookies

	// CrossOrigin decides which requests of browsers are cross-origin. If it is nil,
	// all are but those of the server's own origin. Add trusted origins here for pages
	// that another origin serves, and for a server behind a proxy that does not keep
	// the Host header.
	CrossOrigin *http.CrossOriginProtection

	// MinPassword is the least length of a new password in characters; 0: 8. Hash,
	// Passwords.Change and Mail.ResetPassword reject shorter ones. Passwords that are stored
	// already log in as before.
	MinPassword int

	// Administrator reports whether a principal administers its org, for Invite, Accept and Act: see
	// auth.Principal.AsAdministrator. If it is nil, nobody does, and nobody invites.
	Administrator func(auth.Principal) bool

	settings atomic.Pointer[auth.Settings] // of its Guard
	prepare  sync.Once
	hashing  *hashing // once prepared
	mails    mails
}

// Cookies are the names of a Manager's cookies; "" means the default.
type Cookies struct{ Session, Ticket, Device string }

// The verbs of a Manager beyond logging in and out come in four groups.
type (
	Sessions struct { // list and end sessions
		manager *Manager
		store   Ending
		later   bool // its changes are done when the application commits
	}
	Passwords struct{ manager *Manager } // hash and change passwords
	Factors   struct{ manager *Manager } // enrol, confirm, renew and remove the second factor
	Mail      struct{ manager *Manager } // reset a password, verify an address and invite by mail
)

// Sessions returns the verbs about sessions.
func (m *Manager) Sessions() Sessions { return Sessions{m, m.Store, false} }

// Passwords returns the verbs about passwords.
func (m *Manager) Passwords() Passwords { return Passwords{m} }

// Factors returns the verbs about second factors.
func (m *Manager) Factors() Factors { return Factors{m} }

// Mail returns the verbs that send and take mailed tickets.
func (m *Manager) Mail() Mail { return Mail{m} }

// Name is the mechanism's name in principals and in auth.Need.By.
const Name = "session"

// validate reports missing and contradictory fields.
func (m *Manager) validate() error {
	var problems []error
	problem := func(wrong bool, text string) {
		if wrong {
			problems = append(problems, errors.New("session: Manager."+text))
		}
	}
	problem(m.Store == nil, "Store is required: the Sessions of a Memory, of sqlstore or of redisstore")
	problem(m.Attempts == nil, "Attempts is required: the Attempts of a Memory, of sqlstore or of redisstore")
	problem(m.PasswordStore == nil && (m.Hasher != nil || m.DeviceKey.given || m.MinPassword != 0),
		"PasswordStore is required beside Hasher, DeviceKey and MinPassword")
	problem(m.FactorStore == nil && m.SHA256Codes, "FactorStore is required beside SHA256Codes")
	problem(m.FactorStore != nil && !m.SHA256Codes && fips140.Enforced(),
		"Factors needs SHA256Codes: FIPS 140 is enforced, which refuses SHA-1")
	n := len(m.DeviceKey.bytes)
	problem(m.DeviceKey.given && n < sha256.Size, fmt.Sprintf("DeviceKey has %d bytes, and 32 are the least", n))
	fields := []string{"Cookies.Session", "Cookies.Ticket", "Cookies.Device"}
	names := []cookieName{m.sessionCookie(), m.ticketCookie(), m.deviceCookie()}
	for i, name := range names {
		problem(!name.isValid(), fields[i]+" is not a cookie's name with at most one "+orgMark)
		other := slices.Index(names, name)
		problem(other < i, fields[i]+" is the "+fields[other]+": each needs a name of its own")
	}
	return errors.Join(problems...)
}

// Bind implements auth.Mechanism. Requests call it, too, for a Manager that is wrapped by a
// mechanism with a Bind of its own.
func (m *Manager) Bind(s *auth.Settings) error {
	if m.settings.Load() == nil {
		if err := m.validate(); err != nil {
			return err
		}
		m.settings.CompareAndSwap(nil, s)
	}
	if m.settings.Load().Same(s) {
		return nil
	}
	return errors.New("session: one Manager serves Guards of different settings")
}

// now returns the time by the Guard's clock.
func (m *Manager) now() time.Time {
	if s := m.settings.Load(); s != nil {
		return clock.Now(s.Now)
	}
	return time.Now()
}

// stamp returns the current time at the precision of stored records.
func (m *Manager) stamp() time.Time { return wholeMillis(m.now()) }

// token identifies a session or a ticket: 32 random bytes. A record holds only its
// hash.
type token [32]byte

func newToken() token {
	var s token
	rand.Read(s[:])
	return s
}

func (s token) hash() [32]byte { return sha256.Sum256(s[:]) }

var encoding = base64.RawURLEncoding.Strict()

const tokenLength = 43 // 32 bytes in base64 without padding

func (s token) text() string { return encoding.EncodeToString(s[:]) }

// parseToken accepts only what text returns.
func parseToken(text string) (s token, ok bool) {
	if len(text) != tokenLength {
		return s, false
	}
	var in [tokenLength]byte
	copy(in[:], text)
	n, err := encoding.Decode(s[:], in[:])
	return s, err == nil && n == len(s) // Strict ignores line breaks, and then returns fewer bytes
}

// authentication says which account has authenticated, and how. The time of a password is taken
// before the password is looked up. If the password is changed during the check, the
// session is older than the change, and so it is refused.
type authentication struct {
	Proof
	account        string
	remember       bool         // the account asked to be remembered
	rememberDevice bool         // it asked that this device is remembered
	deviceName     string       // "": by its User-Agent
	completed      bool         // a passkey was the second factor after another first step
	factor         FactorSecret // of the code that it has just proved
	origin         string       // of a session that comes from another one
}

// newSession returns a new record for an account, and its token. Its life begins with the proof.
func (m *Manager) newSession(r *http.Request, org *auth.Org, p authentication, ticket string, life time.Duration) (Session, token) {
	token, now := newToken(), m.stamp()
	var id [16]byte
	rand.Read(id[:])
	return Session{
		Hash:          token.hash(),
		ID:            hex.EncodeToString(id[:]),
		Org:           org.Key(),
		Account:       p.account,
		Ticket:        ticket,
		Created:       p.At,
		Authenticated: p.At,
		Proof:         textOf(p.Proof),
		Origin:        p.origin,
		Seen:          now,
		Expires:       now.Add(life),
		Address:       m.address(r).String(),
		Agent:         shown(r.UserAgent()),
		Remember:      p.remember && org.Session.RememberIdle > 0,
	}, token
}

// shown returns what a client says of its device as a list may show it: valid UTF-8 of at most 256 bytes.
func shown(text string) string {
	return strings.ToValidUTF8(text[:min(256, len(text))], "")
}

func (m *Manager) address(r *http.Request) netip.Addr {
	return auth.TenantFrom(r.Context()).ClientAddr(r)
}

// sameOriginTenant returns the tenant of the request. It refuses pages of another
// origin.
func (m *Manager) sameOriginTenant(r *http.Request) (*auth.Tenant, error) {
	t, err := m.tenant(r.Context())
	return t, cmp.Or(err, m.SameOrigin(r))
}

// admitted returns the tenant of the request, and the principal of the session that the
// request was admitted with. It refuses requests that were admitted in another way, and an actor.
func (m *Manager) admitted(r *http.Request) (*auth.Tenant, auth.Principal, error) {
	t, err := m.tenant(r.Context())
	p := auth.From(r.Context())
	switch {
	case err != nil:
	case p.SessionID == "":
		err = errNoSession
	case p.Actor() != "":
		err = errActing
	}
	return t, p, err
}

// freshFor is how old the proof of a session may be that changes what an account logs in with.
const freshFor = 10 * time.Minute

// checkFresh refuses a session that was left signed in. Other credentials are no browser's, and
// each verb says which of them it serves.
func (m *Manager) checkFresh(p auth.Principal) error {
	if p.SessionID != "" && m.now().Sub(p.Authenticated) > freshFor {
		return &auth.Error{Detail: auth.DetailReauthenticate, Err: errors.New("session: the session has not authenticated within ten minutes")}
	}
	return nil
}

// errNoSession refuses requests that were admitted without a session.
var errNoSession = &auth.Error{Detail: auth.DetailForbidden, Reason: "a session is required",
	Err: errors.New("session: the request was not admitted with a session")}

// errActing refuses what the account alone may do.
var errActing = &auth.Error{Detail: auth.DetailForbidden, Reason: "somebody acts for this account",
	Err: errors.New("session: the request was admitted with a session of Act")}

// tenant returns the tenant of the request.
func (m *Manager) tenant(ctx context.Context) (*auth.Tenant, error) {
	t := auth.TenantFrom(ctx)
	if t == nil {
		return nil, errors.New("session: the request did not come through a Guard's Mount")
	}
	return t, m.Bind(t.Settings())
}

// limits are those of the org's present settings. If it no longer offers to remember, they
// are those of any session.
func (s *Session) limits(org *auth.Org) (idle, most time.Duration) {
	policy := org.Session.Effective()
	if s.Remember {
		return max(policy.Idle, policy.RememberIdle), max(policy.Max, policy.RememberIdle)
	}
	return policy.Idle, policy.Max
}

// end returns the absolute end of the session.
func (s *Session) end(org *auth.Org) time.Time {
	_, most := s.limits(org)
	return earlier(s.Created.Add(most), s.Expires)
}

// Errors of a Manager's verbs. An *auth.Error wraps them.
var (
	// ErrCredentials means an unknown account or a wrong password. The reply does not
	// say which.
	ErrCredentials = errors.New("session: unknown account or wrong password")

	// ErrSecondFactor means that the first step succeeded, and that a second factor is
	// required. The reply sends a ticket cookie for it. The error's Reason names the
	// step that the ticket permits: "code" for VerifyCode, "enrol" for Factors.Enrol and Factors.Confirm.
	ErrSecondFactor = errors.New("session: second factor wanted")

	// ErrCode means that the code is wrong or was used before, or that its ticket is no
	// longer valid.
	ErrCode = errors.New("session: invalid code")

	// ErrLocked means too many attempts. RetryAfter says when the next one is accepted.
	ErrLocked = errors.New("session: too many tries")
)

var (
	errCredentials = &auth.Error{Detail: auth.DetailInvalidCredentials, Err: ErrCredentials}
	errCode        = &auth.Error{Detail: auth.DetailInvalidCode, Err: ErrCode}
	errOtherStep   = &auth.Error{Detail: auth.DetailInvalidCode, Err: fmt.Errorf("%w: the ticket is for another step", ErrCode)}
)

func locked(wait time.Duration) error {
	return &auth.Error{Detail: auth.DetailLocked, RetryAfter: wait, Err: ErrLocked}
}
