package token

import (
	"context"
	"time"
)

// MaxAncestors is how many ancestors a record may have: its parent, the parent
// of that, and so on.
const MaxAncestors = 4

// Lineage says who made a token, and by what. The zero value: the server itself.
type Lineage struct {
	Maker    string // id of the account that made it
	MakerApp string // client key whose signature made it; "" when another mechanism did
	Parent   string // jti of the token, of the same app, that made it; "" for none
}

// Record is one permanent or limited-use token, as a ledger keeps it.
type Record struct {
	ID        string // the jti
	ClientKey string // the app that issued it
	Subject   string // the account it authenticates as
	KeyID     string // the key it was signed with

	Uses    int64 // authentications so far; need not be counted when MaxUses is 0
	MaxUses int64 // 0: any number

	Issued  time.Time // the iat; whole seconds
	Expires time.Time // whole seconds; zero: never

	Lineage
}

// Spender checks a token that has a jti and debits one use of it.
//
// Spend is one atomic step, called once per request: of any number of
// concurrent calls for one record, in this process or in another that shares
// the store, no more than MaxUses return nil; all do when MaxUses is 0. What
// has been spent is never given back. The record r is made of the token's
// claims: it must equal the issued one in ID, ClientKey, Subject, KeyID and
// MaxUses. Its Lineage is ignored. Spend returns the Lineage of the issued
// record, or an error that wraps
//   - ErrRevoked: no such record was issued, it was revoked, it has expired, or
//     one of its ancestors is not live. No use is debited;
//   - ErrExhausted: MaxUses was reached. A ledger may forget such a record, and
//     then it returns ErrRevoked.
//
// Any other error means that the outcome is unknown: one use may be lost, and
// the caller refuses the request. The Lineage is zero beside an error.
type Spender interface {
	Spend(ctx context.Context, r Record) (Lineage, error)
}

// Ledger is the list of permanent and limited-use tokens that are valid. What
// is not in it is refused, so that losing it means issuing anew and never
// accepting what was revoked.
//
// A record is live while it has not been revoked, has not expired (now is
// before Expires), has uses left, and all its ancestors are live. Its ancestors
// are the record of the same ClientKey that Parent names, the parent of that
// one, and so on. They may have other subjects and keys. A record is dead when
// an ancestor is not known, and when it has more than MaxAncestors of them. So
// everything that descends from a record dies with it, at once, even if its own
// Expires is later. A ledger may forget a dead record at any time.
//
// A record whose key was replaced is not removed: its kid is unknown to Keys,
// so its token is refused before the ledger is asked, and Issue does not count
// it. A later Issue for its subject may drop it; what descends from it is then
// dead.
//
// An ID must never be issued again for the same ClientKey, not even after its
// record is gone: the descendants of the earlier record would live again. The
// Minter's ids are 128 random bits.
//
// Implementations are safe for concurrent use, in this process and in others
// that share the store, and return when ctx ends.
type Ledger interface {
	Spender

	// Issue adds r, with no uses yet. Looking at the parent, counting and adding
	// are one atomic step: there are never more than limit live records with r's
	// ClientKey, Subject and KeyID. It changes nothing when it returns an error
	// that wraps
	//   - ErrRevoked: r has a Parent, which is not a live record of r's ClientKey;
	//   - ErrTooDeep: the parent has MaxAncestors ancestors itself;
	//   - ErrTooMany: there are limit such records already.
	// It returns another error, changing nothing, when r's ClientKey and ID are
	// there.
	Issue(ctx context.Context, r Record, limit int) error

	// Revoke removes a record, and no other. Once it has returned nil no Spend
	// that starts accepts the token, or one that descends from it, wherever it runs.
	// It returns ErrNotFound when the app has no live record of this id, and
	// ErrEphemeral when the id is empty.
	Revoke(ctx context.Context, clientKey, id string) error

	// RevokeSubject removes the records an app has issued for a subject and
	// returns how many live ones there were. Of a token issued meanwhile it is
	// open whether it is among them; of those issued before none is left, and
	// what descends from them is dead, whoever its subject is.
	RevokeSubject(ctx context.Context, clientKey, subject string) (int, error)

	// List returns the live records an app has issued for a subject, with their
	// Lineage, the oldest first. Those of a replaced key show by their KeyID.
	List(ctx context.Context, clientKey, subject string) ([]Record, error)
}
