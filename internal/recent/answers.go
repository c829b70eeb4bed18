package recent

import (
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
	count atomic.Int64

	mu   sync.Mutex
	hand int // the list in which the search for the next victim begins
}

type table[K comparable, V any] struct {
	seed  maphash.Seed
	lists []link[K, V] // their number is a power of two
}

type link[K comparable, V any] struct{ atomic.Pointer[answer[K, V]] }

// answer is one kept answer. Only next changes.
type answer[K comparable, V any] struct {
	key        K
	value      V
	until      time.Time
	generation *generation
	next       link[K, V]
}

// admission applies when the table is full of good answers. Of this many new answers,
// one is kept on average. So a flood of names that are asked for once costs little
// and evicts few answers. A name that is asked for often is soon kept.
const admission = 8

// Find returns a kept answer that Get would return. It asks nobody, and keeps no key: so
// the key may be a part of a buffer that is reused.
func (a *Answers[K, V]) Find(g *Groups, now time.Time, key K) (answer V, ok bool) {
	known := a.table.Load().list(key).find(key)
	if known == nil || !known.isFresh(now, g.Stale) {
		return answer, false
	}
	return known.value, true
}

// Get returns the answer for key. It returns a kept answer that was asked for less
// than g.Stale before now. Otherwise it calls ask, which returns an answer and the
// group that it belongs to. If ask returns an error, Get returns it and keeps
// nothing.
//
// The age of an answer counts from before the call of ask. So a slow look-up does not
// make the answer last longer.
func (a *Answers[K, V]) Get(g *Groups, now time.Time, key K, ask func() (V, string, error)) (V, error) {
	list := a.table.Load().list(key)
	known := list.find(key)
	if known != nil && known.isFresh(now, g.Stale) {
		return known.value, nil
	}
	forgets := g.forgets.Load() // before asking; see generation
	value, group, err := ask()
	if err != nil || known == nil && !a.admits(list, now, g) {
		return value, err
	}
	if generation := g.generation(group, forgets); generation != nil {
		a.put(&answer[K, V]{key: key, value: value, until: now.Add(g.Stale), generation: generation}, now, g)
	}
	return value, nil
}

// Len returns how many answers are kept, whether they are still good or not.
func (a *Answers[K, V]) Len() int { return int(a.count.Load()) }

// list returns the list of a key, or nil if there is no table yet.
func (t *table[K, V]) list(key K) *link[K, V] {
	if t == nil {
		return nil
	}
	return &t.lists[maphash.Comparable(t.seed, key)&uint64(len(t.lists)-1)]
}

func (l *link[K, V]) first() *answer[K, V] {
	if l == nil {
		return nil
	}
	return l.Load()
}

func (l *link[K, V]) find(key K) *answer[K, V] {
	for known := l.first(); known != nil; known = known.next.Load() {
		if known.key == key {
			return known
		}
	}
	return nil
}

// firstStale returns the link to the first answer of the list that is no longer good,
// or nil.
func (l *link[K, V]) firstStale(now time.Time, stale time.Duration) *link[K, V] {
	for known := l.first(); known != nil; l, known = &known.next, known.next.Load() {
		if !known.isFresh(now, stale) {
			return l
		}
	}
	return nil
}

// unlink removes the first answer from the list.
func (l *link[K, V]) unlink() { l.Store(l.Load().next.Load()) }

func (l *link[K, V]) push(n *answer[K, V]) {
	n.next.Store(l.Load())
	l.Store(n)
}

func (n *answer[K, V]) isFresh(now time.Time, stale time.Duration) bool {
	left := n.until.Sub(now)
	return 0 < left && left <= stale && !n.generation.outdated.Load() // left exceeds stale if the clock was set back
}

// admits reports whether a new answer for a list is kept.
func (a *Answers[K, V]) admits(list *link[K, V], now time.Time, g *Groups) bool {
	return a.Len() < g.Limit || list.firstStale(now, g.Stale) != nil || rand.Uint32()%admission == 0
}

func (a *Answers[K, V]) put(n *answer[K, V], now time.Time, g *Groups) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.grow().list(n.key)
	for at, known := list, list.Load(); known != nil; at, known = &known.next, known.next.Load() {
		if known.key != n.key {
			continue
		}
		if known.until.After(n.until) && !known.generation.outdated.Load() {
			return // a slow look-up must not replace a newer answer
		}
		n.next.Store(known.next.Load())
		at.Store(n)
		return
	}
	if a.Len() >= g.Limit {
		a.evict(list, now, g.Stale)
	}
	list.push(n)
	a.count.Add(1)
}

// grow returns the table. If there are as many answers as lists, it first makes a
// table of twice the size.
func (a *Answers[K, V]) grow() *table[K, V] {
	const least = 16
	old := a.table.Load()
	if old == nil {
		old = &table[K, V]{}
	}
	if a.Len() < len(old.lists) {
		return old
	}
	t := &table[K, V]{maphash.MakeSeed(), make([]link[K, V], max(least, 2*len(old.lists)))}
	for i := range old.lists {
		for n := old.lists[i].Load(); n != nil; n = old.lists[i].Load() {
			old.lists[i].unlink()
			t.list(n.key).push(n)
		}
	}
	a.table.Store(t)
	return t
}

// evict drops an answer of the list that is no longer good. If there is none, it
// drops any answer.
func (a *Answers[K, V]) evict(list *link[K, V], now time.Time, stale time.Duration) {
	at := list.firstStale(now, stale)
	for lists := a.table.Load().lists; at.first() == nil; at = &lists[a.hand] {
		a.hand = (a.hand + 1) % len(lists)
	}
	at.unlink()
	a.count.Add(-1)
}
