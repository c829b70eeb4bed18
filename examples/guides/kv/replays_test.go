package kv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/storetest"
	"github.com/tenantkit/tenantkit/examples/guides/kv"
	"github.com/tenantkit/tenantkit/signing"
)

// The test can move the clock of this store, so that the suite does not wait.
func TestReplays(t *testing.T) {
	clock := authtest.NewClock(time.Now())
	client := &kv.Client{Now: clock.Now}
	storetest.Replays(t, func(*testing.T) signing.Replays { return kv.Replays{Store: client} }, storetest.Features{
		Now:  clock.Now,
		Pass: func(d time.Duration) { clock.Advance(d) },
	})
}

// store is a Replays whose first claim was a second ago, or that is empty.
type store struct {
	*testing.T
	clock  *authtest.Clock
	client *kv.Client
}

func newStore(t *testing.T) *store {
	s := &store{T: t, clock: authtest.NewClock(time.UnixMilli(1_800_000_000_000))}
	s.empty()
	s.claim("the first claim of all", s.use(0, 0), signing.ErrStale)
	s.clock.Advance(time.Second)
	return s
}

func (s *store) empty() { s.client = &kv.Client{Now: s.clock.Now} }

// use returns a use with a nonce and a signature, for up to 8 siblings.
func (s *store) use(nonce, signature int) signing.Use {
	now := s.clock.Now()
	u := signing.Use{
		ClientKey: "key", Nonce: string(binary.BigEndian.AppendUint64([]byte("nonce000"), uint64(nonce))),
		Signed: now, Seen: now, Keep: now.Add(5 * time.Minute), Siblings: 8, Window: 2 * time.Second,
	}
	binary.BigEndian.PutUint64(u.Signature[:], uint64(signature))
	return u
}

func (s *store) claim(name string, u signing.Use, want ...error) {
	s.Helper()
	err := kv.Replays{Store: s.client}.Claim(s.Context(), u)
	for _, one := range want {
		if errors.Is(err, one) {
			return
		}
	}
	s.Errorf("%s: %v, want %v", name, err, want)
}

func TestEmptiedStore(t *testing.T) {
	s := newStore(t)
	u := s.use(1, 1)
	s.claim("a request", u, nil)
	s.empty()
	s.claim("N13 its replay", u, signing.ErrStale)
	s.claim("N13 one signed in the millisecond that begins it", s.use(2, 2), signing.ErrStale)
	s.clock.Advance(time.Millisecond)
	s.claim("signed afterwards", s.use(3, 3), nil)
}

// TestLeaves counts the keys that a hundred refused claims leave.
func TestLeaves(t *testing.T) {
	for _, c := range []struct {
		name  string
		use   func(s *store, i int) signing.Use
		after time.Duration
		want  int
	}{
		{"N15 a captured signature with fresh nonces", func(s *store, i int) signing.Use { return s.use(100+i, 1) }, 2 * time.Second, 0},
		{"N15 exact replays", func(s *store, i int) signing.Use { return s.use(1, 1) }, 0, 0},
		{"N15 siblings over the limit", func(s *store, i int) signing.Use { return s.use(100+i, 1) }, 0, 100},
		{"N15 a used nonce with fresh signatures", func(s *store, i int) signing.Use { return s.use(1, 100+i) }, 0, 100},
		{"N15 signed before the epoch", func(s *store, i int) signing.Use {
			u := s.use(100, 100)
			u.Signed = u.Signed.Add(-time.Hour)
			return u
		}, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStore(t)
			for i := range 8 {
				s.claim("a sibling", s.use(1+i, 1), nil)
			}
			s.clock.Advance(c.after)
			before := s.client.Len()
			for i := range 100 {
				s.claim(c.name, c.use(s, i), signing.ErrReplayed, signing.ErrStale)
			}
			if n := s.client.Len() - before; n != c.want {
				t.Errorf("%d keys more, want %d", n, c.want)
			}
		})
	}
}

// A store that fails in any call lets nothing in, and a nonce that may be written is used.
func TestFailingStore(t *testing.T) {
	for call := 1; call <= 5; call++ {
		s := newStore(t)
		s.claim("a sibling", s.use(1, 1), nil)
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		s.client.Now = func() time.Time {
			if calls++; calls == call {
				cancel()
			}
			return s.clock.Now()
		}
		u := s.use(2, 1)
		if err := (kv.Replays{Store: s.client}).Claim(ctx, u); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled at reading %d of the clock: %v", call, err)
		}
		s.client.Now = s.clock.Now
		s.claim("the same request", u, nil, signing.ErrReplayed)
		s.claim("signed again", s.use(3, 3), nil)
	}
}
