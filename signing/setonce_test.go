package signing_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// A write that fails after it was made counts as claimed, and a claim that is
// made anew passes.
func TestSetOnceFailsClosed(t *testing.T) {
	failure := errors.New("connection reset")
	for name, prefix := range map[string]string{"nonce": "n", "first sight": "s", "epoch": "epoch"} {
		t.Run("N11 at the "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := new(keyValues)
				store := signing.SetOnce(kv.setOnce)
				claim(t, store, use("starter", 0), signing.ErrStale)
				if prefix == "epoch" {
					delete(kv.entries, "epoch")
				}
				time.Sleep(time.Second)
				kv.fail = func(key string) error {
					if strings.HasPrefix(key, prefix) {
						return failure
					}
					return nil
				}
				u := use("a", 1)
				claim(t, store, u, failure)
				kv.fail = nil
				claim(t, store, u, signing.ErrReplayed)
				time.Sleep(time.Second)
				claim(t, store, use("a", 2), nil)
			})
		})
	}
}

// N13: whenever the store loses its data, what it had recorded is not accepted
// again.
func TestSetOnceBeginsAnEpochWhenItIsEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := new(keyValues)
		store := signing.SetOnce(kv.setOnce)
		claim(t, store, use("starter", 0), signing.ErrStale)
		time.Sleep(time.Second)
		u := use("a", 1)
		claim(t, store, u, nil)
		clear(kv.entries)
		claim(t, store, u, signing.ErrStale) // begins the new epoch
		clear(kv.entries)
		time.Sleep(time.Second)
		u.Seen = time.Now()
		claim(t, store, u, signing.ErrStale)
		time.Sleep(time.Second)
		claim(t, store, use("a", 2), nil)
	})
}

func TestSetOnceRefusesWhatItDidNotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := new(keyValues)
		store := signing.SetOnce(kv.setOnce)
		u := use("a", 1)
		claim(t, store, u, signing.ErrStale)
		for key, e := range kv.entries {
			e.value = "nonsense"
			kv.entries[key] = e
		}
		time.Sleep(time.Second)
		for _, u := range []signing.Use{sibling(u, 1), use("a", 2)} {
			if err := store.Claim(t.Context(), u); err == nil {
				t.Error("accepted")
			}
		}
	})
}

// Three writes for a request that is new, whatever else the store holds.
func TestSetOnceCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kv := new(keyValues)
		store := signing.SetOnce(kv.setOnce)
		claim(t, store, use("starter", 0), signing.ErrStale)
		time.Sleep(time.Second)
		kv.writes = 0
		claim(t, store, use("a", 1), nil)
		if kv.writes != 3 {
			t.Errorf("%d writes", kv.writes)
		}
	})
}
