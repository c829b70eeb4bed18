package signing_test

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

// tick is the unit to which Memory rounds up the end of a claim.
const tick = 1 << 34 * time.Nanosecond

// live makes TestMemoryIsExact larger:
//
//	go test ./signing -run TestMemoryIsExact -live 10000000 -v
var live = flag.Int("live", 100_000, "live claims in TestMemoryIsExact")

// tally counts what claims returned.
type tally struct{ accepted, replayed, stale, full int }

// claims claims n requests, starting with number first, and counts the results.
func claims(t *testing.T, store signing.Replays, clientKey string, first, n int) (got tally) {
	t.Helper()
	signed := time.Now()
	for i := range n {
		switch err := store.Claim(t.Context(), signedAt(signed, clientKey, uint64(first+i))); {
		case err == nil:
			got.accepted++
		case errors.Is(err, signing.ErrReplayed):
			got.replayed++
		case errors.Is(err, signing.ErrStale):
			got.stale++
		case errors.Is(err, signing.ErrFull):
			got.full++
		default:
			t.Fatalf("request %d of %q: %v", first+i, clientKey, err)
		}
	}
	return got
}

func expect(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	requests, flood := 100_000, 1_000_000
	if raceEnabled {
		requests, flood = requests/20, flood/20
	}
	share := requests / 10

	t.Run("N09 one client key floods", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(requests)
			expect(t, "the flood", tally{accepted: share, full: flood - share}, claims(t, store, "flood", 0, flood))
			expect(t, "Len", share, store.Len())
			for i := range 9 {
				key := fmt.Sprint("other ", i)
				expect(t, key, tally{accepted: share}, claims(t, store, key, 0, share))
			}
			expect(t, "Len", requests, store.Len())
			expect(t, "one more key", tally{full: 10}, claims(t, store, "late", 0, 10))

			expect(t, "the flood's claims", tally{replayed: share}, claims(t, store, "flood", 0, share))
			for i := range 9 {
				key := fmt.Sprint("other ", i)
				expect(t, key+"'s claims", tally{replayed: share}, claims(t, store, key, 0, share))
			}
		})
	})
	t.Run("N09 many client keys flood", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(requests)
			const keys = 500
			var got, again tally
			for i := range keys {
				n := claims(t, store, fmt.Sprint("key ", i), 0, flood/keys)
				got.accepted += n.accepted
				got.full += n.full
			}
			expect(t, "the flood", tally{accepted: requests, full: flood - requests}, got)
			for i := range keys {
				n := claims(t, store, fmt.Sprint("key ", i), 0, flood/keys)
				again.replayed += n.replayed
				again.full += n.full
			}
			expect(t, "the flood again", tally{replayed: requests, full: flood - requests}, again)
		})
	})
	t.Run("room comes back as claims end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(1000)
			for round := range 20 {
				for i := range 11 {
					key := fmt.Sprint("key ", i)
					want := tally{accepted: 100, full: 100}
					if i == 10 {
						want = tally{full: 200}
					}
					expect(t, fmt.Sprint("round ", round, ", ", key), want, claims(t, store, key, 200*round, 200))
				}
				time.Sleep(tolerance + tick)
				expect(t, "Len", 0, store.Len())
			}
		})
	})
	t.Run("refused claims take no room", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(1000)
			u := useOf("key", 1)
			claim(t, store, "a request", u, nil)
			for i := range uint64(10_000) {
				u.Nonce = useOf("key", i+2).Nonce
				claim(t, store, "its signature under a fresh nonce", u, signing.ErrReplayed)
			}
			expect(t, "Len", 1, store.Len())
			v := useOf("key", 5000)
			v.Signature[0] = 1
			claim(t, store, "an honest request with one of the nonces", v, nil)
		})
	})
	for _, c := range []struct {
		requests, perKey, want int
	}{
		{10, 0, 1}, {9, 0, 1}, {1, 0, 1}, {50, 0, 5}, {50, -1, 5}, {50, 7, 7}, {50, 50, 50}, {50, math.MaxInt, 50},
	} {
		t.Run(fmt.Sprintf("%d requests, %d for each key", c.requests, c.perKey), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := signing.NewMemory(c.requests)
				store.PerKey = c.perKey
				expect(t, "claims", tally{accepted: c.want, full: 100 - c.want}, claims(t, store, "key", 0, 100))
			})
		})
	}
	t.Run("a million requests if not said otherwise", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.Memory{PerKey: 1_000_000}
			if raceEnabled {
				t.Skip("takes long")
			}
			expect(t, "claims", tally{accepted: 1_000_000, full: 1}, claims(t, &store, "key", 0, 1_000_001))
		})
	})
}

func TestMemoryBoundIsExactForManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := signing.NewMemory(1000)
		for round := range 3 {
			got := make([]tally, 16)
			var wg sync.WaitGroup
			for i := range got {
				wg.Go(func() {
					for key := range 5 {
						n := claims(t, store, fmt.Sprint("key ", i, " ", key), 1000*round, 30)
						got[i].accepted += n.accepted
						got[i].full += n.full
					}
				})
			}
			wg.Wait()
			var all tally
			for _, n := range got {
				all.accepted += n.accepted
				all.full += n.full
			}
			expect(t, fmt.Sprint("claims, round ", round), tally{accepted: 1000, full: 1400}, all)
			expect(t, "Len", 1000, store.Len())
			time.Sleep(tolerance + tick)
		}
		expect(t, "Len, in the end", 0, store.Len())
	})
}

func TestMemoryRefusalsLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := signing.NewMemory(64)
		store.PerKey = 8
		for i := range 8 {
			expect(t, "claims", tally{accepted: 8, full: 1}, claims(t, store, fmt.Sprint("key ", i), 0, 9))
		}
		entries, used := store.Entries(), useOf("key 0", 0)
		for i := range uint64(1000) {
			claim(t, store, "by a key that is full", useOf("key 1", 100+i), signing.ErrFull)
			claim(t, store, "by a new key", useOf(fmt.Sprint("new key ", i), 1), signing.ErrFull)
			u := useOf("key 0", 100+i)
			u.Signature = used.Signature
			claim(t, store, "a signature again", u, signing.ErrReplayed)
			u = useOf("key 0", 100+i)
			u.Nonce = used.Nonce
			claim(t, store, "a nonce again", u, signing.ErrReplayed)
			u = useOf("key 0", 100+i)
			u.Keep = time.Now()
			claim(t, store, "past its retention", u, signing.ErrStale)
		}
		expect(t, "entries", entries, store.Entries())
		expect(t, "Len", 64, store.Len())
		time.Sleep(tolerance + tick)
		expect(t, "what was refused, once there is room", tally{accepted: 8, full: 92}, claims(t, store, "key 1", 100, 100))
	})
}

