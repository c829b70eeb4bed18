package session_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
)

// slow is a Hasher that takes a second and counts its calls. An encoded password is the
// password itself.
type slow struct {
	running, most    atomic.Int64
	verified, hashed atomic.Int64
	dummy            atomic.Value // the password of the latest Hash
	broken           atomic.Bool
}

var errBroken = errors.New("broken")

func (s *slow) work() {
	n := s.running.Add(1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(time.Second)
	s.running.Add(-1)
}

func (s *slow) Hash(password string) (string, error) {
	s.hashed.Add(1)
	s.dummy.Store(password)
	if s.broken.Load() {
		return "", errBroken
	}
	s.work()
	return password, nil
}

func (s *slow) Verify(encoded, password string) (ok, rehash bool) {
	s.verified.Add(1)
	s.work()
	return encoded == password, true
}

func TestHashingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hasher := &slow{}
		h := session.NewHashing(hasher, 3, 14)
		if _, _, err := h.Verify(t.Context(), "a", "a"); err != nil { // makes the dummy
			t.Fatal(err)
		}
		var done, full atomic.Int64
		var all sync.WaitGroup
		start := time.Now()
		for range 20 {
			all.Go(func() {
				ok, _, err := h.Verify(t.Context(), "a", "a")
				switch {
				case err == nil && ok:
					done.Add(1)
				case errors.Is(err, session.ErrQueueFull):
					full.Add(1)
				default:
					t.Errorf("Verify = %t, %v", ok, err)
				}
			})
		}
		synctest.Wait()
		if n := hasher.running.Load(); n != 3 {
			t.Errorf("%d run at once", n)
		}
		if n := full.Load(); n != 12 {
			t.Errorf("%d were turned away at once, want 12", n)
		}
		all.Wait()
		if hasher.most.Load() != 3 || done.Load() != 8 || full.Load() != 12 {
			t.Errorf("at most %d at once, %d done, %d turned away; want 3, 8, 12", hasher.most.Load(), done.Load(), full.Load())
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("8 by 3 took %v", took)
		}
		if _, err := h.Hash(t.Context(), "a"); err != nil {
			t.Errorf("the queue is empty again: %v", err)
		}
	})
}

func TestHashingWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hasher := &slow{}
		h := session.NewHashing(hasher, 1, 1)
		go h.Hash(context.WithoutCancel(t.Context()), "first")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		start := time.Now()
		if _, err := h.Hash(ctx, "second"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 300*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		// Its place in the queue is free again.
		if _, err := h.Hash(t.Context(), "third"); err != nil {
			t.Error(err)
		}
		if _, err := h.Hash(ctx, "fourth"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that has ended: %v", err)
		}
		if n := hasher.hashed.Load(); n != 2 {
			t.Errorf("%d were hashed", n)
		}
	})
}

func TestHashingWorksTheSameForAnUnknownAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hasher := &slow{}
		h := session.NewHashing(hasher, 1, 1)
		for i, c := range []struct {
			name, encoded, password string
			ok                      bool
		}{
			{"the first of all", "a", "a", true},
			{"F11 a wrong password", "a", "b", false},
			{"F11 an unknown account", "", "b", false},
			{"an unknown account and no password", "", "", false},
			{"an unknown account and the password that stands in", "", "dummy", false},
		} {
			if c.password == "dummy" {
				c.password = hasher.dummy.Load().(string)
			}
			start := time.Now()
			ok, rehash, err := h.Verify(t.Context(), c.encoded, c.password)
			if ok != c.ok || rehash != c.ok || err != nil {
				t.Errorf("%s: %t %t, %v", c.name, ok, rehash, err)
			}
			want := time.Second
			if i == 0 {
				want *= 2 // for the dummy
			}
			if took := time.Since(start); took != want || hasher.verified.Load() != int64(i+1) || hasher.hashed.Load() != 1 {
				t.Errorf("%s: took %v, %d verified, %d hashed so far", c.name, took, hasher.verified.Load(), hasher.hashed.Load())
			}
		}
	})
}

func TestHashingOutlivesABrokenHasher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hasher := &slow{}
		h := session.NewHashing(hasher, 1, 1)
		hasher.broken.Store(true)
		for _, encoded := range []string{"a", ""} { // the reply is the same for both
			if _, _, err := h.Verify(t.Context(), encoded, "a"); !errors.Is(err, errBroken) {
				t.Errorf("record %q: %v", encoded, err)
			}
		}
		hasher.broken.Store(false)
		if ok, _, err := h.Verify(t.Context(), "a", "a"); !ok || err != nil {
			t.Errorf("mended: %t, %v", ok, err)
		}
	})
}

func TestHashingByDefault(t *testing.T) {
	h := session.NewHashing(nil, 0, 0)
	if ok, rehash, err := h.Verify(t.Context(), once, "correct horse"); !ok || !rehash || err != nil {
		t.Errorf("Verify = %t %t, %v", ok, rehash, err)
	}
}
