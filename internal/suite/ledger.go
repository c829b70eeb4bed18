package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// Many is a limit that no subtest reaches.
const Many = 1000

// Ledger is a token.Ledger, with names that no other subtest uses.
type Ledger struct {
	token.Ledger
	F                 Features
	Org               token.OrgKey
	App, Subject, Key string
}

// NewLedger returns l with such names.
func NewLedger(l token.Ledger, f Features) *Ledger {
	return &Ledger{Ledger: l, F: f, Org: f.NewOrg(), App: Random(), Subject: f.NewAccount(), Key: Random()}
}

// Of returns the holder of the records of a subject.
func (l *Ledger) Of(subject string) token.Holder {
	return token.Holder{Org: l.Org, ClientKey: l.App, Subject: subject}
}

// Record returns a permanent record of the present second.
func (l *Ledger) Record() token.Record {
	return token.Record{
		ID: Random(), Org: l.Org, ClientKey: l.App, Subject: l.Subject, KeyID: l.Key,
		Issued: l.F.Time().UTC().Truncate(time.Second),
	}
}

// Add adds a record and returns it.
func (l *Ledger) Add(t *testing.T, change func(*token.Record)) token.Record {
	t.Helper()
	r := With(l.Record(), change)
	Must(t, "Issue", l.Issue(t.Context(), r, nil, Many))
	return r
}

// Use spends one use of r, and ignores the lineage.
func (l *Ledger) Use(ctx context.Context, r token.Record) error {
	_, err := l.Spend(ctx, r)
	return err
}

// Spends fails unless a use of r ends with one of the errors.
func (l *Ledger) Spends(t *testing.T, what string, r token.Record, want ...error) {
	t.Helper()
	Expect(t, what, l.Use(t.Context(), r), want...)
}

// Lists fails unless the records of a holder are these, in pages of a limit.
func (l *Ledger) Lists(t *testing.T, what string, of token.Holder, limit int, want ...token.Record) {
	t.Helper()
	got := l.Pages(t, of, limit)
	Check(t, slices.EqualFunc(got, want, SameRecord), "%s, in pages of %d: List = %+v, want %+v", what, limit, got, want)
}

// Limited changes a record to one of this many uses.
func Limited(uses int64) func(*token.Record) {
	return func(r *token.Record) { r.MaxUses = uses }
}

// SameRecord compares times as instants.
func SameRecord(a, b token.Record) bool {
	for _, r := range []*token.Record{&a, &b} {
		r.Issued, r.Expires, r.Seen = r.Issued.UTC(), r.Expires.UTC(), r.Seen.UTC()
	}
	return a == b
}

// Child returns a record whose parent is the given one, for a subject of its own.
func (l *Ledger) Child(parent token.Record) token.Record {
	r := l.Record()
	r.Subject, r.Lineage = l.F.NewAccount(), token.Lineage{Maker: parent.Subject, Parent: parent.ID}
	return r
}

// Make issues a child of a record.
func (l *Ledger) Make(t *testing.T, parent token.Record, change func(*token.Record)) token.Record {
	t.Helper()
	return l.Add(t, func(r *token.Record) { *r = With(l.Child(parent), change) })
}

// Dead fails unless each verb treats the issued record r as not live. Call it for
// descendants first, because the ledger may forget r in the end.
func (l *Ledger) Dead(t *testing.T, what string, r token.Record) {
	t.Helper()
	l.Spends(t, what+": Spend", r, token.ErrRevoked)
	listed := slices.ContainsFunc(l.Pages(t, r.Holder(), token.MaxPage), func(listed token.Record) bool { return listed.ID == r.ID })
	Check(t, !listed, "%s: listed", what)
	l.Barren(t, what, r, token.ErrRevoked)
	Expect(t, what+": Revoke", l.Revoke(t.Context(), r.Holder(), r.ID), token.ErrNotFound)
}

// Barren fails unless Issue of a child of parent returns want and changes nothing.
func (l *Ledger) Barren(t *testing.T, what string, parent token.Record, want error) {
	t.Helper()
	child := With(l.Child(parent), func(r *token.Record) { r.ClientKey = parent.ClientKey })
	Expect(t, what+": Issue of a child", l.Issue(t.Context(), child, nil, Many), want)
	l.Spends(t, what+": a child that was not issued", child, token.ErrRevoked)
	child.Parent = ""
	Expect(t, what+": its id without a parent", l.Issue(t.Context(), child, nil, Many), nil)
}

// Pages lists all records of a holder in pages of a limit.
func (l *Ledger) Pages(t *testing.T, of token.Holder, limit int) []token.Record {
	t.Helper()
	return Pages(t, limit, token.Record.Position, token.Position.Compare, func(after token.Position) ([]token.Record, token.Position, error) {
		return l.List(t.Context(), of, after, limit)
	})
}

// Limits are those of a test of n records: each boundary is somewhere within them.
func Limits(n int) []int { return []int{1, 2, 3, n - 1, n, n + 1, token.MaxPage} }

// ByPosition compares in the order of List.
func ByPosition(a, b token.Record) int { return a.Position().Compare(b.Position()) }

// RefusedAfter spends r until it is refused. It fails if a call is accepted that
// began after ended was set.
func (l *Ledger) RefusedAfter(ctx context.Context, r token.Record, ended *atomic.Bool) error {
	for {
		late := ended.Load()
		err := l.Use(ctx, r)
		switch {
		case late && err == nil:
			return fmt.Errorf("accepted after it was revoked")
		case late && errors.Is(err, token.ErrRevoked):
			return nil
		case err != nil && !errors.Is(err, token.ErrRevoked):
			return err
		}
	}
}

// Gets expects the record that List has, or an error and the zero Record. It returns what Get does.
func (l *Ledger) Gets(t *testing.T, what string, of token.Holder, id string, want error) token.Record {
	t.Helper()
	got, err := l.Get(t.Context(), of, id)
	Expect(t, what+": Get", err, want)
	if want != nil {
		Same(t, what+": Get beside an error", got, token.Record{})
		return got
	}
	of.Subject = got.Subject
	listed := l.Pages(t, of, token.MaxPage)
	Check(t, got.ID == id && slices.Contains(listed, got), "%s: Get = %+v, but List has %+v", what, got, listed)
	return got
}

// RevokesSubject fails unless RevokeSubject of a holder ends so many live records.
func (l *Ledger) RevokesSubject(t *testing.T, what string, of token.Holder, want int) {
	t.Helper()
	n, err := l.RevokeSubject(t.Context(), of)
	Check(t, n == want && err == nil, "RevokeSubject of %s = %d, %v, want %d", what, n, err, want)
}