func TestMemoryClock(t *testing.T) {
	t.Run("N10 it ignores what the verifier's clock says", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(0)
			for i, seen := range []time.Time{
				{}, time.Now().Add(-time.Hour), time.Now().Add(time.Hour), time.Unix(1<<40, 0), time.Unix(-1<<40, 0),
			} {
				u := siblingOf(useOf("key", uint64(i)), uint64(i))
				u.Seen = seen
				claim(t, store, fmt.Sprint("first, seen ", seen), u, nil)
				claim(t, store, fmt.Sprint("replay, seen ", seen), u, signing.ErrReplayed)
				u.Nonce = fmt.Sprintf("other%011x", i)
				claim(t, store, fmt.Sprint("sibling, seen ", seen), u, nil)
			}
		})
	})
	t.Run("N10 the wall clock steps back 1 h", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(0)
			time.Sleep(time.Minute)
			u := useOf("key", 1)
			claim(t, store, "a request", u, nil)

			time.Sleep(time.Hour)
			u.Seen = u.Signed // by the stepped clock
			claim(t, store, "its replay, back in the window", u, signing.ErrStale)

			claim(t, store, "a request, with the clock right again", useOf("key", 2), nil)
		})
	})
	t.Run("N10 the wall clock steps forward 1 h, and back", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(0)
			u := signedAt(time.Now().Add(time.Hour), "key", 1)
			u.Seen = u.Signed
			claim(t, store, "a request signed an hour ahead", u, nil)

			claim(t, store, "a request, with the clock right again", useOf("key", 2), nil)
			for range 6 {
				claim(t, store, "the first one's replay", u, signing.ErrReplayed)
				time.Sleep(12 * time.Minute)
			}
			claim(t, store, "past its retention", u, signing.ErrStale)
		})
	})
	t.Run("readings of a monotonic clock in a Use are not used", func(t *testing.T) {
		store := signing.NewMemory(0)
		u := useOf("key", 1)
		u.Signed, u.Keep = time.Now(), time.Now().Add(time.Minute)
		claim(t, store, "a request", u, nil)
		claim(t, store, "its replay", u, signing.ErrReplayed)
	})
	t.Run("N12 the zero Memory begins with its first claim", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var store signing.Memory
			u := useOf("key", 1)
			time.Sleep(10 * time.Millisecond)
			claim(t, &store, "the first claim", u, signing.ErrStale)
			claim(t, &store, "signed since", useOf("key", 2), nil)
			claim(t, new(signing.Memory), "the same, to another store", u, signing.ErrStale)
		})
	})
}

func TestMemoryFarFuture(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine: .ci/run core runs it")
	}
	keeps := map[string]time.Duration{
		"an hour": time.Hour, "a day": 24 * time.Hour, "a year": 365 * 24 * time.Hour, "a century": 100 * 365 * 24 * time.Hour,
	}
	for name, keep := range keeps {
		t.Run("remembered for "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := signing.NewMemory(200)
				far := useOf("far", 1)
				far.Keep = time.Now().Add(keep)
				claim(t, store, "kept long", far, nil)
				expect(t, "more of its key", tally{accepted: 19, full: 5}, claims(t, store, "far", 2, 24))

				time.Sleep(tolerance + tick)
				expect(t, "Len, when only it is left", 1, store.Len())
				for i := range 9 {
					expect(t, "another key", tally{accepted: 20}, claims(t, store, fmt.Sprint("key ", i), 0, 20))
				}

				time.Sleep(time.Until(far.Keep) - 1)
				claim(t, store, "replay", far, signing.ErrReplayed)
				time.Sleep(tick)
				expect(t, "Len, in the end", 0, store.Len())
				for i := range 3 {
					expect(t, "its key, in the end", tally{accepted: 20, full: 5}, claims(t, store, "far", 100*i+100, 25))
					time.Sleep(tolerance + tick)
				}
			})
		})
	}
	t.Run("remembered for ever", func(t *testing.T) {
		for _, keep := range []time.Time{
			time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), time.Unix(1<<60, 0), time.Unix(1<<62, 999),
		} {
			synctest.Test(t, func(t *testing.T) {
				store := signing.NewMemory(0)
				u := useOf("key", 1)
				u.Keep = keep
				claim(t, store, "kept", u, nil)
				for range 200 {
					time.Sleep(365 * 24 * time.Hour)
					claim(t, store, "replay", u, signing.ErrReplayed)
				}
			})
		}
	})
	t.Run("a key counts as much as it has", func(t *testing.T) {
		for seed := range uint64(10) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 0))
				store := signing.NewMemory(200) // 20 of each key
				var ends []time.Time
				remembered := func(at time.Time) (n int) {
					for _, end := range ends {
						if end.After(at) {
							n++
						}
					}
					return n
				}
				for i := range uint64(2000) {
					time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
					u := useOf("key", i)
					keep := time.Duration(random.Int64N(int64(12 * time.Minute)))
					if seed%2 == 0 {
						keep = time.Duration(random.ExpFloat64() * float64(time.Hour))
					}
					u.Keep = time.Now().Add(keep)
					err := store.Claim(t.Context(), u)
					if n := remembered(time.Now()); err == nil && n >= 20 {
						t.Fatalf("seed %d: accepted beside %d", seed, n)
					}
					if n := remembered(time.Now().Add(-tick)); err != nil && n < 20 {
						t.Fatalf("seed %d: %v, beside %d", seed, err, n)
					}
					if err == nil {
						ends = append(ends, u.Keep)
					}
				}
			})
		}
	})
}

