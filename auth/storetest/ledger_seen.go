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

// listed returns the record of a token as Get and List have it.
func listed(t *testing.T, l *suite.Ledger, r token.Record) token.Record {
	t.Helper()
	l.Gets(t, "a record", r.Holder(), r.ID, nil)
	got, err := l.Get(t.Context(), r.Holder(), r.ID)
	suite.Expect(t, "Get", err, nil)
	return got
}

func testSeen(t *testing.T, l *suite.Ledger) {
	at := l.F.Time().UTC().Truncate(time.Millisecond)
	for _, uses := range []int64{0, suite.Many} {
		r := l.Add(t, func(r *token.Record) { r.MaxUses, r.Seen, r.From = uses, at, anywhere })
		if got := listed(t, l, r); !got.Seen.IsZero() || got.From.IsValid() {
			t.Errorf("issued with a use: %v from %v", got.Seen, got.From)
		}
		suite.Seen(t, at, func(at time.Time, from netip.Prefix) {
			l.Spends(t, "a use", used(r, at, from), nil)
			l.Spends(t, "a use that is not to be recorded", used(r, time.Time{}, anywhere), nil)
		}, func() (time.Time, netip.Prefix) { got := listed(t, l, r); return got.Seen, got.From })
		other := used(r, at.Add(9*time.Hour), anywhere)
		other.KeyID = suite.Random()
		l.Spends(t, "another token's", other, token.ErrRevoked)
		if got := listed(t, l, r); !got.Seen.Equal(at.Add(2 * time.Hour)) {
			t.Errorf("a refused use is seen after %v", got.Seen.Sub(at))
		}
		next := renew(t, l, r, 0)
		if got := listed(t, l, next); !got.Seen.Equal(at.Add(2 * time.Hour)) {
			t.Errorf("renewed: seen after %v", got.Seen.Sub(at))
		}
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
		first := listed(t, l, r)
		l.Spends(t, "one more", used(r, first.Seen.Add(time.Hour-time.Millisecond), netip.Prefix{}), nil)
		if got := listed(t, l, r); got.Seen.Before(at) || !got.Seen.Equal(first.Seen) || got.From != anywhere {
			t.Errorf("seen after %v, before that %v, from %v", got.Seen.Sub(at), first.Seen.Sub(at), got.From)
		}
	}
}
