package signing_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

const (
	benchLive      = 1_000_000
	benchRetention = 5 * time.Minute
	benchPause     = benchRetention / benchLive
	benchBatch     = 1000
	benchRound     = 100_000
)

// benchMemory is a Memory in steady use. With every batch of claims, time passes so
// that as many requests expire.
type benchMemory struct {
	*signing.Memory
	now  time.Time
	next uint64
}

var (
	benchKeys = func() (keys [1000]string) {
		for i := range keys {
			keys[i] = fmt.Sprintf("benchClientKey%08d", i)
		}
		return keys
	}()
	benchNonces = func() string {
		var b strings.Builder
		for i := range 1 << 16 {
			fmt.Fprintf(&b, "%016x", i)
		}
		return b.String()
	}()
)

// benchUse returns request i. The first 65 million differ in key or nonce.
func benchUse(i uint64, now time.Time) signing.Use {
	nonce := i % (1 << 16) * 16
	u := signing.Use{
		ClientKey: benchKeys[(i+i>>16)%uint64(len(benchKeys))],
		Nonce:     benchNonces[nonce : nonce+16],
		Signed:    now,
		Seen:      now,
		Keep:      now.Add(benchRetention),
		Siblings:  8,
		Window:    2 * time.Second,
	}
	binary.LittleEndian.PutUint64(u.Signature[:], i*0x9e3779b97f4a7c15)
	return u
}

func newBenchMemory() *benchMemory {
	return &benchMemory{Memory: signing.NewMemory(2 * benchLive), now: time.Now()}
}

// batch lets the time of n claims pass, and returns the numbers of the requests to
// claim now.
func (m *benchMemory) batch(claims uint64) (first, end uint64) {
	m.Elapse(time.Duration(claims) * benchPause)
	m.now = m.now.Add(time.Duration(claims) * benchPause)
	m.next += claims
	return m.next - claims, m.next
}

func (m *benchMemory) claim(ctx context.Context, first, end uint64) error {
	for i := first; i < end; i++ {
		if err := m.Claim(ctx, benchUse(i, m.now)); err != nil {
			return err
		}
	}
	return nil
}

func (m *benchMemory) claimBatch(ctx context.Context) error {
	first, end := m.batch(benchBatch)
	return m.claim(ctx, first, end)
}

// claimTogether lets time pass once, and then divides a round of claims among the
// processors. They share only the store.
func (m *benchMemory) claimTogether(ctx context.Context) error {
	first, _ := m.batch(benchRound)
	shares := uint64(runtime.GOMAXPROCS(0))
	errs := make([]error, shares)
	var wg sync.WaitGroup
	for i := range shares {
		wg.Go(func() {
			errs[i] = m.claim(ctx, first+benchRound*i/shares, first+benchRound*(i+1)/shares)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (m *benchMemory) fill(b *testing.B, requests int) {
	for range requests / benchBatch {
		if err := m.claimBatch(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// perClaim divides the time of a round by its number of claims.
func perClaim(b *testing.B, batch int) {
	claims := float64(b.N) * float64(batch)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/claims, "ns/claim")
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemory measures a store with a million live requests of a thousand
// client keys. "one miss" is the least that a claim can cost: one read at a random
// place in as much memory as the store has.
func BenchmarkMemory(b *testing.B) {
	b.Run("one miss", func(b *testing.B) {
		memory := make([]uint64, benchLive*45/8)
		for i := range memory {
			memory[i] = uint64(i)
		}
		x, sum := uint64(1), uint64(0)
		for b.Loop() {
			x = x*6364136223846793005 + 1442695040888963407
			sum = memory[(x>>20+sum)%uint64(len(memory))]
		}
	})

	before := heap()
	m := newBenchMemory()
	b.Run("claim while it fills", func(b *testing.B) {
		m = newBenchMemory()
		for b.Loop() {
			if err := m.claimBatch(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		perClaim(b, benchBatch)
	})
	m = newBenchMemory()
	m.fill(b, 3*benchLive)

	b.Run("claim", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := m.claimBatch(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		perClaim(b, benchBatch)
		b.ReportMetric(float64(heap()-before)/float64(m.Len()), "B/request")
	})
	b.Run("claim in parallel", func(b *testing.B) {
		for b.Loop() {
			if err := m.claimTogether(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		perClaim(b, benchRound)
	})
	b.Run("refused replay", func(b *testing.B) {
		first, end := m.batch(benchBatch)
		if err := m.claim(b.Context(), first, end); err != nil {
			b.Fatal(err)
		}
		var back uint64
		for b.Loop() {
			back = back%(benchLive/2) + 1
			if m.Claim(b.Context(), benchUse(end-back, m.now)) == nil {
				b.Fatal("accepted")
			}
		}
	})
	b.Run("full garbage collection", func(b *testing.B) {
		for b.Loop() {
			runtime.GC()
		}
	})
	runtime.KeepAlive(m)
}
