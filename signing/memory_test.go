package signing_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// requests makes claims that differ in nonce and signature, and of many client
// keys, without allocating.
type requests struct {
	keys []string
	keep time.Time
	text [16]byte
}

func newRequests(keys int, keep time.Time) *requests {
	r := &requests{keep: keep}
	for i := range keys {
		r.keys = append(r.keys, fmt.Sprintf("clientKey%013d", i))
	}
	return r
}

const hexDigits = "0123456789abcdef"

// use returns the nth request, the same for the same n.
func (r *requests) use(n uint64) signing.Use {
	u := signing.Use{ClientKey: r.keys[n%uint64(len(r.keys))], Keep: r.keep, Signed: r.keep, Siblings: 1, Window: 2 * time.Second}
	for i := range r.text {
		r.text[i] = hexDigits[n>>(4*(15-i))&15]
	}
	u.Nonce = string(r.text[:])
	binary.LittleEndian.PutUint64(u.Signature[:], n*0x9e3779b97f4a7c15)
	binary.LittleEndian.PutUint64(u.Signature[8:], ^n)
	return u
}

// N09: a flood of one key is refused at its share; nothing live is evicted; other
// keys are unharmed.
func TestMemoryUnderAFlood(t *testing.T) {
	const room, flood = 100_000, 1_000_000
	store := signing.NewMemory(room)
	r := newRequests(1, time.Now().Add(time.Hour))
	accepted := 0
	for n := range uint64(flood) {
		switch err := store.Claim(t.Context(), r.use(n)); {
		case err == nil:
			accepted++
		case !errors.Is(err, signing.ErrFull):
			t.Fatal(err)
		}
	}
	if accepted != room/10 {
		t.Errorf("N09 %d accepted of one key, want its tenth of %d", accepted, room)
	}
	others := newRequests(50, time.Now().Add(time.Hour))
	for n := range uint64(1000) {
		u := others.use(flood + n)
		u.ClientKey = "other" + u.ClientKey
		if err := store.Claim(t.Context(), u); err != nil {
			t.Fatalf("N09 another key: %v", err)
		}
	}
	for n := range uint64(accepted) {
		if err := store.Claim(t.Context(), r.use(n)); !errors.Is(err, signing.ErrReplayed) {
			t.Fatalf("N09 request %d was evicted: %v", n, err)
		}
	}
}

// N09: many keys together fill the store, and no further.
func TestMemoryIsBounded(t *testing.T) {
	const room, flood = 100_000, 1_000_000
	store := signing.NewMemory(room)
	r := newRequests(1000, time.Now().Add(time.Hour))
	accepted := 0
	for n := range uint64(flood) {
		if store.Claim(t.Context(), r.use(n)) == nil {
			accepted++
		}
	}
	if accepted != room || store.Len() != room {
		t.Errorf("N09 %d accepted, %d remembered, want %d", accepted, store.Len(), room)
	}
	for n := range uint64(room) {
		if err := store.Claim(t.Context(), r.use(n)); !errors.Is(err, signing.ErrReplayed) {
			t.Fatalf("N09 request %d was evicted: %v", n, err)
		}
	}
}

// What has ended makes room again, and is given back when nobody comes any more.
func TestMemoryIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := signing.NewMemory(100_000)
		store.PerKey = 100_000
		for round := range uint64(5) {
			r := newRequests(1, time.Now().Add(time.Minute))
			for n := range uint64(100_000) {
				if err := store.Claim(t.Context(), r.use(round<<32|n)); err != nil {
					t.Fatalf("round %d, request %d: %v", round, n, err)
				}
			}
			if got := store.Len(); got != 100_000 {
				t.Errorf("round %d: %d remembered", round, got)
			}
			time.Sleep(2 * time.Minute)
		}
		if got := store.Len(); got != 0 {
			t.Errorf("%d remembered after their end", got)
		}
	})
}