func TestMemorySiblings(t *testing.T) {
	t.Run("255 at most", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(10_000)
			request := useOf("key", 1)
			got := 0
			for i := range uint64(1000) {
				u := siblingOf(request, i)
				u.Siblings = 1000
				if store.Claim(t.Context(), u) == nil {
					got++
				}
			}
			expect(t, "accepted", 255, got)
		})
	})
	t.Run("none for what is remembered for two hours", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(0)
			u := siblingOf(useOf("key", 1), 1)
			u.Keep = time.Now().Add(2 * time.Hour)
			claim(t, store, "first", u, nil)
			u.Nonce = "another000000000"
			claim(t, store, "second", u, signing.ErrReplayed)
		})
	})
	t.Run("none after two hours, however long the window", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(0)
			request := useOf("key", 1)
			for i, want := range []error{nil, nil, signing.ErrReplayed} {
				u := siblingOf(request, uint64(i))
				u.Window, u.Siblings = 1000*time.Hour, 100
				u.Keep = time.Now().Add(2*time.Hour - 1)
				claim(t, store, fmt.Sprint("after ", i, " hours"), u, want)
				time.Sleep(time.Hour)
			}
		})
	})
}

func TestMemoryGivesMemoryBack(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine: .ci/run core runs it")
	}
	t.Run("an idle store is small", func(t *testing.T) {
		store := signing.NewMemory(10_000_000)
		claim(t, store, "one request", useOf("key", 1), nil)
		if got := store.Entries(); got > 100 {
			t.Errorf("room for %d entries", got)
		}
	})
	t.Run("to where all claims of a shard have ended", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(100_000)
			for i := range 10 {
				expect(t, "flood", tally{accepted: 10_000}, claims(t, store, fmt.Sprint("key ", i), 0, 10_000))
			}
			if got := store.Entries(); got < 200_000 || got > 300_000 {
				t.Errorf("room for %d entries with 100,000 requests", got)
			}
			time.Sleep(tolerance + tick)
			claim(t, store, "one request", useOf("key 1", 1), nil)
			if got := store.Entries(); got > 100 {
				t.Errorf("room for %d entries with one request", got)
			}
		})
	})
	t.Run("where a few claims are left", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := signing.NewMemory(10_000)
			for round := range 30 { // each shard is flooded at some time, and never idle
				for i := range 300 {
					expect(t, "trickle", tally{accepted: 1}, claims(t, store, fmt.Sprint("honest ", i), round, 1))
				}
				for i := range 9 {
					key := fmt.Sprint("flood ", 9*round+i)
					expect(t, key, tally{accepted: 1000}, claims(t, store, key, 0, 1000))
				}
				time.Sleep(tolerance - tick)
				for i := range 300 {
					expect(t, "trickle", tally{accepted: 1}, claims(t, store, fmt.Sprint("honest ", i), 1000+round, 1))
				}
				time.Sleep(3 * tick)
			}
			if got := store.Entries(); got > 60_000 {
				t.Errorf("room for %d entries with 9,600 requests at once", got)
			}
		})
	})
}

