package enginetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// waitFor spins, so that the next call falls into the millisecond of the expiry. The engines have
// the clock of this machine.
func waitFor(end time.Time) {
	time.Sleep(time.Until(end) - time.Millisecond)
	for time.Now().Before(end) {
	}
}

// TestSessionsEndInTheirMillisecond gets a session in the millisecond of its expiry, in which it
// must have ended.
func TestSessionsEndInTheirMillisecond(t *testing.T) {
	t.Parallel()
	for _, c := range countedStores(t) {
		t.Run(c.name, func(t *testing.T) {
			ctx := t.Context()
			for i := range 20 {
				s := aSession(fmt.Sprint("ann", i))
				s.Expires = time.Now().Add(30 * time.Millisecond).Truncate(time.Millisecond)
				expect(t, "Create", c.sessions.Create(ctx, s, 0), nil)
				if i%2 == 1 {
					old := s.Hash
					s.Hash = aSession("ann").Hash
					// On a busy machine the session may have expired by now.
					if err := c.sessions.Replace(ctx, s.Org, old, s); time.Now().Before(s.Expires) {
						expect(t, "Replace", err, nil)
					}
				}
				waitFor(s.Expires)
				_, err := c.sessions.Get(ctx, s.Org, s.Hash)
				expect(t, "Get", err, auth.ErrNotFound)
			}
		})
	}
}

// TestSessionsThatEndAtOnce creates sessions close to their expiry. An expiry that has passed
// meanwhile is no error.
func TestSessionsThatEndAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range countedStores(t) {
		t.Run(c.name, func(t *testing.T) {
			for i := range 200 {
				s := aSession(fmt.Sprint("ann", i))
				s.Expires = time.Now().Add(time.Duration(i%16) * 250 * time.Microsecond).Truncate(time.Millisecond)
				expect(t, "Create", c.sessions.Create(t.Context(), s, i%2), nil)
			}
		})
	}
}

// TestTokensEndInTheirSecond spends a token in the first millisecond of the second of its expiry.
func TestTokensEndInTheirSecond(t *testing.T) {
	t.Parallel()
	eachLedger(t, func(t *testing.T, l ledgerOf) {
		for range 2 {
			r := aToken()
			r.Expires = time.Now().Truncate(time.Second).Add(2 * time.Second)
			expect(t, "Issue", l.Issue(t.Context(), r, nil, 10), nil)
			if err := spend(t.Context(), l, r); time.Now().Before(r.Expires) {
				expect(t, "before", err, nil)
			}
			waitFor(r.Expires)
			expect(t, "in the second", spend(t.Context(), l, r), token.ErrRevoked)
		}
	})
}

// eachReplays runs a test over a replay store in each engine.
func eachReplays(t *testing.T, test func(t *testing.T, replays signing.Replays)) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) { test(t, h.store(t).Replays()) })
	}
	t.Run("Redis", func(t *testing.T) {
		test(t, openAt(t, startRedis(t).addr(), redisstore.Options{}).Replays())
	})
}

// TestClaimsEndInTheirMillisecond claims a request in the millisecond after which it is forgotten.
// It claims a sibling in the millisecond in which the window ends.
func TestClaimsEndInTheirMillisecond(t *testing.T) {
	t.Parallel()
	eachReplays(t, func(t *testing.T, replays signing.Replays) {
		const window = 20 * time.Millisecond
		for i := range uint64(20) {
			u := useNow("key", i)
			u.Keep = u.Signed.Add(5 * time.Millisecond)
			waitFor(u.Keep)
			expect(t, "past its retention", replays.Claim(t.Context(), u), signing.ErrStale)

			u = useNow("siblings", i)
			u.Siblings, u.Window = 2, window
			expect(t, "the first", replays.Claim(t.Context(), u), nil)
			u.Nonce = fmt.Sprintf("%016x", 1000+i)
			u.Seen = time.Now().Truncate(time.Millisecond).Add(window)
			waitFor(u.Seen)
			expect(t, "a sibling", replays.Claim(t.Context(), u), signing.ErrReplayed)
		}
	})
}
