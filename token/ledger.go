package token

import (
	"context"
	"time"
)

// Record is one permanent or limited-use token, as a ledger keeps it.
type Record struct {
	ID        string // the jti
	ClientKey string // the app that issued it
	Subject   string // the account it authenticates as
	KeyID     string // the key it was signed with

	Uses    int64 // authentications so far; need not be counted when MaxUses is 0
	MaxUses int64 // 0: any number

	Issued  time.Time // whole seconds
	Expires time.Time // whole seconds; zero: never
}

// Spender checks a token that has a jti and debits one use of it.
//
// Spend is one atomic step, called once per request: of any number of
// concurrent calls for one record, in this process or in another that shares
// the store, no more than MaxUses return nil; all do when MaxUses is 0. What
// has been spent is never given back. The record r is made of the token's
// claims: it must equal the issued one in ID, ClientKey, Subject, KeyID and
// MaxUses. Spend returns nil, or an error that wraps
//   - ErrRevoked: no such record was issued, it was revoked, or it has expired;
//   - ErrExhausted: MaxUses was reached. A ledger may forget such a record, and
//     then it returns ErrRevoked.
//
// Any other error means that the outcome is unknown: one use may be lost, and
// the caller refuses the request.
type Spender interface {
	Spend(ctx context.Context, r Record) error
}

// Ledger is the list of permanent and limited-use tokens that are valid. What
// is not in it is refused, so that losing it means issuing anew and never
// accepting what was revoked.
//
// A record is live while it has not been revoked, has not expired (now is
// before Expires) and has uses left. A record whose key was replaced is not
// removed: its kid is unknown to Keys, so its token is refused before the
// ledger is asked, and Issue does not count it.
//
// Implementations are safe for concurrent use, in this process and in others
// that share the store, and return when ctx ends.
type Ledger interface {
	Spender

	// Issue adds r, with no uses yet. Counting and adding are one atomic step:
	// there are never more than limit live records with r's ClientKey, Subject
	// and KeyID. It returns an error that wraps ErrTooMany when there are limit
	// of them already, and another error, changing nothing, when r's ClientKey
	// and ID are there.
	Issue(ctx context.Context, r Record, limit int) error

	// Revoke removes a record. Once it has returned nil no Spend that starts
	// accepts the token, wherever it runs. It returns ErrNotFound when the app
	// has no live record of this id, and ErrEphemeral when the id is empty.
	Revoke(ctx context.Context, clientKey, id string) error

	// RevokeSubject removes the records an app has issued for a subject and
	// returns how many live ones there were. Of a token issued meanwhile it is
	// open whether it is among them; of those issued before none is left.
	RevokeSubject(ctx context.Context, clientKey, subject string) (int, error)

	// List returns the live records an app has issued for a subject, the
	// oldest first. Those of a replaced key show by their KeyID.
	List(ctx context.Context, clientKey, subject string) ([]Record, error)
}
