package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
)

// Manager opens, checks and ends the sessions of one Guard, as one of its
// Mechanisms. Login, Verify and the other verbs are for handlers below the
// Guard's Mount; what they return is an *auth.Error that auth.Fail answers, and
// that wraps one of this package's errors where a caller may want to branch.
//
// Its fields must not be changed once it is in use; its methods are safe for
// concurrent use.
type Manager struct {
	Store Store // required

	Passwords Passwords // required for Login, Reauthenticate and ChangePassword
	Attempts  Attempts  // required for Login, Verify, Confirm and Remove
	Factors   Factors   // nil: no second factor, and no login to an org that requires one
	Hasher    Hasher    // nil: PBKDF2

	// DeviceKey lets a device that an account has logged in on skip the delays which
	// tries elsewhere have set for its name: see Device cookies in the package's doc.
	// nil: no device is known, and whoever guesses at a name keeps its owner waiting.
	DeviceKey DeviceKey

	// SessionCookie, TicketCookie and DeviceCookie are the names of the cookies; "":
	// session-{org}, ticket-{org} and device-{org}, where {org} stands for the org's
	// code. Each is sent with the prefix __Host-, Secure, HttpOnly, SameSite=Lax and the
	// path /, so that no other host can set or read it (RFC 6265bis, section 4.1.3). The
	// prefix and Secure go only where the Guard's BaseURL is http on a loopback host.
	SessionCookie, TicketCookie, DeviceCookie string

	// CrossOrigin decides which requests of browsers count as cross-origin.
	// nil: all but those of the server's own origin. Give trusted origins here
	// for pages served elsewhere, and for a server behind a proxy that does not
	// keep the Host header.
	CrossOrigin *http.CrossOriginProtection

	// ClientAddr finds the client's address, which tries are counted by. nil:
	// the connection's own. Behind a proxy, read here the one header that the
	// proxy sets itself: clients can write the others.
	ClientAddr func(*http.Request) netip.Addr

	Now func() time.Time // nil: time.Now

	prepare sync.Once
	hashing hashing
	delays  delays
}

// Name is what the mechanism is called in principals and in auth.Need.By.
const Name = "session"

// Validate reports a missing or contradictory field.
func (m *Manager) Validate() error {
	var problems []error
	if m.Store == nil {
		problems = append(problems, errors.New("session: Manager.Store is required"))
	}
	if m.Passwords != nil && m.Attempts == nil {
		problems = append(problems, errors.New("session: Manager.Attempts is required beside Passwords"))
	}
	if m.Factors != nil && m.Attempts == nil {
		problems = append(problems, errors.New("session: Manager.Attempts is required beside Factors"))
	}
	if err := m.DeviceKey.validate(); err != nil {
		problems = append(problems, err)
	}
	session, ticket, device := m.sessionCookie(), m.ticketCookie(), m.deviceCookie()
	names := map[string]cookieName{"SessionCookie": session, "TicketCookie": ticket, "DeviceCookie": device}
	for field, name := range names {
		if err := name.validate(); err != nil {
			problems = append(problems, fmt.Errorf("session: Manager.%s %w", field, err))
		}
	}
	if session == ticket || session == device || ticket == device {
		problems = append(problems, errors.New("session: Manager.SessionCookie, TicketCookie and DeviceCookie must differ"))
	}
	return errors.Join(problems...)
}

func (m *Manager) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// stamp is the present time as records keep it.
func (m *Manager) stamp() time.Time { return wholeMillis(m.now()) }

// secret is the token of a session or of a ticket: 32 random bytes. Records
// know its hash only.
type secret [32]byte

func newSecret() secret {
	var s secret
	rand.Read(s[:])
	return s
}

func (s secret) hash() [32]byte { return sha256.Sum256(s[:]) }

var encoding = base64.RawURLEncoding.Strict()

const secretLength = 43 // of 32 bytes in base64 without padding

func (s secret) text() string { return encoding.EncodeToString(s[:]) }

// parseSecret takes what text returns and nothing else.
func parseSecret(text string) (s secret, ok bool) {
	if len(text) != secretLength {
		return s, false
	}
	var in [secretLength]byte
	copy(in[:], text)
	n, err := encoding.Decode(s[:], in[:])
	return s, err == nil && n == len(s) // Strict still skips line breaks, and then returns less
}

// proof is who has proved itself, and when. The time is taken before anything
// is looked up: should the password be changed while it is compared, the
// session that comes of it is older than the change, and so over.
type proof struct {
	account string
	at      time.Time
}

// record returns a new one for an account, and the secret that opens it.
func (m *Manager) record(r *http.Request, org string, p proof, ticket Ticket, life time.Duration) (Session, secret) {
	token, now := newSecret(), m.stamp()
	var id [16]byte
	rand.Read(id[:])
	return Session{
		Hash:          token.hash(),
		ID:            hex.EncodeToString(id[:]),
		Org:           org,
		Account:       p.account,
		Ticket:        ticket,
		Created:       now,
		Authenticated: p.at,
		Seen:          now,
		Expires:       now.Add(life),
		Address:       m.address(r).String(),
		Agent:         agent(r),
	}, token
}

// agent is the User-Agent, made fit for a list.
func agent(r *http.Request) string {
	const most = 256
	text := strings.ToValidUTF8(r.UserAgent(), "")
	if len(text) > most {
		text = text[:most]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	return text
}

func (m *Manager) address(r *http.Request) netip.Addr {
	if m.ClientAddr != nil {
		return m.ClientAddr(r).Unmap()
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero address where there is none
	return peer.Addr().Unmap()
}

// tenant returns the org a verb is for.
func tenant(ctx context.Context) (*auth.Tenant, error) {
	t := auth.TenantFrom(ctx)
	if t == nil {
		return nil, errors.New("session: the request did not come through a Guard's Mount")
	}
	return t, nil
}

// The defaults of an org's policy.
const (
	defaultIdle = 30 * time.Minute
	defaultMax  = 12 * time.Hour
	defaultMost = 100
)

func idle(org *auth.Org) time.Duration {
	if org.Session.Idle <= 0 {
		return defaultIdle
	}
	return org.Session.Idle
}

// most is how many sessions an account may have. There is no word for any number: a
// store fills by those of one account whose owner logs in and never out.
func most(org *auth.Org) int {
	if org.Session.PerAccount <= 0 {
		return defaultMost
	}
	return org.Session.PerAccount
}

func longest(org *auth.Org) time.Duration {
	if org.Session.Max <= 0 {
		return defaultMax
	}
	return org.Session.Max
}
