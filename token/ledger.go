package token

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/orgkey"
)

// MaxAncestors is how many ancestors a record may have: its parent, the parent of its
// parent, and so on.
const MaxAncestors = 4

// Lineage records who made a token, with which credential and under which name. The zero value means
// the server itself.
type Lineage struct {
	Maker    string // id of the account that made it
	MakerApp string // client key of the request that made it; "" if it was not signed
	Parent   string // jti of the token that made it, of the same app; "" for none
	Name     string // for people: a printable line of at most 128 bytes
}

// OrgKey names an org: what auth.Org.Key returns, never its Code.
type OrgKey = orgkey.Key

// Holder is whose tokens a verb of a Ledger is about: those that an app of an org has
// issued for a subject. A verb finds nothing if the record is of another org, app or
// subject.
type Holder struct {
	Org       OrgKey // the org of the app
	ClientKey string // the app
	Subject   string // the account
}

// Any is the Subject for a Revoke or a List by whoever may end or see any token of an app, and
// the ClientKey for a RevokeSubject that ends the tokens of an account in all apps of its org.
// It is no text that a subject or a client key can be. An empty Subject is not enough: it is
// that of the zero auth.Principal, which must never end or see the tokens of others. An empty
// ClientKey has no record.
const Any = "\x00any"

// MaxReplaced is how many live records of other keys than those that an Issue names a subject
// may have, beyond the limit of the call. So a call costs no more for an app whose key pair is
// replaced all the time, and one replacement locks nobody out who has reached the limit.
const MaxReplaced = 100

// MaxPage is how many records one List looks at, at most.
const MaxPage = 1000

// Position is a place in the order of List, where a record is or was. The zero Position
// is before all records.
type Position struct {
	Issued time.Time // whole seconds
	ID     string
}

// IsZero reports whether p is before all records. As the next position of List it is the
// end.
func (p Position) IsZero() bool { return p.ID == "" && p.Issued.IsZero() }

// Compare returns a negative number if p is before q in the order of List, and a positive
// one if it is after q.
func (p Position) Compare(q Position) int {
	return cmp.Or(p.Issued.Compare(q.Issued), cmp.Compare(p.ID, q.ID))
}

// Record is a permanent or limited-use token, as a ledger keeps it.
type Record struct {
	ID        string // the jti of a token that was not renewed; that of a successor is ID~Generation
	Org       OrgKey // the org of the app
	ClientKey string // the app that issued it
	Subject   string // the account it authenticates as
	KeyID     string // the key it was signed with

	Generation int64 // how often it was renewed

	Uses    int64 // authentications so far; need not be counted if MaxUses is 0
	MaxUses int64 // 0: any number

	Issued  time.Time // the iat; whole seconds
	Expires time.Time // whole seconds; zero: never

	Lineage
	face.Use // the last use that was recorded, for lists
}

// Holder returns whose token it is.
func (r Record) Holder() Holder { return Holder{r.Org, r.ClientKey, r.Subject} }

// Position returns where the record is in the order of List.
func (r Record) Position() Position { return Position{r.Issued, r.ID} }

// Spender checks a token that has a jti, and spends one use of it.
//
// Spend is one atomic step, called once per request. Calls may be concurrent, in this
// process or in another that shares the store. Of all calls for one record, no more
// than MaxUses return nil; if MaxUses is 0, all do. A spent use is never given back.
//
// The record r is made of the token's claims and of its key's org. It must equal the issued record in ID,
// ClientKey, Subject, KeyID, Generation and MaxUses. Its Lineage is ignored. Its Org is that of the issued record,
// by which a ledger may choose a server; it need not compare it: the key has one owner. While the grace of a Renew lasts, r may also be
// of the Generation before, and then of any KeyID. Spend returns the
// Lineage of the issued record, or an error that wraps
//   - ErrRevoked: no such record was issued, it was revoked, it has expired, or one
//     of its ancestors is not live. No use is spent;
//   - ErrExhausted: MaxUses was reached. A ledger may forget such a record, and then
//     it returns ErrRevoked;
//   - ErrReused: the record has a later Generation, and r is not the one before within a grace.
//     Somebody has two tokens of one family (RFC 9700, section 4.14.2): Spend has removed the record,
//     and so ended the family. No grace hides older ones: a thief could renew again and again.
//
// Any other error means that the outcome is unknown. One use may be lost, and the
// caller refuses the request. If there is an error, the Lineage is zero.
//
// An accepted use sets Seen and From of the issued record to those of r, if Seen of r is at least an
// hour later. If that fails, the use is accepted all the same.
type Spender interface {
	Spend(ctx context.Context, r Record) (Lineage, error)
}

