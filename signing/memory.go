package signing

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/internal/replaytable"
)

// Memory is a Replays in the memory of one process. It is exact: no claim is
// forgotten before its time, and none is dropped to make room. Requests are known
// by keyed hashes of 64 bits. With a million remembered, one good claim in 3 * 10^14
// is refused as replayed, as its hash is that of another. No replay is accepted.
//
// It is bounded. Claim returns ErrFull when as many requests are remembered as
// the store was made for, or as PerKey allows of the client key, so that one
// key cannot take the room of the others. Both bounds are exact, however many
// goroutines claim at once. An accepted request takes about 45 bytes until its
// Use.Keep, and up to 17 seconds longer; each client key with any takes about
// 200 more, or 400 where half of the keys have ended. Memory is allocated as it
// is needed, and later claims use it again or give it back.
//
// The zero Memory is a store for a million requests. It starts with its first
// claim, and refuses that as stale unless it was signed in the same millisecond:
// use NewMemory. A Memory must not be copied after first use.
//
// # Clock
//
// The store goes by a clock of its own: the time at which it was made and what
// has passed since. It ignores Use.Seen, so that a step of the system's clock
// neither drops a claim nor lets one in again. What was wrong with that clock
// when the store was made stays wrong: if it was ahead, everything is refused
// as stale until there is a new store. If it was behind, or the machine slept
// since, requests are remembered for as much longer and the store fills sooner.
//
// # Restart
//
// What was signed before the millisecond in which the store was made is stale,
// as an earlier process may have accepted it. That leaves what was signed ahead
// of the clock, and accepted just before the restart: it can be replayed once,
// within the time it was ahead, which is at most the verifier's FutureTolerance.
//
// # Siblings
//
// A signature is accepted 255 times at most, and only once if it is to be
// remembered for two hours or more. No window is longer than two hours.
type Memory struct {
	// PerKey is how many requests of one client key are remembered at once: a
	// tenth of all if 0, and no bound if as many as all. It must be set before
	// first use. Where a key has requests that are remembered for more than nine
	// minutes, each counts for longer, by up to a sixteenth of the longest time.
	PerKey int

	requests int
	once     sync.Once
	start    time.Time // with its monotonic reading
	wall     time.Time // the same without
	seed     replaytable.Seed

	shards [shardCount]shard
	swept  sweeps
	_      [64]byte     // keeps live, which each claim writes, out of lines that are only read
	live   atomic.Int64 // requests that are remembered
	_      [64]byte
}

// sweeps is how far a store has been swept. Claims that come meanwhile wait, so
// that none is refused for want of room that has just come back.
type sweeps struct {
	sync.Mutex
	tick atomic.Uint32 // the last one in which sweep ran
}

// shard holds what is remembered of some client keys. One lock for all that
// concerns a key makes a claim a single step. It is no bottleneck: quotas keep
// the rate of a key far below what one lock can serve.
type shard struct {
	sync.Mutex
	keys  tallies
	table *replaytable.Table // of nonces and signatures
	total total
	_     [64]byte // keeps two locks out of one line of the cache
}

const (
	defaultRequests = 1_000_000
	shardCount      = 64

	// tickBits makes a tick 1<<34 ns, 17 seconds. Claims end with ticks.
	tickBits = 34
)

var errNonce = errors.New("signing: nonce is not 16 bytes long")

// NewMemory returns a store for so many requests at once; 0 or less means a
// million. It takes the rate of requests times the time for which each is
// remembered: a million is 2,500 a second for 400 seconds.
func NewMemory(requests int) *Memory {
	m := &Memory{requests: requests}
	m.once.Do(m.init)
	return m
}

func (m *Memory) init() {
	if m.requests <= 0 {
		m.requests = defaultRequests
	}
	m.requests = int(min(int64(m.requests), math.MaxUint32)) // as far as a tally counts
	m.start = time.Now()
	m.wall = m.start.Round(0)
	m.seed = replaytable.NewSeed()
}

