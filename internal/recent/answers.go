package recent

import (
	"container/list"
	"context"
	"errors"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Answers keeps the answers to one kind of look-up. A hit takes no lock and writes no
// shared memory, so that cores do not wait for each other. The zero Answers is empty
// and ready.
//
// It is a hash table of linked lists. Writers hold mu, and change one link at a time.
// A reader that runs at the same time finds an answer or misses it; if it misses, it
// asks again.
type Answers[K comparable, V any] struct {
	table atomic.Pointer[table[K, V]] // nil until there is an answer

	mu     sync.Mutex
	all    share[K, V]
	shares map[string]*share[K, V] // the same answers, by group
	asking map[K]*flight[V]        // look-ups under way
}

type table[K comparable, V any] struct {
	seed  maphash.Seed
	lists []link[K, V] // their number is a power of two
}

type link[K comparable, V any] struct{ atomic.Pointer[answer[K, V]] }

// answer is one kept answer. Only next changes once it is kept.
type answer[K comparable, V any] struct {
	key K
	Found[V]
	until      time.Time
	generation *generation
	next       link[K, V]
	at, atAll  *list.Element // in the share of its group, and in that of all
}

// Found is the answer of a look-up.
type Found[V any] struct {
	Value V
	Group string // that it belongs to
	Cost  int    // of keeping it, in KiB or part of one: see Groups.Limit; 0: 1; NotKept: it is not kept
}

// NotKept is the cost of an answer that only the callers that wait for it get.
const NotKept = -1

// share holds the answers of a group, or all answers, the oldest first.
type share[K comparable, V any] struct {
	answers list.List
	cost    int
}

func (s *share[K, V]) add(n *answer[K, V]) *list.Element {
	s.cost += n.Cost
	return s.answers.PushBack(n)
}

func (s *share[K, V]) remove(at *list.Element) {
	s.cost -= s.answers.Remove(at).(*answer[K, V]).Cost
}

func (s *share[K, V]) oldest() *answer[K, V] {
	if s.cost == 0 {
		return nil
	}
	return s.answers.Front().Value.(*answer[K, V])
}

// admission applies when a group has used its share up. Of this many new answers,
// one is kept on average. So a flood of names that are asked for once costs little
// and evicts few answers. A name that is asked for often is soon kept.
const admission = 8

// Find returns a kept answer that Get would return. It asks nobody, and keeps no key: so
// the key may be a part of a buffer that is reused.
func (a *Answers[K, V]) Find(g *Groups, now time.Time, key K) (answer V, ok bool) {
	known := a.table.Load().find(key)
	if known == nil || !known.isFresh(now, g.Stale) {
		return answer, false
	}
	return known.Value, true
}

// Get returns the answer for key, as Find does. If none is kept, it calls ask and keeps
// what that returns, unless it returns an error. Calls for one key that come while ask runs
// wait for it, until ctx ends, and share its result. They do not share an error of
// a caller whose ctx has ended. After two such callers, a call asks itself: whoever asks and
// hangs up again and again must not keep it waiting.
//
// The age of an answer counts from before the call of ask. So a slow look-up does not
// make the answer last longer.
func (a *Answers[K, V]) Get(ctx context.Context, g *Groups, now time.Time, key K, ask func() (Found[V], error)) (V, error) {
	for abandoned := 0; ; abandoned++ {
		if value, ok := a.Find(g, now, key); ok {
			return value, nil
		}
		f, leads := a.join(g, now, key, abandoned == 2)
		if leads {
			return a.lead(ctx, g, f, key, ask)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
		if !f.abandoned {
			return f.value, f.err
		}
	}
}

// flight is a look-up that is under way. Its results are set before done is closed.
type flight[V any] struct {
	since     uint64 // the value of forgets before the look-up
	began     time.Time
	done      chan struct{}
	abandoned bool // its caller has panicked or gone: others ask themselves
	value     V
	err       error
}

// join returns the look-up that is under way for a key, or begins one. It does not return
// one whose result may be older than a call of Forget, or too old. With alone it begins one.
func (a *Answers[K, V]) join(g *Groups, now time.Time, key K, alone bool) (f *flight[V], leads bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	since := g.forgets.Load()
	if f := a.asking[key]; f != nil && !alone && f.since == since && now.Sub(f.began).Abs() < g.Stale {
		return f, false
	}
	f = &flight[V]{since: since, began: now, done: make(chan struct{}), abandoned: true}
	if a.asking == nil {
		a.asking = map[K]*flight[V]{}
	}
	a.asking[key] = f
	return f, true
}

func (a *Answers[K, V]) lead(ctx context.Context, g *Groups, f *flight[V], key K, ask func() (Found[V], error)) (V, error) {
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.asking[key] == f {
			delete(a.asking, key)
		}
		close(f.done)
	}()
	found, err := ask()
	if err == nil {
		a.Keep(g, f.since, f.began, key, found)
	}
	f.value, f.err = found.Value, err
	f.abandoned = err != nil && (ctx.Err() != nil || errors.Is(err, context.Canceled))
	return f.value, f.err
}

// Keep keeps an answer that was looked up without Get. since is what g.Forgets returned, and
// now the time, before the look-up.
func (a *Answers[K, V]) Keep(g *Groups, since uint64, now time.Time, key K, found Found[V]) {
	if found.Cost == NotKept {
		return
	}
	found.Cost = max(found.Cost, 1)
	if generation := g.generation(found.Group, since); generation != nil {
		a.put(&answer[K, V]{key: key, Found: found, until: now.Add(g.Stale), generation: generation}, now, g)
	}
}

// Len returns how many answers are kept, whether they are still good or not, and their cost.
func (a *Answers[K, V]) Len() (count, cost int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all.answers.Len(), a.all.cost
}

// list returns the list of a key.
func (t *table[K, V]) list(key K) *link[K, V] {
	return &t.lists[maphash.Comparable(t.seed, key)&uint64(len(t.lists)-1)]
}

// find returns the answer for a key, or nil. t is nil if there is no table yet.
func (t *table[K, V]) find(key K) *answer[K, V] {
	if t == nil {
		return nil
	}
	for known := t.list(key).Load(); known != nil; known = known.next.Load() {
		if known.key == key {
			return known
		}
	}
	return nil
}

func (l *link[K, V]) push(n *answer[K, V]) {
	n.next.Store(l.Load())
	l.Store(n)
}

func (n *answer[K, V]) isFresh(now time.Time, stale time.Duration) bool {
	left := n.until.Sub(now)
	return 0 < left && left <= stale && !n.generation.outdated.Load() // left exceeds stale if the clock was set back
}

func (a *Answers[K, V]) put(n *answer[K, V], now time.Time, g *Groups) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.table.Load().find(n.key)
	if known != nil {
		if known.until.After(n.until) && !known.generation.outdated.Load() {
			return // a slow look-up must not replace a newer answer
		}
		a.evict(known, nil)
	}
	if a.shares == nil {
		a.shares = map[string]*share[K, V]{}
	}
	if a.shares[n.Group] == nil {
		a.shares[n.Group] = new(share[K, V])
	}
	if a.makeRoom(n, now, g, known != nil) {
		n.at, n.atAll = a.shares[n.Group].add(n), a.all.add(n)
		a.grow().list(n.key).push(n)
	} else if a.shares[n.Group].cost == 0 {
		delete(a.shares, n.Group)
	}
}

