package signing

import (
	"context"
	"errors"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/internal/replaytable"
)

// Memory is a Replays in the memory of one process. It is exact: it forgets no
// request early, and drops none to make room. It stores a keyed hash of 64 bits for
// each nonce and signature. If two hashes collide, a good claim is refused as
// replayed. With a million requests remembered, that happens to one good claim in
// 3*10^14. No replay is accepted.
//
// Memory is bounded. Claim returns ErrFull in two cases: the store remembers as many
// requests as it was made for, or the client key has reached PerKey. So one key
// cannot use up the room of the others. Both bounds are exact, however many
// goroutines claim at once.
//
// An accepted request takes about 45 bytes until its Use.Keep, and for up to 17
// seconds longer. Each client key with remembered requests takes about 300 bytes
// more if they are kept for minutes. Memory is allocated as it is needed, and later claims reuse it or
// release it.
//
// The zero Memory is a store for a million requests. It starts with its first claim,
// and refuses that claim as stale unless it was signed in the same millisecond. So
// use NewMemory. A Memory must not be copied after first use.
//
// # Clock
//
// The store has a clock of its own: the time at which it was made, plus the time that
// has passed since. It ignores Use.Seen, so a step of the system's clock neither
// drops a claim nor accepts one again. An error of the system's clock at the time
// when the store was made remains. If that clock was ahead, every request is stale
// until a new store is made. If it was behind, or the machine slept since, requests
// are remembered for that much longer, and the store fills sooner.
//
// # Restart
//
// A request signed before the millisecond in which the store was made is stale,
// because an earlier process may have accepted it. One case remains: a request that
// was signed ahead of the clock and accepted just before the restart. It can be
// replayed once, during the time that it was ahead. That time is at most the
// verifier's FutureTolerance.
//
// Version 2 counts whole seconds. So the store accepts it from the next full second
// after it was made.
//
// # Siblings
//
// A signature is accepted 255 times at most, and only once if it is to be remembered
// for two hours or more. No sibling window is longer than two hours.
type Memory struct {
	// PerKey is how many requests of one client key are remembered at once. 0 means a
	// tenth of all; as many as all means no bound. It must be set before first use.
	PerKey int

	requests int
	once     sync.Once
	start    time.Time // with its monotonic clock reading
	wall     time.Time // the same time without that reading
	seed     replaytable.Seed

	shards   [shardCount]shard
	sweeping sync.Mutex    // claims wait for a sweep: none is refused for lack of room that it makes
	swept    atomic.Uint32 // the tick of the last sweep
	_        [64]byte      // each claim writes live: it needs a cache line of its own
	live     atomic.Int64  // how many requests are remembered
	_        [64]byte
}

// shard holds the requests of some client keys. All entries of a key are under one
// lock, which makes a claim a single step. The lock is no bottleneck: quotas keep the
// rate of a key far below what one lock can serve.
type shard struct {
	sync.Mutex
	keys   map[replaytable.Tag]*tally // by client key
	table  *replaytable.Table         // of nonces and signatures
	total  tally
	pruned uint32   // the tick in which memory was released last
	_      [64]byte // keeps the locks of two shards out of one cache line
}

const (
	defaultRequests = 1_000_000
	shardCount      = 64

	// tickBits makes a tick 1<<34 ns, which is 17 seconds. Entries expire at
	// whole ticks.
	tickBits = 34
)

var errNonce = errors.New("signing: nonce is not 16 bytes long")

// NewMemory returns a store for the given number of requests at once; 0 or less means
// a million. A service needs its rate of requests times the time for which each is
// remembered. A million is 2,500 a second for 400 seconds.
func NewMemory(requests int) *Memory {
	m := &Memory{requests: requests}
	m.once.Do(m.init)
	return m
}

func (m *Memory) init() {
	if m.requests <= 0 {
		m.requests = defaultRequests
	}
	m.requests = int(min(int64(m.requests), math.MaxUint32)) // a tally counts no further
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
	// Signed is in milliseconds. A request signed in the first millisecond may be
	// later than the start.
	if u.Signed.UnixMilli() < m.wall.UnixMilli() {
		return ErrStale
	}
	return m.claim(&u)
}

// Used implements UsedNonces. Its error is that of ctx.
func (m *Memory) Used(ctx context.Context, clientKey, nonce string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m.once.Do(m.init)
	key := m.seed.Key(clientKey)
	s := &m.shards[key.Pick(shardCount)]
	tick := currentTick(m.lock(s))
	defer s.Unlock()
	return s.table != nil && s.table.Find(m.seed.Nonce(key, nonce), tick) != nil, nil
}

