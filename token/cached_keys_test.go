package token_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/token"
)

// counted is a Keys that counts its calls, and can be told to fail or wait.
type counted struct {
	token.Keys
	calls  int
	err    error
	during func()
}

func (c *counted) Public(ctx context.Context, kid string) (*token.PublicKey, error) {
	c.calls++
	if c.err != nil {
		return nil, c.err
	}
	k, err := c.Keys.Public(ctx, kid)
	if c.during != nil {
		c.during()
	}
	return k, err
}

func TestCachedKeysOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var store token.MemoryKeys
		put := func(i int) {
			if err := store.Put(ctx, pairOf(t, i, appA)); err != nil {
				t.Fatal(err)
			}
		}
		under := &counted{Keys: &store}
		cached := token.Cached(under, 0)
		find := func(i int, want error) {
			t.Helper()
			if k, err := cached.Public(ctx, kid(t, i)); !errors.Is(err, want) || err == nil && k.KeyID != kid(t, i) {
				t.Errorf("Public(%d) = %v, %v, want %v", i, k, err, want)
			}
		}
		calls := func(want int) {
			t.Helper()
			if under.calls != want {
				t.Errorf("%d calls, want %d", under.calls, want)
			}
			under.calls = 0
		}

		put(0)
		for range 10 {
			find(0, nil)
		}
		calls(1)

		put(2) // as another process would
		time.Sleep(2*time.Second - time.Nanosecond)
		find(0, nil)
		calls(0)
		time.Sleep(time.Nanosecond)
		find(0, token.ErrNotFound)
		find(2, nil)
		calls(2)

		put(0)
		cached.Invalidate(appB)
		find(2, nil)
		cached.Invalidate(appA)
		find(2, token.ErrNotFound)
		find(0, nil)
		calls(2)

		hour := token.Cached(under, time.Hour)
		for range 2 {
			if _, err := hour.Public(ctx, kid(t, 0)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour - time.Nanosecond)
		}
		calls(1)
		find(0, nil)
		calls(1)

		// The age of a key counts from the start of its look-up.
		cached.Invalidate(appA)
		under.during = func() { time.Sleep(1500 * time.Millisecond) }
		find(0, nil)
		under.during = nil
		time.Sleep(500*time.Millisecond - time.Nanosecond)
		find(0, nil)
		calls(1)
		time.Sleep(time.Nanosecond)
		find(0, nil)
		calls(1)

		under.err = errBroken
		find(0, nil)
		time.Sleep(2 * time.Second)
		find(0, errBroken)
		under.err = nil
		find(0, nil)
		cached.Invalidate(appA)

		// The pair is replaced while it is being looked up.
		under.during = func() {
			under.during = nil
			put(2)
			cached.Invalidate(appA)
		}
		find(0, nil)
		find(0, token.ErrNotFound)
	})
}

func TestCachedKeysGoByTheirClock(t *testing.T) {
	var store token.MemoryKeys
	if err := store.Put(t.Context(), pairOf(t, 0, appA)); err != nil {
		t.Fatal(err)
	}
	under := &counted{Keys: &store}
	cached := token.Cached(under, -1) // as 0
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cached.SetNow(func() time.Time { return now })
	for _, test := range []struct {
		name  string
		after time.Duration
		calls int
	}{
		{"at first", 0, 1},
		{"within the staleness", 2*time.Second - 1, 1},
		{"after it", 1, 2},
		{"set back", -time.Hour, 3},
	} {
		now = now.Add(test.after)
		if _, err := cached.Public(t.Context(), kid(t, 0)); err != nil || under.calls != test.calls {
			t.Errorf("%s: %d calls, want %d; %v", test.name, under.calls, test.calls, err)
		}
	}
}

func TestCachedKeys(t *testing.T) {
	t.Run("T06 unknown kids take no memory", func(t *testing.T) {
		var store token.MemoryKeys
		cached := token.Cached(&store, time.Hour)
		for i := range 100 {
			if _, err := cached.Public(t.Context(), fmt.Sprint(i)); !errors.Is(err, token.ErrNotFound) {
				t.Fatal(err)
			}
		}
		if n := cached.Len(); n != 0 {
			t.Errorf("%d remembered", n)
		}
	})
	t.Run("known kids take no more than the bound", func(t *testing.T) {
		cached := token.Cached(anyKey{}, time.Hour)
		for i := range token.MaxKeys + 100 {
			if _, err := cached.Public(t.Context(), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		if n := cached.Len(); n != token.MaxKeys {
			t.Errorf("%d remembered, want %d", n, token.MaxKeys)
		}
	})
}

// anyKey is a Keys that knows every kid.
type anyKey struct{}

func (anyKey) Public(_ context.Context, kid string) (*token.PublicKey, error) {
	return &token.PublicKey{KeyID: kid, ClientKey: appA}, nil
}

// T22: a second process, with a filled cache, within the stale time.
func TestCachedKeysOfAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var store token.MemoryKeys
		if err := store.Put(t.Context(), pairOf(t, 0, appA)); err != nil {
			t.Fatal(err)
		}
		minted, _, err := (&token.Minter{Signers: &store}).Ephemeral(t.Context(), wanted(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		second := token.Verifier{Keys: token.Cached(&store, 0), Cache: &token.Cache{}}
		verify := func() error {
			_, err := second.Verify(t.Context(), string(minted), token.Expect{Org: "acme", Audience: audience})
			return err
		}
		if err := verify(); err != nil {
			t.Fatal(err)
		}
		if err := store.Put(t.Context(), pairOf(t, 2, appA)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		if err := verify(); !errors.Is(err, token.ErrInvalid) {
			t.Errorf("after 2 seconds: %v, want ErrInvalid", err)
		}
	})
}

// noAnswer is a Keys that returns neither a key nor an error.
type noAnswer struct{}

func (noAnswer) Public(context.Context, string) (*token.PublicKey, error) { return nil, nil }

func TestKeysThatDoNotAnswerAreNotTakenForAnAbsence(t *testing.T) {
	cached := token.Cached(noAnswer{}, time.Minute)
	if key, err := cached.Public(t.Context(), "a key"); key != nil || err == nil || errors.Is(err, token.ErrNotFound) {
		t.Errorf("got %v, %v, want an error that is no absence", key, err)
	}
}