// makeRoom evicts answers, so that n has room, and reports whether to keep n. A group may use
// room that no other needs. If there is none left, a group with more than an equal share
// gives way with its oldest answers: the group of n first.
func (a *Answers[K, V]) makeRoom(n *answer[K, V], now time.Time, g *Groups, admitted bool) bool {
	own := a.shares[n.Group]
	for _, s := range []*share[K, V]{&a.all, own} { // in own they may be outdated, but not old
		for oldest := s.oldest(); oldest != nil && !oldest.isFresh(now, g.Stale); oldest = s.oldest() {
			a.evict(oldest, own)
		}
	}
	for a.all.cost+n.Cost > g.Limit {
		fair := g.Limit / len(a.shares)
		if own.cost+n.Cost <= fair {
			a.evictOver(fair, max(1, g.Limit/64), own)
			continue
		}
		if own.cost == 0 || !admitted && rand.Uint32()%admission != 0 {
			return false
		}
		admitted = true
		a.evict(own.oldest(), own)
	}
	return true
}

// evictOver evicts the oldest answers of a group that holds more than is fair. There is one,
// because the group of own holds less. It evicts several at once, because it has to search.
func (a *Answers[K, V]) evictOver(fair, some int, own *share[K, V]) {
	for _, s := range a.shares {
		if s.cost <= fair {
			continue
		}
		for enough := s.cost - some; s.cost > max(fair, enough); {
			a.evict(s.oldest(), own)
		}
		return
	}
}

// evict removes an answer, and its share if that is empty and not own.
func (a *Answers[K, V]) evict(n *answer[K, V], own *share[K, V]) {
	at := a.table.Load().list(n.key)
	for at.Load() != n {
		at = &at.Load().next
	}
	at.Store(n.next.Load())
	s := a.shares[n.Group]
	s.remove(n.at)
	a.all.remove(n.atAll)
	if s.cost == 0 && s != own {
		delete(a.shares, n.Group)
	}
}

// grow returns the table. If there are as many answers as lists, it first makes a
// table of twice the size.
func (a *Answers[K, V]) grow() *table[K, V] {
	const least = 16
	old := a.table.Load()
	if old == nil {
		old = &table[K, V]{}
	}
	if a.all.answers.Len() <= len(old.lists) {
		return old
	}
	t := &table[K, V]{maphash.MakeSeed(), make([]link[K, V], max(least, 2*len(old.lists)))}
	for i := range old.lists {
		for n := old.lists[i].Load(); n != nil; n = old.lists[i].Load() {
			old.lists[i].Store(n.next.Load())
			t.list(n.key).push(n)
		}
	}
	a.table.Store(t)
	return t
}