// claim records a request as a whole, or nothing of it.
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
	tick, end := currentTick(now), endTick(keep)

	// Both look-ups come before any decision, so that the processor waits for both
	// reads of memory at the same time.
	table := s.requests(tick, m.perKey())
	used, seen := table.Find(nonce, tick), table.Find(signature, tick)
	if used != nil || seen != nil && !acceptance(seen.Value).admits(u, now) {
		return ErrReplayed
	}
	count := s.keys[key]
	if count != nil && count.at(tick) >= m.perKey() && m.perKey() < m.requests {
		return ErrFull
	}
	if m.live.Add(1) > int64(m.requests) {
		m.live.Add(-1)
		return ErrFull
	}

	if seen != nil { // before Add, which makes seen invalid
		seen.Value = uint32(acceptance(seen.Value).again(keep - now))
		table.Extend(seen, end)
	} else {
		table.Add(signature, uint32(newAcceptance(u, now, keep-now)), tick, end)
	}
	table.Add(nonce, closed, tick, end)
	if count == nil {
		count = new(tally)
		s.keys[key] = count
	}
	count.add(end)
	s.total.add(end)
	return nil
}

// lock locks a shard, and returns the time by the store's clock. The time must be
// read under the lock. With an earlier time, a claim could miss an entry that another
// claim has just overwritten as expired. The repeated claim would then not be stale
// either.
func (m *Memory) lock(s *shard) (now time.Duration) {
	for {
		s.Lock()
		now = time.Since(m.start)
		if currentTick(now) <= m.swept.Load() {
			return now
		}
		s.Unlock()
		m.sweep(currentTick(now))
	}
}

// Len returns how many requests are remembered. Watch this number: when it reaches
// the number that the store was made for, claims are refused.
func (m *Memory) Len() int {
	m.once.Do(m.init)
	m.sweep(currentTick(time.Since(m.start)))
	return int(m.live.Load())
}

func (m *Memory) perKey() int {
	if m.PerKey <= 0 {
		return max(1, m.requests/10)
	}
	return min(m.PerKey, m.requests)
}

// sweep removes expired requests from the counts, once in a tick. It also releases
// the memory of shards in which everything has expired, because the client keys that
// filled them may never come back.
func (m *Memory) sweep(tick uint32) {
	m.sweeping.Lock()
	defer m.sweeping.Unlock()
	if tick <= m.swept.Load() {
		return
	}
	for i := range m.shards {
		m.live.Add(-m.shards[i].sweep(tick))
	}
	m.swept.Store(tick)
}

// sweep returns how many requests have expired since the last sweep.
func (s *shard) sweep(tick uint32) int64 {
	s.Lock()
	defer s.Unlock()
	before := s.total.live
	if s.total.at(tick) == 0 {
		s.table, s.keys = nil, nil
	}
	return int64(before - s.total.live)
}

// requests returns the table. A new table has the size for a key that uses up its
// share. Once in a tick it releases memory. Otherwise keys that are busy in turn would each
// leave room for all of their requests.
func (s *shard) requests(tick uint32, perKey int) *replaytable.Table {
	switch {
	case s.table == nil:
		s.table, s.keys = replaytable.New(perKey), make(map[replaytable.Tag]*tally)
	case s.pruned != tick:
		s.table.Shrink(2*s.total.live, tick)
		maps.DeleteFunc(s.keys, func(_ replaytable.Tag, count *tally) bool { return count.at(tick) == 0 })
	}
	s.pruned = tick
	return s.table
}

// currentTick returns the last tick that has begun.
func currentTick(now time.Duration) uint32 { return uint32(now >> tickBits) }

// endTick returns the first tick that begins at keep or later.
func endTick(keep time.Duration) uint32 { return uint32((keep-1)>>tickBits + 1) }

// acceptance is what the store remembers of a signature. The low 8 bits count how
// often it was accepted. The other bits are the time of the first acceptance, in
// milliseconds modulo 1<<24. It has only four bytes, because a store holds millions
// of them.
type acceptance uint32

const (
	// closed is the count of an entry that is not accepted again: of each nonce, and
	// of a signature that may have no more siblings.
	closed = 1<<8 - 1

	// siblingTime bounds the sibling window, and the time for which a signature that
	// may have siblings is remembered. A first acceptance looks young again after
	// 1<<24 ms, which is more than twice this time.
	siblingTime = 2 * time.Hour
)

// newAcceptance is the first acceptance of u, which is to be remembered for keep.
func newAcceptance(u *Use, now, keep time.Duration) acceptance {
	a := acceptance(now.Milliseconds()) << 8
	if u.single() {
		return a | closed
	}
	return a.again(keep)
}

// admits reports whether u may be accepted as a sibling.
func (a acceptance) admits(u *Use, now time.Duration) bool {
	age := (acceptance(now.Milliseconds()) - a>>8) & (1<<24 - 1)
	return !u.single() &&
		int(a&closed) < min(u.Siblings, closed) &&
		time.Duration(age)*time.Millisecond < min(u.window(), siblingTime)
}

// again counts one more acceptance, which is to be remembered for keep.
func (a acceptance) again(keep time.Duration) acceptance {
	if keep >= siblingTime {
		return a | closed
	}
	return a + 1
}

// single reports whether the signature of u may be accepted only once.
func (u *Use) single() bool { return u.Siblings <= 1 || u.window() <= 0 }

// window returns Window in whole milliseconds, because the ages of signatures are in
// milliseconds.
func (u *Use) window() time.Duration { return u.Window.Truncate(time.Millisecond) }