// The store's clock is its own. Whatever the verifier's clock says, nothing
// live is forgotten and nothing honest is refused once that clock is right.
func TestN10MemoryIgnoresStepsOfTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := signing.NewMemory(0)
		time.Sleep(time.Second)
		u := use("a", 1)
		claim(t, store, u, nil)
		for _, step := range []time.Duration{-time.Hour, time.Hour, 0} {
			again := u
			again.Seen = time.Now().Add(step)
			claim(t, store, again, signing.ErrReplayed)
			// Signed by a client that follows the server's stepped clock.
			follows := use("a", 2+int(step/time.Hour))
			follows.Signed = follows.Signed.Add(step)
			follows.Seen = follows.Seen.Add(step)
			follows.Keep = follows.Keep.Add(step)
			if step < 0 {
				claim(t, store, follows, signing.ErrStale) // what is that old may have been forgotten
				continue
			}
			claim(t, store, follows, nil)
			claim(t, store, follows, signing.ErrReplayed)
		}
		claim(t, store, use("a", 9), nil)
	})
}

func TestMemoryZeroValueWorks(t *testing.T) {
	store := new(signing.Memory)
	u := use("a", 1)
	u.Signed = time.Now()
	claim(t, store, u, nil)
	claim(t, store, u, signing.ErrReplayed)
	if store.Len() != 1 {
		t.Errorf("%d remembered", store.Len())
	}
	short := use("a", 2)
	short.Nonce = "short"
	if err := store.Claim(t.Context(), short); err == nil || errors.Is(err, signing.ErrReplayed) {
		t.Errorf("a nonce of another length: %v", err)
	}
}

// model is the contract in the plainest form: nothing is ever forgotten.
type model struct {
	nonces     map[string]time.Time // until when kept
	signatures map[string]*modelSight
}

type modelSight struct {
	first  time.Time
	keep   time.Time
	count  int
	single bool
}

// decide says what the contract says of a claim, and records nothing.
func (m *model) decide(u signing.Use, now time.Time) error {
	s := m.signatures[u.ClientKey+string(u.Signature[:])]
	switch {
	case !u.Keep.After(now):
		return signing.ErrStale
	case m.nonces[u.ClientKey+u.Nonce].After(now):
		return signing.ErrReplayed
	case s != nil && s.keep.After(now) &&
		(s.single || u.Siblings <= 1 || s.count >= u.Siblings || now.Sub(s.first) >= u.Window):
		return signing.ErrReplayed
	}
	return nil
}

func (m *model) record(u signing.Use, now time.Time) {
	m.nonces[u.ClientKey+u.Nonce] = u.Keep
	signature := u.ClientKey + string(u.Signature[:])
	s := m.signatures[signature]
	if s == nil || !s.keep.After(now) {
		s = &modelSight{first: now, single: u.Siblings <= 1}
		m.signatures[signature] = s
	}
	s.count++
	if u.Keep.After(s.keep) {
		s.keep = u.Keep
	}
}

// Random claims: the store accepts nothing that the model refuses. It may refuse
// what the model has just forgotten, since it remembers for up to 18 s more.
func TestMemoryAgreesWithItsModel(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			store := signing.NewMemory(0)
			m := &model{nonces: map[string]time.Time{}, signatures: map[string]*modelSight{}}
			passed, stricter := 0, 0
			for range 20_000 {
				time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
				now := time.Now()
				u := signing.Use{
					ClientKey: fmt.Sprintf("key%d", random.IntN(3)),
					Nonce:     fmt.Sprintf("%016d", random.IntN(400)),
					Signature: sha256.Sum256([]byte{byte(random.IntN(200))}),
					Signed:    now,
					Seen:      now,
					Keep:      now.Add(time.Duration(random.IntN(120)) * time.Second),
					Siblings:  []int{1, 3, 8}[random.IntN(3)],
					Window:    2 * time.Second,
				}
				got := store.Claim(t.Context(), u)
				want := m.decide(u, now)
				switch {
				case got == nil && want != nil:
					t.Fatalf("seed %d: accepted what the model refuses: %+v", seed, u)
				case got != nil && want == nil:
					stricter++ // remembered longer than asked: the model follows
				default:
					if got == nil {
						passed++
						m.record(u, now)
					}
				}
			}
			if passed < 1000 || stricter > passed/2 {
				t.Errorf("seed %d: %d passed, %d refused beyond the model", seed, passed, stricter)
			}
		})
	}
}

