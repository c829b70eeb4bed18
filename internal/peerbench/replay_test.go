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

// live is a million for quoted figures.
var live = flag.Int("live", 1_000_000, "claims that a replay store grows to while it is timed")

const keep = 10 * time.Minute

// claims is a store of accepted requests, by their key in the store.
type claims interface {
	claim(u signing.Use) error

	// end releases what a goroutine of the store would keep alive. Otherwise the next
	// store's garbage collections would pay for it.
	end()
}

type store struct {
	name string
	make func(requests int) claims
}

// stores returns a function for each peer that makes its store, with room for n
// requests.
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

// claimant claims a new request each time. It must refuse the requests that are not
// new.
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

// overfilled claims five times as many requests as there is room for. Then it claims
// the accepted ones again, and returns nil if one of them is accepted.
func overfilled(s claims) error {
	var accepted []signing.Use
	for i := range uint64(5000) {
		if u := use(i); s.claim(u) == nil {
			accepted = append(accepted, u)
		}
	}
	time.Sleep(100 * time.Millisecond) // some stores make room in the background
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
	// useStart is later than the start of every store of the run. A store refuses
	// requests signed before it was made, however slow the machine is.
	useStart = time.Now().Add(time.Hour)
	useEnd   = useStart.Add(keep)
)

// use returns request i. The first 65 million differ in key or nonce, and all in
// signature. Making a request allocates no memory.
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

// BenchmarkReplay times the second half of -live claims, each of a request that is new
// to the store. A store that grows in steps grows exactly once while it doubles, so its
// cost is counted in full. B/request and the time of a full garbage collection are of
// the grown store.
func BenchmarkReplay(b *testing.B) {
	b.Run("cache misses", cacheMisses)
	for _, s := range thereAndBack(stores) {
		b.Run(s.name, func(b *testing.B) { benchmarkStore(b, s.make) })
	}
	b.Run("cache misses", cacheMisses)
}

// misses records nothing. It reads twice from its memory: the second address comes from
// the first read.
type misses struct {
	memory []uint64
	x, sum uint64
}

func newMisses(bytes int) claims {
	m := &misses{memory: make([]uint64, bytes/8), x: 1}
	for i := range m.memory {
		m.memory[i] = uint64(i)
	}
	return m
}

func (m *misses) claim(signing.Use) error {
	for range 2 {
		m.x = m.x*6364136223846793005 + 1442695040888963407
		m.sum = m.memory[(m.x>>20+m.sum)%uint64(len(m.memory))]
	}
	return nil
}

func (*misses) end() {}

// cacheMisses makes its requests in the same way as the stores' requests are made.
func cacheMisses(b *testing.B) {
	c := claimer{b: b, claims: newMisses(*live * 41)}
	b.ReportAllocs()
	for b.Loop() {
		c.next()
	}
}

// claimer claims one new request after the other.
type claimer struct {
	claims
	b *testing.B
	n int
}

func (c *claimer) next() {
	if err := c.claim(use(uint64(c.n))); err != nil {
		c.b.Fatalf("request %d: %v", c.n, err)
	}
	c.n++
}

func (c *claimer) fill(n int) {
	for c.n < n {
		c.next()
	}
}

// benchmarkStore continues with a new store if b asks for more than the second half of
// the claims.
func benchmarkStore(b *testing.B, stored func(int) claims) {
	half := func() *claimer {
		c := &claimer{b: b, claims: stored(2 * *live)}
		c.fill(*live / 2)
		return c
	}
	before := heap()
	c := half()

	b.ReportAllocs()
	for b.Loop() {
		if c.n == *live {
			b.StopTimer()
			c.end()
			c = half()
			b.StartTimer()
		}
		c.next()
	}
	c.fill(*live)
	b.ReportMetric(float64(heap()-before)/float64(c.n), unitRequest)
	b.ReportMetric(collection(), unitGC)
	c.end()
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// collection returns the shortest time of a few full garbage collections, in ns.
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

// nonceKey and signatureKey return the keys of a request in the caches.
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
