package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/jellydator/ttlcache/v3"
	"github.com/maypok86/otter/v2"

	"github.com/tenantkit/tenantkit/signing"
)

// live is a million for the figures that are quoted.
var live = flag.Int("live", 1_000_000, "claims that a replay store holds before it is timed")

const keep = 10 * time.Minute

// claims is a store of accepted requests, by what they are known.
type claims interface {
	claim(u signing.Use) error

	// end lets go of what a goroutine of the store would keep alive: the next
	// store's garbage collections would pay for it.
	end()
}

type store struct {
	name string
	make func(requests int) claims
}

// stores makes one of each, for so many requests.
var stores = []store{
	{ours, newOurs},
	{"otter", newOtter},
	{"ttlcache", newTTL},
	{"golang-lru expirable", newLRU},
}

func TestReplay(t *testing.T) {
	contenders := []contender{{name: "cache misses", good: func() error { return nil }}}
	for _, s := range stores {
		contenders = append(contenders, claimant(s.name, s.make))
	}
	check(t, "Replay", contenders)
}

// claimant gets a new request each time, and refuses those that are not.
func claimant(name string, stored func(int) claims) contender {
	s, i := stored(1000), 0
	next := func() error {
		i++
		return s.claim(use(uint64(i)))
	}
	return contender{name: name, good: next, bad: map[string]func() error{
		"the same request": func() error { return s.claim(use(1)) },
		"the nonce under another signature": func() error {
			u := use(2)
			u.Signature[0]++
			return s.claim(u)
		},
		"the signature with another nonce": func() error {
			u := use(3)
			u.Nonce = use(1 << 20).Nonce
			return s.claim(u)
		},
		"an accepted one once the store is full": func() error { return overfilled(stored(1000)) },
	}}
}

// overfilled claims five times as many as there is room for, and then again
// what was accepted. It returns nil if any of that is accepted again.
func overfilled(s claims) error {
	var accepted []signing.Use
	for i := range uint64(5000) {
		if u := use(i); s.claim(u) == nil {
			accepted = append(accepted, u)
		}
	}
	time.Sleep(100 * time.Millisecond) // some make room in the background
	for _, u := range accepted {
		if s.claim(u) == nil {
			return nil
		}
	}
	return errRefused
}

var useKeys = func() (keys [1000]string) {
	for i := range keys {
		keys[i] = fmt.Sprintf("benchClientKey%08d", i)
	}
	return keys
}()

var useNonces = func() string {
	var all []byte
	for i := range 1 << 16 {
		all = fmt.Appendf(all, "%016x", i)
	}
	return string(all)
}()

var (
	// useStart is after any store of the run was made, which refuses what was
	// signed before, however slow the machine is.
	useStart = time.Now().Add(time.Hour)
	useEnd   = useStart.Add(keep)
)

// use is request i. The first 65 million differ in key or nonce, and all in
// signature. Making it costs no memory.
func use(i uint64) signing.Use {
	nonce := i % (1 << 16) * 16
	u := signing.Use{
		ClientKey: useKeys[(i+i>>16)%uint64(len(useKeys))],
		Nonce:     useNonces[nonce : nonce+16],
		Signed:    useStart, Seen: useStart, Keep: useEnd,
		Siblings: 1,
	}
	binary.LittleEndian.PutUint64(u.Signature[:], i*0x9e3779b97f4a7c15)
	return u
}

// BenchmarkReplay fills each store beforehand, and goes on with requests that
// are new to it. B/request and the time of a full garbage collection are of the
// store as it is filled.
func BenchmarkReplay(b *testing.B) {
	b.Run("cache misses", cacheMisses)
	for _, s := range thereAndBack(stores) {
		b.Run(s.name, func(b *testing.B) { benchmarkStore(b, s.make) })
	}
	b.Run("cache misses", cacheMisses)
}

func cacheMisses(b *testing.B) {
	memory := make([]uint64, *live*55/8)
	for i := range memory {
		memory[i] = uint64(i)
	}
	x, sum := uint64(1), uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		for range 2 {
			x = x*6364136223846793005 + 1442695040888963407
			sum = memory[(x>>20+sum)%uint64(len(memory))]
		}
	}
}

