package auth

import (
	"cmp"
	"context"
	"github.com/tenantkit/tenantkit/internal/orgkey"
	"time"
)

// Directory looks up orgs, apps, accounts and roles in the application's own tables. It is
// given to the Guard once. Mechanisms use it through a Tenant, which is bound to one org.
//
// Each method returns ErrNotFound, which may be wrapped, for what does not exist, such as a text that can
// be no id in the application's tables. Any other
// error refuses the request with 503. The returned values are shared: neither side may
// change them afterwards.
//
// Implementations are safe for concurrent use, and return when ctx ends.
type Directory interface {
	// Org finds an org by its present code. With Guard.FormerCodes it also finds an org by a
	// former code, unless the code is the present one of another org: that one is found. If
	// several have had it, it finds the last. All other methods get its Key.
	Org(ctx context.Context, code string) (*Org, error)
	App(ctx context.Context, clientKey string) (*App, error)
	Account(ctx context.Context, org OrgKey, id string) (*Account, error)

	// Roles returns the roles of the org with these names. It leaves unknown names out.
	Roles(ctx context.Context, org OrgKey, names []string) ([]Role, error)
}

// Org is a tenant. Everything that is stored for it is stored under its Key.
type Org struct {
	Code string // its name in URLs: [a-z0-9][a-z0-9_-]{0,39}; public

	// ID identifies the org for ever, so that its Code can change: 1 to 64 of
	// [A-Za-z0-9._~-]. An ID is never given to another org, not even after its org is gone.
	// If it is empty, the Code takes its place, and must then never change or be given to
	// another org.
	//
	// Guard.OrgIDs says whether the orgs of a Directory have IDs: all have one, or none has. An
	// org without one would share everything with an org whose ID is its Code. To begin with
	// IDs, set ID = Code for all orgs in one step, together with OrgIDs: stored things stay
	// where they are. Codes change only after that, and no later ID may be one of them.
	ID string

	// FormerCodes are earlier Codes, of an org with an ID. Tokens that were minted under them
	// stay valid. Another org may have one of them as its Code by now. With Guard.FormerCodes,
	// requests to them are served until then, and Tenant.Org has the requested one as its Code.
	FormerCodes []string

	Disabled bool // requests get the answer of an unknown org
	Session  SessionPolicy
}

// OrgKey is the Key of an Org. A Code is not one: it may change and be given to another org.
type OrgKey = orgkey.Key

// Key returns the ID, or the Code of an org without one. This is the org that stores, apps,
// accounts, principals and events name. Only URLs and the audience of tokens have the Code.
func (o *Org) Key() OrgKey { return OrgKey(cmp.Or(o.ID, o.Code)) }

// SessionPolicy holds an org's rules for its sessions (section 5.2 of the interface). It is
// read with each request. A changed Idle or RememberIdle and a shorter Max also apply to open
// sessions. SecondFactor, PerAccount, Methods, Issuers and ProofAge apply only when a session is
// opened. They change no open session.
type SessionPolicy struct {
	Idle         time.Duration // a session ends when it was not used for this long; 0: 30 min
	Max          time.Duration // a session ends this long after login; 0: 12 h
	SecondFactor bool          // required: the login of an account without a factor leads only to enrolling one
	PerAccount   int           // most sessions of one account, the one unused for longest is ended; 1: single login; 0: 100

	// Persistent sends session cookies with the time of their end, so that they outlive the
	// browser. Otherwise a browser forgets a cookie when it is closed.
	Persistent bool

	// RememberIdle is the Idle of sessions whose owner asked at login to be remembered. Their
	// cookie is persistent, and they end at the latest after the longer of Max and
	// RememberIdle. 0: not offered, and whoever asks gets an ordinary session. An Idle that is
	// longer applies instead.
	RememberIdle time.Duration

	// Methods are how people may prove who they are in the first step of a login: a proof needs one of
	// them. See session.MethodPassword and the other constants there. nil: in any way.
	Methods []string

	// Issuers are who may vouch for people. "" stands for the server itself: without it, nobody
	// logs in with a password or a passkey. nil: any issuer that the application accepts.
	Issuers []string

	// RememberDevice is how long a device needs no code after its account has proved its second factor
	// there and has asked for it, at most 90 days. 0: 30 days, and never if SecondFactor is set.
	// Negative: never, so that each login needs a code.
	RememberDevice time.Duration

	// EnterWith are the methods that count here if they were proved at another org of the person
	// (session.Manager.Enter): without session.MethodCode a second factor is proved here again. nil:
	// nobody enters, and people log in here. Issuers must name who vouched, unless it was the server. With
	// session.MethodPassword, whoever can set the password of the person's account at another org enters
	// this one.
	EnterWith []string

	// EndWithOrigin ends a session that was entered from another org's when that one is ended or
	// expires, but not when that one is idle.
	EndWithOrigin bool

	// ProofAge is how old a proof may be when it opens a session. 0: any age.
	ProofAge time.Duration
}

// Effective returns the policy with the defaults in place of values that are not set. A negative
// RememberDevice means that no device is remembered.
func (p SessionPolicy) Effective() SessionPolicy {
	if p.Idle <= 0 {
		p.Idle = 30 * time.Minute
	}
	if p.Max <= 0 {
		p.Max = 12 * time.Hour
	}
	if p.RememberDevice == 0 && !p.SecondFactor {
		p.RememberDevice = 30 * 24 * time.Hour
	}
	if p.RememberDevice = min(p.RememberDevice, 90*24*time.Hour); p.RememberDevice <= 0 {
		p.RememberDevice = -1
	}
	if p.PerAccount <= 0 {
		p.PerAccount = 100 // no setting is a limit, too: abandoned sessions would fill the store
	}
	return p
}

// App is an application of an org. The mechanisms that use its secrets and keys store them.
type App struct {
	ClientKey string // unique over all orgs; public
	Org       OrgKey
	Name      string
	Disabled  bool
}

// People is an optional interface of a Directory in which several accounts, of an org each, are one
// person's: see Account.Person. Its errors and results are those of a Directory.
type People interface {
	Directory

	// AccountOf returns the account that the person has in the org, a disabled one, too.
	AccountOf(ctx context.Context, org OrgKey, person string) (*Account, error)

	// Accounts returns all accounts of the person, disabled ones, too. An unknown person has none.
	Accounts(ctx context.Context, person string) ([]Account, error)
}

// PersonKey stands for an org where a store keeps what is a person's and no org's. No Org has this Key.
const PersonKey OrgKey = "@person"

// Account is a user of an org.
type Account struct {
	ID  string
	Org OrgKey

	// Person is whose account it is, if a person has several; "": it stands alone. The second factor is
	// then the person's, under PersonKey: an account that has one of its own loses it with its Person, so
	// copy it first, by the session.FactorStore. Two accounts are one person's only if their owner has proved
	// both: an invitation that somebody accepts while signed in proves its Address alone. When the person's last account goes, delete what is kept
	// for the person, as with sqlstore.Store.DeleteAccount and PersonKey.
	Person string

	Roles    []string
	Disabled bool
	Changed  time.Time // sessions that began earlier are ended: password changed, account disabled

	// TokensFrom ends the account's tokens. Tokens with an earlier iat are refused, also
	// ephemeral ones, and also tokens with a jti that the account made for others. It is in
	// whole seconds and only moves forward. Set it with CachedDirectory.TokensFrom. While it is more
	// than a minute ahead, no token can be minted.
	TokensFrom time.Time
}

// Role is a named set of scope chains.
type Role struct {
	Name  string
	Scope []string
}