// Claim implements Replays: it returns nil, ErrReplayed, ErrStale or ErrFull, or
// the error of ctx. A nonce that is not 16 bytes long is an error.
func (m *Memory) Claim(ctx context.Context, u Use) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(u.Nonce) != nonceLength {
		return errNonce
	}
	m.once.Do(m.init)
	// In milliseconds, as Signed is: what was signed in the first one may well
	// be later than the start.
	if u.Signed.UnixMilli() < m.wall.UnixMilli() {
		return ErrStale
	}
	return m.claim(&u)
}

// claim records all that a request needs, or nothing.
func (m *Memory) claim(u *Use) error {
	key := m.seed.Key(u.ClientKey)
	nonce, signature := m.seed.Nonce(key, u.Nonce), m.seed.Signature(key, &u.Signature)
	s := &m.shards[key.Pick(shardCount)]
	now := m.lock(s)
	defer s.Unlock()

	keep := u.Keep.Sub(m.wall)
	if keep <= now {
		return ErrStale
	}
	tick, end := began(now), ended(keep)

	// Everything is looked up before anything is decided, so that the waiting for
	// one place of memory passes while another is waited for.
	table := s.requests(m.perKey())
	used, seen := table.Find(nonce, tick), table.Find(signature, tick)
	if used != nil || seen != nil && !sight(seen.Value).admits(u, now) {
		return ErrReplayed
	}
	count := s.keys.of(key, tick)
	if count != nil && count.at(tick) >= m.perKey() && m.perKey() < m.requests {
		return ErrFull
	}
	if !m.reserve() {
		return ErrFull
	}

	if seen != nil { // first, as seen is valid until the next Add
		seen.Value = uint32(sight(seen.Value).again(keep - now))
		table.Extend(seen, end)
	} else {
		table.Add(signature, uint32(newSight(u, now, keep-now)), tick, end)
	}
	table.Add(nonce, closed, tick, end)
	if count == nil {
		count = s.keys.start(key, tick)
	}
	count.add(end)
	s.total.add(end)
	return nil
}

// lock locks a shard, and returns the time by the store's clock. It is read under
// the lock. By an earlier reading, what another call has just overwritten as
// ended would be missed, and the claim not be stale.
func (m *Memory) lock(s *shard) (now time.Duration) {
	for {
		s.Lock()
		now = time.Since(m.start)
		if began(now) <= m.swept.tick.Load() {
			return now
		}
		s.Unlock()
		m.sweep(began(now))
	}
}

// reserve counts one request more, unless the store is full.
func (m *Memory) reserve() bool {
	for {
		n := m.live.Load()
		if n >= int64(m.requests) {
			return false
		}
		if m.live.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Len returns how many requests are remembered: what to watch, as claims are
// refused when it reaches the number the store was made for.
func (m *Memory) Len() int {
	m.once.Do(m.init)
	m.sweep(began(time.Since(m.start)))
	return int(m.live.Load())
}

func (m *Memory) perKey() int {
	if m.PerKey <= 0 {
		return max(1, m.requests/10)
	}
	return min(m.PerKey, m.requests)
}

// sweep, once in a tick, takes off what has ended, and gives back the memory of
// shards in which everything has: the client keys that filled them may never
// come back.
func (m *Memory) sweep(tick uint32) {
	if tick <= m.swept.tick.Load() {
		return
	}
	m.swept.Lock()
	defer m.swept.Unlock()
	if tick <= m.swept.tick.Load() {
		return
	}
	for i := range m.shards {
		m.live.Add(-m.shards[i].sweep(tick))
	}
	m.swept.tick.Store(tick)
}

// sweep returns how many requests have ended.
func (s *shard) sweep(tick uint32) int64 {
	s.Lock()
	defer s.Unlock()
	if s.table != nil && s.table.Ended(tick) {
		s.table, s.keys = nil, tallies{}
	}
	return s.total.sweep(tick)
}

// requests returns the table, made for a key that uses up its share.
func (s *shard) requests(perKey int) *replaytable.Table {
	if s.table == nil {
		s.table = replaytable.New(perKey)
	}
	return s.table
}

// began returns the last tick that has begun.
func began(now time.Duration) uint32 { return uint32(now >> tickBits) }

// ended returns the first tick that begins at keep or later.
func ended(keep time.Duration) uint32 { return uint32((keep-1)>>tickBits + 1) }