// benchmarkStore claims from -live requests on, until there are twice as many;
// then it goes on with a new store.
func benchmarkStore(b *testing.B, stored func(int) claims) {
	most := 2 * *live
	var s claims
	next := 0
	claim := func() {
		if err := s.claim(use(uint64(next))); err != nil {
			b.Fatalf("request %d: %v", next, err)
		}
		next++
	}
	fill := func() {
		if s != nil {
			s.end()
		}
		s, next = stored(most), 0
		for next < *live {
			claim()
		}
	}
	before := heap()
	fill()
	perRequest, gc := float64(heap()-before)/float64(next), collection()

	b.ReportAllocs()
	for b.Loop() {
		if next == most {
			b.StopTimer()
			fill()
			b.StartTimer()
		}
		claim()
	}
	b.ReportMetric(perRequest, unitRequest)
	b.ReportMetric(gc, unitGC)
	s.end()
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// collection is the shortest of a few full garbage collections, in ns.
func collection() float64 {
	shortest := time.Hour
	for range 3 {
		start := time.Now()
		runtime.GC()
		shortest = min(shortest, time.Since(start))
	}
	return float64(shortest.Nanoseconds())
}

type ourClaims struct{ *signing.Memory }

func newOurs(requests int) claims { return ourClaims{signing.NewMemory(requests)} }

func (c ourClaims) claim(u signing.Use) error { return c.Claim(context.Background(), u) }
func (c ourClaims) end()                      {}

// nonceKey and signatureKey are by what the caches know a request.
type (
	nonceKey     struct{ clientKey, nonce string }
	signatureKey [32]byte
)

type otterClaims struct {
	nonces     *otter.Cache[nonceKey, struct{}]
	signatures *otter.Cache[signatureKey, struct{}]
}

func newOtter(requests int) claims {
	return otterClaims{
		otter.Must(&otter.Options[nonceKey, struct{}]{MaximumSize: requests,
			ExpiryCalculator: otter.ExpiryWriting[nonceKey, struct{}](keep)}),
		otter.Must(&otter.Options[signatureKey, struct{}]{MaximumSize: requests,
			ExpiryCalculator: otter.ExpiryWriting[signatureKey, struct{}](keep)}),
	}
}

func (c otterClaims) claim(u signing.Use) error {
	if _, fresh := c.nonces.SetIfAbsent(nonceKey{u.ClientKey, u.Nonce}, struct{}{}); !fresh {
		return errRefused
	}
	if _, fresh := c.signatures.SetIfAbsent(u.Signature, struct{}{}); !fresh {
		return errRefused
	}
	return nil
}

func (c otterClaims) end() {
	c.nonces.InvalidateAll()
	c.signatures.InvalidateAll()
	c.nonces.StopAllGoroutines()
	c.signatures.StopAllGoroutines()
}

type ttlClaims struct {
	nonces     *ttlcache.Cache[nonceKey, struct{}]
	signatures *ttlcache.Cache[signatureKey, struct{}]
}

func newTTL(requests int) claims {
	return ttlClaims{
		ttlcache.New(ttlcache.WithTTL[nonceKey, struct{}](keep),
			ttlcache.WithCapacity[nonceKey, struct{}](uint64(requests)),
			ttlcache.WithDisableTouchOnHit[nonceKey, struct{}]()),
		ttlcache.New(ttlcache.WithTTL[signatureKey, struct{}](keep),
			ttlcache.WithCapacity[signatureKey, struct{}](uint64(requests)),
			ttlcache.WithDisableTouchOnHit[signatureKey, struct{}]()),
	}
}

func (c ttlClaims) claim(u signing.Use) error {
	if _, seen := c.nonces.GetOrSet(nonceKey{u.ClientKey, u.Nonce}, struct{}{}); seen {
		return errRefused
	}
	if _, seen := c.signatures.GetOrSet(u.Signature, struct{}{}); seen {
		return errRefused
	}
	return nil
}

func (c ttlClaims) end() {}

type lruClaims struct {
	nonces     *expirable.LRU[nonceKey, struct{}]
	signatures *expirable.LRU[signatureKey, struct{}]
}

func newLRU(requests int) claims {
	return lruClaims{
		expirable.NewLRU[nonceKey, struct{}](requests, nil, keep),
		expirable.NewLRU[signatureKey, struct{}](requests, nil, keep),
	}
}

func (c lruClaims) claim(u signing.Use) error {
	nonce := nonceKey{u.ClientKey, u.Nonce}
	if c.nonces.Contains(nonce) || c.signatures.Contains(u.Signature) {
		return errRefused
	}
	c.nonces.Add(nonce, struct{}{})
	c.signatures.Add(u.Signature, struct{}{})
	return nil
}

func (c lruClaims) end() {
	c.nonces.Purge()
	c.signatures.Purge()
}
