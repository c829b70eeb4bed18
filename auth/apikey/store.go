package apikey

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/netip"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/face"
)

// Grant is what a key is for, and what it may do.
type Grant struct {
	Prefix  string // of one of Mechanism.Formats; "": the first
	Account string // id of its owner, a person or a service account; "": the account of its maker
	App     string // client key of the app that it acts through; "": that of its maker's credential, if any
	Name    string // for people, at most 128 bytes

	// Scope has the chains of everything that requests may do, at most 8 KiB. None permits nothing.
	// The chains of the owner's roles are not added.
	Scope []string

	Networks []netip.Prefix // where requests may come from, at most 64; nil: anywhere
	Expires  time.Time      // zero: never
	Uses     int64          // after so many requests it ends; 0: any number
}

// Record is what the server keeps of a key. Requests share it, so it must not be changed once returned.
type Record struct {
	Grant
	ID        string   // public
	Hash      [32]byte `json:"-"` // SHA-256 of the secret
	Org       auth.OrgKey
	Maker     string // id of the account that made it; "": it is deleted
	Created   time.Time
	Disabled  bool
	Successor string // id of the key that has replaced it

	Used     int64 // how many of the Uses are used up; 0 for a key without a limit
	face.Use       // the last use that was recorded, at most an hour before the last one
}

// recorded is the part of a Record that no use changes, and that no store searches.
type recorded struct {
	Prefix    string         `json:"prefix"`
	Name      string         `json:"name"`
	Scope     []string       `json:"scope"`
	Networks  []netip.Prefix `json:"networks"`
	Expires   time.Time      `json:"expires,omitzero"`
	Hash      []byte         `json:"hash"`
	Created   time.Time      `json:"created"`
	Disabled  bool           `json:"disabled,omitempty"`
	Successor string         `json:"successor,omitempty"`
}

// Stored returns, as JSON, the part of a record that a Store compares as a whole: all but the ID, Org,
// Account, App, Maker and Uses, which never change, and Used, Seen and From, which uses change. Equal
// records have equal texts.
func (r *Record) Stored() string {
	text, err := json.Marshal(recorded{r.Prefix, r.Name, r.Scope, r.Networks, milli(r.Expires), r.Hash[:], milli(r.Created), r.Disabled, r.Successor})
	if err != nil {
		panic(err) // only a year after 9999, which Make refuses
	}
	return string(text)
}

// milli returns a time as stores keep it, in whole milliseconds.
func milli(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// SetStored sets the fields of r that Stored has returned. It refuses any other text: without a restriction
// of a later release, one that is there twice or one that is lost, more would be permitted.
func (r *Record) SetStored(text string) error {
	var s recorded
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	if again, _ := json.Marshal(s); string(again) != text {
		return errors.New("apikey: a record is not as this release writes it")
	}
	if len(s.Hash) != len(r.Hash) {
		return errors.New("apikey: a hash is not 32 bytes long")
	}
	r.Prefix, r.Name, r.Scope, r.Networks, r.Expires = s.Prefix, s.Name, s.Scope, s.Networks, s.Expires
	r.Hash, r.Created, r.Disabled, r.Successor = [32]byte(s.Hash), s.Created, s.Disabled, s.Successor
	return nil
}

// LiveAt reports whether a key can be used at a time, as far as its record tells: it is not disabled,
// has not ended, and has a use left.
func (r *Record) LiveAt(now time.Time) bool {
	return !r.Disabled && !r.ended(now)
}

// ended reports whether a record need not be kept. A disabled one can be enabled.
func (r *Record) ended(now time.Time) bool {
	return !r.Expires.IsZero() && !now.Before(r.Expires) || r.Uses > 0 && r.Used >= r.Uses
}

// Store keeps the records of keys. An ID is unique over all orgs.
//
// Implementations are safe for concurrent use, in this process and in others that share the store.
// They return when ctx ends. An error that is none of those named here means that the store did not
// answer.
type Store interface {
	Issuing

	// Use records a use, in one atomic step. Of a key with Uses it counts one, or returns
	// auth.ErrNotFound if none is left: a key is never used more often than Uses, and a use is never
	// given back. It sets Seen and From if Seen is at least an hour before at. Otherwise, for a key
	// without Uses, it writes nothing. It returns auth.ErrNotFound if there is no record, and never
	// creates one. It does not check what else could end the key.
	Use(ctx context.Context, id string, at time.Time, from netip.Prefix) error
}

// Issuing is a Store without uses: what may run in a transaction that can be rolled back.
type Issuing interface {
	// Add adds a record with Used 0. In the same atomic step it deletes those records of its owner that
	// have no use left or had expired when r was Created, and returns ErrTooMany if limit others are
	// there. It returns auth.ErrConflict if the ID exists. An error changes nothing.
	Add(ctx context.Context, r Record, limit int) error

	// Get returns the record of an ID in any org, or auth.ErrNotFound. The caller compares Hash and Org.
	Get(ctx context.Context, id string) (Record, error)

	// Swap replaces before by after, and then adds successor if it is not nil, all in one atomic step.
	// Only what Stored returns differs between before and after. Swap returns auth.ErrConflict if the
	// stored record differs from before in that, or is gone, and otherwise the errors of Add.
	Swap(ctx context.Context, before, after Record, successor *Record, limit int) error

	// Revoke deletes a record of the org, or returns auth.ErrNotFound. After nil no Get, Use or Swap
	// that starts finds it.
	Revoke(ctx context.Context, org auth.OrgKey, id string) error

	// List returns a page of the records of an org, of one of its accounts or of one of its apps, in the
	// order of their IDs. It begins after the ID after, and looks at limit records, 1 to MaxPage: any other
	// limit is an error. A page can have fewer, and others may follow. The next page begins after next, which is "" at the end. A
	// record that is there during all calls is on exactly one page. Those of ended keys may be on one.
	List(ctx context.Context, of Of, after string, limit int) (page []Record, next string, err error)
}

// Of says which records List returns: those that meet all of its conditions.
type Of struct {
	Org          auth.OrgKey
	Account, App string    // "": any
	EndsBefore   time.Time // only those that expire before it; zero: all
}

// Has reports whether a record meets the conditions.
func (of Of) Has(r *Record) bool {
	return r.Org == of.Org && (of.Account == "" || r.Account == of.Account) && (of.App == "" || r.App == of.App) &&
		(of.EndsBefore.IsZero() || !r.Expires.IsZero() && r.Expires.Before(of.EndsBefore))
}

// MaxPage is the greatest limit of List.
const MaxPage = 1000

// ErrTooMany means that the owner has as many keys as it may have.
var ErrTooMany = errors.New("apikey: the account has too many keys")

// Records returns all records of List, one page after the other. An error is the last element.
func Records(ctx context.Context, s Issuing, of Of) iter.Seq2[Record, error] {
	list := func(after string) ([]Record, string, error) { return s.List(ctx, of, after, MaxPage) }
	return face.Pages(list, func(next string) bool { return next == "" })
}