// Ledger is the list of valid permanent and limited-use tokens. A token that is not
// in it is refused. So if a ledger is lost, tokens must be issued again, but no
// revoked token is accepted.
//
// A record is live if
//   - it was not revoked;
//   - it has not expired: now is before Expires;
//   - it has uses left;
//   - all its ancestors are live.
//
// A ledger does not ask the directory. The tokens that an account's TokensFrom has ended stay live
// here; package bearer takes them for dead everywhere: in Authenticate and Inspect, in Mint before
// they count against a limit, and by CheckMakers in lists.
//
// The ancestors are the record of the same ClientKey that Parent names, the parent of
// that record, and so on. They may have other subjects and keys. A record is dead if
// an ancestor is unknown, or if it has more than MaxAncestors of them. So when a
// record dies, all its descendants die at once, even if their own Expires is later. A
// ledger may forget a dead record at any time.
//
// A record whose key was replaced is not removed. Its kid is unknown to Keys, so its
// token is refused before the ledger is asked, and Issue does not count it. A later
// Issue for its subject may drop it; its descendants are then dead. The record of a
// former key that still verifies is counted and kept as one of the present key.
//
// An ID must never be issued again for the same ClientKey, even after its record is
// gone. Otherwise the descendants of the earlier record would be live again. The
// Minter's ids are 128 random bits.
//
// Each verb names the app and its org, by either of which records can be spread over several stores: an
// app's records, and only they, are compared with each other.
//
// Implementations are safe for concurrent use, in this process and in others that
// share the store. They return when ctx ends.
type Ledger interface {
	Spender
	Issuing

	// Renew makes r, which must be a record that Spend would accept, the record of its successor: with
	// the KeyID and the Issued of next, and the next Generation. It ends at next.Expires, or at its
	// own end if that is earlier. Everything else stays, the uses too, and Renew spends none. For
	// grace, by the ledger's clock, the Generation before is accepted as well, and may be renewed
	// again, to the same Generation: a client whose answer was lost asks again. Then only the KeyID,
	// the Issued and an earlier end of next count, and the grace is no longer.
	//
	// Renew is one atomic step: of concurrent calls for one Generation all lead to the same next one.
	// The errors are those of Spend. After ErrReused it has removed the record.
	Renew(ctx context.Context, r, next Record, grace time.Duration) error
}

// Issuing is a Ledger without what a rollback must not give back: uses, and the end of a family whose
// token was used again.
type Issuing interface {
	// Issue adds r, with no uses yet, and no Seen. verifying has the KeyIDs of all keys of r's app
	// that still verify. r's KeyID counts as one of them, even if it is not named. The
	// check of the parent, the count and the addition are one atomic step. So there are
	// never more than limit live records with r's ClientKey and Subject and one of these
	// keys.
	//
	// Issue may drop a record of another key only if it was issued more than an hour
	// before r. The caller may not know of a key that has come since it has looked: the
	// hour keeps the records of that key, whatever the clocks of the servers say.
	//
	// Issue changes nothing if it returns an error that wraps
	//   - ErrRevoked: r has a Parent, which is not a live record of r's ClientKey, or is
	//     one of a key that does not verify any more. Otherwise a request that was
	//     admitted before a key was replaced could make a token with the new key;
	//   - ErrTooDeep: the parent has MaxAncestors ancestors itself;
	//   - ErrTooMany: there are limit such records already, or limit and MaxReplaced live
	//     ones of other keys that were issued at most an hour before r. RevokeSubject
	//     removes these.
	//
	// If a record with r's ClientKey and ID exists, Issue returns another error and
	// changes nothing.
	Issue(ctx context.Context, r Record, verifying []string, limit int) error

	// Revoke removes one record and no other. With the Subject Any it may be of
	// any subject of the app. After it has returned nil, no Spend that starts accepts the
	// token or a descendant of it, in any process. It returns ErrNotFound if the holder has
	// no live record of this id. An empty Subject has no record, and an ephemeral token has
	// none, whose id is empty.
	Revoke(ctx context.Context, of Holder, id string) error

	// Get returns a live record of the holder, with its Lineage. It spends no use. It is for
	// telling others about a token, and for a request that it has admitted, never for
	// admitting one. The errors are those of Revoke.
	Get(ctx context.Context, of Holder, id string) (Record, error)

	// RevokeSubject removes all records of the holder, and returns how many of them were
	// live. With the ClientKey Any they are those of all apps of the org; a ledger that
	// is spread over several databases by client key asks each of them. If the Subject is
	// empty, it returns an error and removes nothing. The
	// descendants are then dead, whatever their subjects are. A token that is issued at
	// the same time may or may not be removed. One that dies at the same time, because an
	// ancestor of another subject does, may or may not be counted. After an error some of
	// the records may be removed: call it again.
	RevokeSubject(ctx context.Context, of Holder) (int, error)

	// List returns a page of the live records of the holder, with their Lineage. With the
	// Subject Any they are those of all subjects of the app. An empty Subject has
	// none. Records of a replaced key are included; their KeyID shows it.
	//
	// The oldest come first, and those of one second in the order of their ids, byte by
	// byte. The page begins after the position after. List looks at limit records at most,
	// dead ones too, so that a call is short however many there are: a page may have fewer
	// records than limit, or none, and others may follow it. The next page begins after
	// next, which is zero if no record follows. The limit is 1 to MaxPage; any other is an
	// error.
	//
	// A record that is live during all calls is on exactly one page. One that is issued
	// meanwhile is on a later page, unless its position is before those that were looked at.
	// Records calls List until the end.
	List(ctx context.Context, of Holder, after Position, limit int) (page []Record, next Position, err error)
}

// Records returns the live records of a holder in the order of List, which it calls for
// one page after the other. An error is the last element, with the zero Record.
func Records(ctx context.Context, l Issuing, of Holder) iter.Seq2[Record, error] {
	list := func(after Position) ([]Record, Position, error) { return l.List(ctx, of, after, MaxPage) }
	return face.Pages(list, Position.IsZero)
}

// keepFor is how long a ledger keeps the records of keys that an Issue does not name.
const keepFor = time.Hour