func TestMemoryClaimsWithoutAllocating(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	store := signing.NewMemory(0)
	store.PerKey = 1_000_000
	r := newRequests(1, time.Now().Add(time.Hour))
	uses := make([]signing.Use, 40_000)
	for n := range uses {
		uses[n] = r.use(uint64(n))
	}
	for _, u := range uses[:20_000] { // the tables grow first
		claim(t, store, u, nil)
	}
	n := 20_000
	// Growing is seldom; a claim in itself costs nothing.
	got := testing.AllocsPerRun(10_000, func() {
		if store.Claim(context.Background(), uses[n]) != nil {
			t.Fatal("refused")
		}
		n++
	})
	if got >= 1 {
		t.Errorf("%v allocations per claim", got)
	}
}

// filled is a store with so many live requests of a thousand keys.
func filled(b testing.TB, live uint64) (*signing.Memory, *requests) {
	b.Helper()
	store := signing.NewMemory(int(live) * 2)
	r := newRequests(1000, time.Now().Add(time.Hour))
	for n := range live {
		if err := store.Claim(context.Background(), r.use(n)); err != nil {
			b.Fatal(err)
		}
	}
	return store, r
}

// A claim with a million requests live, in the long run: as many end as come.
// What they take, and what a collection costs beside them.
func BenchmarkMemory(b *testing.B) {
	const live = 1_000_000
	const apart = 300 * time.Microsecond // so that a million are live in 5 minutes
	before := heap()
	store := signing.NewMemory(2 * live)
	start := time.Now()
	r := newRequests(1000, time.Time{})
	next := uint64(0)
	// The requests come in batches: making them is not what is measured.
	batch := make([]signing.Use, 1000)
	renew := func() {
		for i := range batch {
			r.keep = start.Add(time.Duration(next)*apart + 5*time.Minute)
			batch[i] = r.use(next)
			next++
		}
	}
	step := func(u signing.Use) {
		store.Elapse(apart)
		if err := store.Claim(context.Background(), u); err != nil {
			b.Fatal(err)
		}
	}
	for next < 3*live {
		renew()
		for _, u := range batch {
			step(u)
		}
	}
	bytes := float64(heap()-before) / float64(store.Len())

	b.Run("Claim", func(b *testing.B) {
		i := len(batch)
		b.ReportAllocs()
		for b.Loop() {
			if i == len(batch) {
				b.StopTimer()
				renew()
				i = 0
				b.StartTimer()
			}
			step(batch[i])
			i++
		}
		b.ReportMetric(bytes, "B/live")
	})
	b.Run("GC", func(b *testing.B) {
		for b.Loop() {
			runtime.GC()
		}
	})
	runtime.KeepAlive(store)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Ten million live requests, each of them known and no other: half a minute and
// 600 MB, so only when MEMORY_10M is set.
func TestMemoryIsExactAtTenMillion(t *testing.T) {
	if os.Getenv("MEMORY_10M") == "" {
		t.Skip("set MEMORY_10M=1 to run it")
	}
	const live = 10_000_000
	store, r := filled(t, live)
	for n := range uint64(live) {
		if err := store.Claim(t.Context(), r.use(n)); !errors.Is(err, signing.ErrReplayed) {
			t.Fatalf("request %d was forgotten: %v", n, err)
		}
	}
	for n := range uint64(1_000_000) {
		if err := store.Claim(t.Context(), r.use(live+n)); err != nil {
			t.Fatalf("request %d was taken for another: %v", live+n, err)
		}
	}
}