func TestMemoryDoesNotGrowInUse(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine: .ci/run core runs it")
	}
	synctest.Test(t, func(t *testing.T) {
		store := signing.NewMemory(20_000)
		most := 0
		for i := range 100_000 {
			time.Sleep(30 * time.Millisecond) // 10,000 live, and as many that expire
			u := useOf(fmt.Sprint("key ", i%20), uint64(i))
			claim(t, store, "a request", u, nil)
			if i > 30_000 {
				most = max(most, store.Entries())
			}
		}
		if most > 32_000 {
			t.Errorf("room for %d entries, with about 10,300 requests at once", most)
		}
	})
}

func TestMemoryClaimDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	store := signing.NewMemory(0)
	uses := make([]signing.Use, 50_000)
	for i := range uses {
		uses[i] = useOf(fmt.Sprint("client key of 22 chars ", i%50), uint64(i))
	}
	ctx := t.Context()
	next := 0
	claimNext := func() {
		if err := store.Claim(ctx, uses[next]); err != nil {
			t.Fatal(err)
		}
		next++
	}
	for range 40_000 {
		claimNext()
	}
	if n := testing.AllocsPerRun(9_000, claimNext); n != 0 {
		t.Errorf("%v allocations for an accepted claim", n)
	}
	replay := uses[0]
	if n := testing.AllocsPerRun(1000, func() {
		if err := store.Claim(ctx, replay); err != signing.ErrReplayed {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a refused claim", n)
	}
}

func TestMemoryIsExact(t *testing.T) {
	n := *live
	if raceEnabled {
		n = min(n, 20_000)
	}
	const keys = 64
	more := n/10 + 1
	store := signing.NewMemory(n + more)
	store.PerKey = n + more
	signed := time.Now()
	use := func(i int) signing.Use {
		u := signedAt(signed, fmt.Sprint("client key of 22 chars ", i%keys), uint64(i))
		u.Keep = signed.Add(time.Hour)
		return u
	}
	for i := range n {
		if err := store.Claim(t.Context(), use(i)); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	for i := n; i < n+more; i++ {
		if err := store.Claim(t.Context(), use(i)); err != nil {
			t.Fatalf("request %d, taken for another: %v", i, err)
		}
	}
	claim(t, store, "one more", use(n+more), signing.ErrFull)
	for i := range n + more {
		if err := store.Claim(t.Context(), use(i)); !errors.Is(err, signing.ErrReplayed) {
			t.Fatalf("request %d again: %v", i, err)
		}
		other := use(i)
		other.Signature[0] = 1
		if err := store.Claim(t.Context(), other); !errors.Is(err, signing.ErrReplayed) {
			t.Fatalf("nonce of request %d again: %v", i, err)
		}
	}
}

func TestMemoryConcurrentlyWhileTimePasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := signing.NewMemory(1000) // small, so that many requests expire and make room
		store.PerKey = 1000
		const requests, rivals = 4000, 4
		var passed [requests]atomic.Int64
		var wg sync.WaitGroup
		for i := range requests {
			signed := time.Now().Add(time.Duration(i) * time.Second)
			u := signedAt(signed, fmt.Sprint("key ", i%7), uint64(i))
			for r := range rivals {
				wg.Go(func() {
					random := rand.New(rand.NewPCG(uint64(i), uint64(r)))
					time.Sleep(time.Until(signed))
					for time.Now().Before(u.Keep.Add(time.Minute)) {
						switch err := store.Claim(t.Context(), u); {
						case err == nil:
							passed[i].Add(1)
						case !errors.Is(err, signing.ErrReplayed) && !errors.Is(err, signing.ErrStale):
							t.Errorf("request %d: %v", i, err)
						}
						time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
					}
				})
			}
		}
		wg.Wait()
		for i := range passed {
			if n := passed[i].Load(); n != 1 {
				t.Errorf("request %d was accepted %d times", i, n)
			}
		}
	})
}
