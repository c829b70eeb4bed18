package session

import (
	"context"
	"errors"
	"time"
)

// Session is one record of a Store: a session, or the ticket that waits for a
// second factor. The token that opens it is nowhere kept.
type Session struct {
	Hash [32]byte // SHA-256 of the token, by which the store finds it
	ID   string   // public: 32 hex digits, unique, the same for the session's whole life

	Org     string
	Account string

	// Ticket is empty for a session. A record with one opens nothing but the
	// step it names, and is no session to anybody.
	Ticket Ticket

	// Times are whole milliseconds, in UTC.
	Created       time.Time
	Authenticated time.Time // when the account last proved itself: the first step of its login, or a step-up
	Seen          time.Time // the last use a store was told of
	Expires       time.Time // absolute end; the record may be forgotten from then on

	Address string // client address at login; shown in lists
	Agent   string // User-Agent at login, at most 256 bytes of valid UTF-8; shown in lists
}

// wholeMillis cuts a time to what every store keeps.
func wholeMillis(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// Ticket is what a login that is not complete waits for.
type Ticket string

const (
	TicketCode  Ticket = "code"  // a code of the second factor
	TicketEnrol Ticket = "enrol" // the enrolment of one, which the org requires
)

// Store keeps sessions, found by the hash of their token. Create is the only
// verb that creates: no other one brings a record back that was ended,
// whatever runs at the same time.
//
// A record lives from Create until it is ended (by Delete, DeleteID,
// DeleteAll, DeleteOrg or a later Create) or its Expires has come, by the
// store's clock.
// Once a verb that ends it has returned, no Get that starts finds it, in this
// process or in another that shares the store.
//
// Each verb is one atomic step. ErrNotFound stands for auth.ErrNotFound; any
// other error means that the outcome is unknown. Implementations are safe for
// concurrent use, in this process and in others that share the store, and
// return when ctx ends.
type Store interface {
	// Create adds s, whose hash and id are new. In the same step it ends the
	// account's oldest records of the same Ticket until limit of them are left,
	// s included; 0: any number. Which of two is older is decided by Created,
	// then by ID; s itself is never ended, not even by a clock that was set back.
	// Those ended so are remembered as replaced until their Expires.
	//
	// An s without an Org or an Account is an error, and nothing has changed: no
	// record is nobody's. So is a hash that a record has, one remembered as replaced
	// too, or that a live one had until its latest Replace: what opened one session
	// must not open another.
	Create(ctx context.Context, s Session, limit int) error

	// Get returns the record, ErrNotFound, or ErrReplaced for one that a later
	// Create has ended.
	Get(ctx context.Context, hash [32]byte) (Session, error)

	// Touch sets Seen, unless it is that late already. It returns ErrNotFound
	// if there is no such record.
	Touch(ctx context.Context, hash [32]byte, seen time.Time) error

	// Replace gives a record the hash, Authenticated and Seen of s; all else
	// stays, and old opens nothing from then on. Of any number of concurrent calls
	// with one old hash exactly one returns nil; the others return ErrNotFound. A
	// hash of s that a record has is another error, and nothing has changed.
	Replace(ctx context.Context, old [32]byte, s Session) error

	// Delete ends the record that hash opens, or opened until its latest
	// Replace: so that a logout wins over a step-up in flight. Nil if there is
	// none.
	Delete(ctx context.Context, hash [32]byte) error

	// DeleteID ends the account's record of this id, or returns ErrNotFound. An
	// empty account or id has none.
	DeleteID(ctx context.Context, org, account, id string) error

	// DeleteAll ends the account's records, tickets too, but for the one whose
	// id is except (if not empty), and returns how many sessions it ended. An
	// empty account is an error, and nothing is ended: it is what the zero
	// auth.Principal has, and must never stand for every account.
	DeleteAll(ctx context.Context, org, account, except string) (int, error)

	// DeleteOrg ends all records of the org, tickets too, and returns how many
	// sessions it ended. An empty org is an error, and nothing is ended.
	DeleteOrg(ctx context.Context, org string) (int, error)

	// List returns the account's records, the oldest first, tickets too. An empty
	// account has none.
	List(ctx context.Context, org, account string) ([]Session, error)
}

// ErrReplaced means that a session was ended by a newer one of its account.
var ErrReplaced = errors.New("session: ended by a newer session of the account")
