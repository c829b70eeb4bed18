package session

import (
	"context"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Session is one record of a Store: a session, a ticket of a login that waits for its
// second factor, or a MailTicket. The token itself is never stored.
type Session struct {
	Hash [32]byte // SHA-256 of the token; the key in the store
	ID   string   // public: 32 hex digits, unique, the same for the session's whole life

	Org     auth.OrgKey
	Account string

	// Ticket is empty for a session. A record with a ticket admits no request. It only
	// permits the step of the login that it names, or what a mailed ticket is for.
	Ticket string

	// Times are whole milliseconds, in UTC.
	Created       time.Time
	Authenticated time.Time // when the account last authenticated: the first step of its login, or a step-up
	Seen          time.Time // the last use that was stored
	Expires       time.Time // absolute end, from which on the store may forget the record

	Address string // client address at login, shown in lists; or the mail address that a ticket verifies
	Agent   string // User-Agent at login, at most 256 bytes of valid UTF-8; shown in lists

	// Remember is set if the owner asked to be remembered, in an org that offered it.
	Remember bool

	// Proof is how the account authenticated, as a text of the Manager of at most 2 KiB.
	Proof string

	// Origin is empty, or says which session of the person, at another org perhaps, this one comes
	// from, as a text of the Manager of at most 1 KiB.
	Origin string
}

// wholeMillis truncates a time to milliseconds, the precision of every store.
func wholeMillis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// The steps that an incomplete login waits for.
const (
	ticketCode  = "code"  // VerifyCode with a code of the second factor
	ticketEnrol = "enrol" // enrolment of a second factor, which the org requires
)

// SessionInfo is a session as its owner may see it.
type SessionInfo struct {
	ID      string // for Revoke; auth.Principal.SessionID is that of the request's own
	Created time.Time
	Seen    time.Time   // the last use, up to a twentieth of the idle time late
	Address string      // of the client at login
	Agent   string      // its User-Agent at login, or LoginForm.DeviceName, at most 256 bytes of valid UTF-8
	Expires time.Time   // the absolute end, which a shorter life in the org's settings precedes
	Proof   Proof       // how the account authenticated, and when it last did
	From    auth.OrgKey // the org from which it was entered; "": none
}

func (s *Session) info() SessionInfo {
	return SessionInfo{s.ID, s.Created, s.Seen, s.Address, s.Agent, s.Expires, parseProof(s.Proof, s.Authenticated), parseOrigin(s.Origin).Org}
}

// Store keeps sessions by the hash of their token. Only Create adds a record. No other
// verb brings an ended record back, whatever runs at the same time.
//
// Each verb names the org, so that the records of an org can be kept on one shard. A record
// of another org is not found.
//
// The Manager passes no empty org, account or ID. A store must not panic for them.
//
// A record lives from Create until a verb ends it or its Expires has come, by the
// store's clock. The verbs that end records are Delete, DeleteID, DeleteAll, DeleteOrg
// and a later Create. Once such a verb has returned, no Get that starts finds the
// record, in this process or in another that shares the store.
//
// Each verb is one atomic step, with one exception: a record that is created while
// DeleteOrg runs, or without a limit while DeleteAll runs, may stay, and is then not
// counted, also if Create returns first. ErrNotFound stands for auth.ErrNotFound. Any other
// error means that the outcome is unknown. Implementations are safe for concurrent use,
// in this process and in others that share the store, and return when ctx ends.
type Store interface {
	// Create adds s, whose hash and ID are new. In the same step it evicts those of the
	// account's records of the same Ticket that have the earliest Seen, until limit of
	// them are left, including s. If Seen is equal, the older one is evicted. A limit of 0
	// evicts none. The older of two records has the earlier Created, or the lower ID if
	// these are equal. s itself is never evicted, not even if a clock was set back. Get
	// returns ErrEvicted for an evicted record until its Expires.
	//
	// Create returns an error and changes nothing if a record of the org has the hash, an
	// evicted one included, or if a live one had it until its latest Replace. A token must
	// never open two sessions.
	Create(ctx context.Context, s Session, limit int) error

	// Get returns the record, ErrNotFound, or ErrEvicted if a later Create has evicted
	// it.
	Get(ctx context.Context, org auth.OrgKey, hash [32]byte) (Session, error)

	// Touch sets Seen to seen, unless Seen is that late already. It returns ErrNotFound
	// if there is no such record.
	Touch(ctx context.Context, org auth.OrgKey, hash [32]byte, seen time.Time) error

	// Replace gives the record of the hash old the Hash, Authenticated and Seen of s.
	// All else stays, and from then on no record has the hash old. Of any number of
	// concurrent calls with one old hash, exactly one returns nil, and the others
	// return ErrNotFound. If a record already has the hash of s, Replace returns
	// another error and changes nothing.
	Replace(ctx context.Context, org auth.OrgKey, old [32]byte, s Session) error

	// Delete ends the record that has this hash, or had it until its latest Replace. A
	// logout therefore also ends a session whose token a concurrent step-up renews.
	// Delete returns nil if there is no such record.
	Delete(ctx context.Context, org auth.OrgKey, hash [32]byte) error

	Ending
}

// Ending is the part of a Store that ends sessions: what may run in a transaction that can be rolled
// back.
type Ending interface {
	// DeleteID ends the account's record with this ID, or returns ErrNotFound.
	DeleteID(ctx context.Context, org auth.OrgKey, account, id string) error

	// DeleteAll ends the account's records, including tickets, and returns how many
	// sessions it ended. If except is not empty, the record with that ID stays.
	DeleteAll(ctx context.Context, org auth.OrgKey, account, except string) (int, error)

	// DeleteOrg ends all records of the org, including tickets, and returns how many
	// sessions it ended.
	DeleteOrg(ctx context.Context, org auth.OrgKey) (int, error)

	// List returns the account's records, including tickets, the oldest first.
	List(ctx context.Context, org auth.OrgKey, account string) ([]Session, error)
}

// ErrEvicted means that Create ended the session, because a newer one of its account
// exceeded the limit.
var ErrEvicted = errors.New("session: ended by a newer session of the account")
