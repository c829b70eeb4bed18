package storetest

import (
	"net/netip"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/suite"
	"github.com/tenantkit/tenantkit/token"
)

var anywhere = netip.MustParsePrefix("192.0.2.0/24")

// used returns the record of a token that is used at a time.
func used(r token.Record, at time.Time, from netip.Prefix) token.Record {
	r.Seen, r.From = at, from
	return r
}

// seen fails unless the record of a token, as Get and List have it, was last used then and there.
func seen(t *testing.T, l *suite.Ledger, what string, r token.Record, at time.Time, from netip.Prefix) {
	t.Helper()
	got := l.Gets(t, what, r.Holder(), r.ID, nil)
	suite.Check(t, got.Seen.Equal(at) && got.From == from, "%s: seen at %v from %v, want %v from %v", what, got.Seen, got.From, at, from)
}

func testSeen(t *testing.T, l *suite.Ledger) {
	at := l.F.Time().UTC().Truncate(time.Millisecond)
	for _, uses := range []int64{0, suite.Many} {
		r := l.Add(t, func(r *token.Record) { r.MaxUses, r.Seen, r.From = uses, at, anywhere })
		seen(t, l, "issued with a use", r, time.Time{}, netip.Prefix{})
		suite.Seen(t, at, func(at time.Time, from netip.Prefix) {
			l.Spends(t, "a use", used(r, at, from), nil)
			l.Spends(t, "a use that is not to be recorded", used(r, time.Time{}, anywhere), nil)
		}, func() (time.Time, netip.Prefix) {
			got := l.Gets(t, "a record", r.Holder(), r.ID, nil)
			return got.Seen, got.From
		})
		other := suite.With(used(r, at.Add(9*time.Hour), anywhere), func(r *token.Record) { r.KeyID = suite.Random() })
		l.Spends(t, "another token's", other, token.ErrRevoked)
		seen(t, l, "after a refused use", r, at.Add(2*time.Hour), netip.Prefix{})
		next := renew(t, l, r, 0)
		seen(t, l, "renewed", next, at.Add(2*time.Hour), netip.Prefix{})
		suite.Expect(t, "Revoke", l.Revoke(t.Context(), next.Holder(), next.ID), nil)
		l.Spends(t, "a revoked one", used(next, at.Add(9*time.Hour), anywhere), token.ErrRevoked)
		l.Gets(t, "revoked", next.Holder(), next.ID, token.ErrNotFound)
	}
}

func testSeenRace(t *testing.T, l *suite.Ledger) {
	at := l.F.Time().UTC().Truncate(time.Millisecond)
	for _, uses := range []int64{0, suite.Many} {
		r := l.Add(t, suite.Limited(uses))
		suite.Wins(t, suite.Crowd, func(i int) error {
			return l.Use(t.Context(), used(r, at.Add(time.Duration(i)*time.Millisecond), anywhere))
		})
		// Which of them is recorded first is open. None replaces it.
		first := l.Gets(t, "used", r.Holder(), r.ID, nil).Seen
		suite.Check(t, !first.Before(at), "seen at %v, before the first use at %v", first, at)
		l.Spends(t, "one more", used(r, first.Add(time.Hour-time.Millisecond), netip.Prefix{}), nil)
		seen(t, l, "after one more", r, first, anywhere)
	}
}
