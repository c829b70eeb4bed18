package signing_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// stores are the implementations of Replays in this package. Each starts empty
// and old enough to take what is signed from now on.
var stores = map[string]func(t testing.TB) signing.Replays{
	"Memory": func(testing.TB) signing.Replays {
		m := signing.NewMemory(0)
		time.Sleep(time.Second)
		return m
	},
	"SetOnce": func(t testing.TB) signing.Replays {
		s := signing.SetOnce(new(keyValues).setOnce)
		// The epoch begins with the first claim.
		if err := s.Claim(t.Context(), use("starter", 0)); !errors.Is(err, signing.ErrStale) {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		return s
	},
}

// keyValues is a store of keys with one conditional write.
type keyValues struct {
	mu      sync.Mutex
	entries map[string]keyValue
	fail    func(key string) error // after the write
	writes  int
}

type keyValue struct {
	value string
	keep  time.Time
}

func (kv *keyValues) setOnce(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error) {
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	kv.mu.Lock()
	defer kv.mu.Unlock()
	kv.writes++
	if e, ok := kv.entries[key]; ok && e.keep.After(time.Now()) {
		return e.value, false, nil
	}
	if kv.entries == nil {
		kv.entries = map[string]keyValue{}
	}
	kv.entries[key] = keyValue{value, keep}
	if kv.fail != nil {
		return "", true, kv.fail(key)
	}
	return "", true, nil
}

// use is a claim made now, of a request signed 10 ms ago, with a nonce and a
// signature of its own.
func use(clientKey string, n int) signing.Use {
	now := time.Now()
	signed := now.Add(-10 * time.Millisecond).Truncate(time.Millisecond)
	return signing.Use{
		ClientKey: clientKey,
		Nonce:     fmt.Sprintf("%016d", n),
		Signature: sha256.Sum256(fmt.Append(nil, clientKey, n)),
		Signed:    signed,
		Seen:      now,
		Keep:      signed.Add(5*time.Minute + 30*time.Second),
		Siblings:  1,
		Window:    2 * time.Second,
	}
}

// sibling is u again with the nth nonce of its own, seen now.
func sibling(u signing.Use, n int) signing.Use {
	u.Nonce = fmt.Sprintf("sibling%09d", n)
	u.Seen = time.Now()
	return u
}

// eachStore runs a test of the contract in a bubble of its own time.
func eachStore(t *testing.T, test func(t *testing.T, store signing.Replays)) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, open(t)) })
		})
	}
}

func claim(t testing.TB, store signing.Replays, u signing.Use, want error) {
	t.Helper()
	if err := store.Claim(t.Context(), u); !errors.Is(err, want) || want == nil && err != nil {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestReplaysContract(t *testing.T) {
	tests := map[string]func(t *testing.T, store signing.Replays){
		"N02 the same request twice": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			claim(t, store, u, nil)
			claim(t, store, u, signing.ErrReplayed)
		},
		"N02b the same nonce under another signature": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			claim(t, store, u, nil)
			time.Sleep(5 * time.Minute)
			again := use("a", 2)
			again.Nonce = u.Nonce
			claim(t, store, again, signing.ErrReplayed)
		},
		"N03 the same nonce and signature of two client keys": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			claim(t, store, u, nil)
			u.ClientKey = "b"
			claim(t, store, u, nil)
		},
		"client keys that continue each other": func(t *testing.T, store signing.Replays) {
			for i, key := range []string{"a", "a1", "a11", "a:1", ":", "/", "1/8"} {
				claim(t, store, use(key, i), nil)
				u := use(key, i)
				u.Nonce = "ffffffffffffffff"
				u.Signature = [32]byte{1}
				claim(t, store, u, nil)
			}
		},
		"nonces differ by case": func(t *testing.T, store signing.Replays) {
			u, v := use("a", 1), use("a", 2)
			u.Nonce, v.Nonce = "abcdefghijklmnop", "abcdefghijklmnoP"
			claim(t, store, u, nil)
			claim(t, store, v, nil)
		},
		"N08 kept until the end of its retention": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			u.Signed = u.Signed.Add(time.Minute)
			u.Keep = u.Keep.Add(time.Minute)
			claim(t, store, u, nil)
			time.Sleep(time.Until(u.Keep) - time.Millisecond)
			claim(t, store, sibling(u, 1), signing.ErrReplayed)
			u.Seen = time.Now()
			claim(t, store, u, signing.ErrReplayed)
		},
		"N10 past its retention it is stale": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			time.Sleep(time.Until(u.Keep))
			u.Seen = time.Now()
			claim(t, store, u, signing.ErrStale)
		},
		"N12 signed before the store's own memory": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			u.Signed = u.Signed.Add(-time.Minute)
			claim(t, store, u, signing.ErrStale)
		},
		"S14 siblings: eight in all, then none": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			u.Siblings = 8
			for n := range 8 {
				claim(t, store, sibling(u, n), nil)
			}
			claim(t, store, sibling(u, 8), signing.ErrReplayed)
		},
		"S14 siblings: within the window": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			u.Siblings = 8
			claim(t, store, sibling(u, 1), nil)
			time.Sleep(1900 * time.Millisecond)
			claim(t, store, sibling(u, 2), nil)
			time.Sleep(150 * time.Millisecond)
			claim(t, store, sibling(u, 3), signing.ErrReplayed)
			time.Sleep(5 * time.Minute)
			claim(t, store, sibling(u, 4), signing.ErrReplayed)
		},
		"S14 single use stays so when a sibling is asked for": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			claim(t, store, u, nil)
			v := sibling(u, 1)
			v.Siblings = 8
			claim(t, store, v, signing.ErrReplayed)
		},
		"S14 single use after siblings": func(t *testing.T, store signing.Replays) {
			u := use("a", 1)
			u.Siblings = 8
			claim(t, store, u, nil)
			v := sibling(u, 1)
			v.Siblings = 1
			claim(t, store, v, signing.ErrReplayed)
		},
		"a context that has ended": func(t *testing.T, store signing.Replays) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			u := use("a", 1)
			if err := store.Claim(ctx, u); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			claim(t, store, u, nil)
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { eachStore(t, test) })
	}
}

// N02, S14 with the race detector: of concurrent claims no more pass than may.
func TestConcurrentClaims(t *testing.T) {
	for _, test := range []struct {
		name     string
		siblings int
		fresh    bool // each claim with a nonce of its own
		want     int64
	}{
		{"N02 one request a hundred times", 8, false, 1},
		{"S14 single use with fresh nonces", 1, true, 1},
		{"S14 siblings with fresh nonces", 8, true, 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, store signing.Replays) {
				u := use("a", 1)
				u.Siblings = test.siblings
				var passed atomic.Int64
				var wg sync.WaitGroup
				for n := range 100 {
					v := u
					if test.fresh {
						v = sibling(u, n)
					}
					wg.Go(func() {
						err := store.Claim(t.Context(), v)
						switch {
						case err == nil:
							passed.Add(1)
						case !errors.Is(err, signing.ErrReplayed):
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if passed.Load() != test.want {
					t.Errorf("%d passed, want %d", passed.Load(), test.want)
				}
			})
		})
	}
}
