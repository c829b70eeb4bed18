package signing

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Memory is a Replays in the memory of one process. It is exact: no claim is
// forgotten before its time, and none is dropped to make room.
//
// It is bounded. Claim returns ErrFull when as many requests are remembered as
// the store was made for, or as PerKey allows of the client key, so that one
// key cannot take the room of the others. An accepted request takes about 45
// bytes until its Use.Keep, and up to 17 seconds longer; each client key with
// any takes about 200 more. Memory is allocated as it is needed, and later
// claims use it again or give it back.
//
// The zero Memory is a store for a million requests, made with its first claim,
// which is therefore stale unless it was signed in that millisecond. A Memory must
// not be copied after first use.
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
// as an earlier process may have accepted it. That leaves what was signed ahead of the clock, and
// accepted just before the restart: it can be replayed once, within the time
// it was ahead, which is at most the verifier's FutureTolerance.
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
	tagger   *tagger

	shards [shardCount]shard
	total  total
	swept  atomic.Uint32 // the last tick in which sweep ran
}

// shard holds what is remembered of some client keys. One lock for all that
// concerns a key makes a claim a single step. It is no bottleneck: quotas keep
// the rate of a key far below what one lock can serve.
type shard struct {
	sync.Mutex
	keys       table[tally]
	nonces     []table[struct{}]
	signatures []table[sight]
}

const (
	defaultRequests = 1_000_000
	shardCount      = 64

	// tableRequests is how many requests of one key fall into one table, if the
	// key uses up its share. It bounds how long a table takes to grow: about a
	// millisecond.
	tableRequests = 1 << 14

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
	m.requests = min(m.requests, math.MaxUint32) // as far as a tally counts
	m.start = time.Now()
	m.wall = m.start.Round(0)
	m.tagger = newTagger()
	m.total.ends = make(map[uint32]int)
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
	now, err := m.claim(&u)
	m.sweep(began(now))
	return err
}

// claim also returns the time by the store's clock. It records all that a
// request needs, or nothing.
func (m *Memory) claim(u *Use) (now time.Duration, err error) {
	key, nonce, signature := m.tagger.macs(u)
	s := &m.shards[key.pick(shardCount)]
	s.Lock()
	defer s.Unlock()

	// Read under the lock. By an earlier reading, what another call has just
	// overwritten as ended would be missed, and u not be stale.
	now = time.Since(m.start)
	keep := u.Keep.Sub(m.wall)
	if keep <= now {
		return now, ErrStale
	}
	tick, end := began(now), ended(keep)

	// Everything is looked up before anything is decided, so that the waiting for
	// one place of memory passes while another is waited for.
	nonces, signatures := s.tables(&nonce, &signature, m.perKey())
	used := nonces.find(nonce.tag(), tick)
	seen := signatures.find(signature.tag(), tick)
	count := s.keys.find(key.tag(), tick)
	switch {
	case used != nil, seen != nil && !seen.val.admits(u, now):
		return now, ErrReplayed
	case count != nil && count.val.at(tick) >= m.perKey() && m.perKey() < m.requests:
		return now, ErrFull
	case !m.total.add(tick, end, m.requests):
		return now, ErrFull
	}

	nonces.add(nonce.tag(), tick, end)
	if seen == nil {
		signatures.add(signature.tag(), tick, end).val = newSight(u, now, keep-now)
	} else {
		signatures.extend(seen, end)
		seen.val.again(keep - now)
	}
	if count == nil {
		count = s.keys.add(key.tag(), tick, end)
		count.val.past = tick
	}
	s.keys.extend(count, end)
	count.val.add(end)
	return now, nil
}

// Len returns how many requests are remembered: what to watch, as claims are
// refused when it reaches the number the store was made for.
func (m *Memory) Len() int {
	m.once.Do(m.init)
	m.total.Lock()
	defer m.total.Unlock()
	return m.total.at(began(time.Since(m.start)))
}

func (m *Memory) perKey() int {
	if m.PerKey <= 0 {
		return max(1, m.requests/10)
	}
	return min(m.PerKey, m.requests)
}

// sweep, once in a tick, gives back the tables in which everything has ended:
// the client keys that filled them may never come back.
func (m *Memory) sweep(tick uint32) {
	last := m.swept.Load()
	if tick <= last || !m.swept.CompareAndSwap(last, tick) {
		return
	}
	for i := range m.shards {
		m.shards[i].sweep(tick)
	}
}

func (s *shard) sweep(tick uint32) {
	s.Lock()
	defer s.Unlock()
	s.keys.sweep(tick)
	for i := range s.nonces {
		s.nonces[i].sweep(tick)
		s.signatures[i].sweep(tick)
	}
}

// tables returns those of a nonce and a signature.
func (s *shard) tables(nonce, signature *mac, perKey int) (*table[struct{}], *table[sight]) {
	if s.nonces == nil {
		n := perKey/tableRequests + 1
		s.nonces = make([]table[struct{}], n)
		s.signatures = make([]table[sight], n)
	}
	return &s.nonces[nonce.pick(len(s.nonces))], &s.signatures[signature.pick(len(s.signatures))]
}

// began returns the last tick that has begun.
func began(now time.Duration) uint32 { return uint32(now >> tickBits) }

// ended returns the first tick that begins at keep or later.
func ended(keep time.Duration) uint32 { return uint32((keep-1)>>tickBits + 1) }
