package recent

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Answers keeps answers of one kind. A hit takes no lock and writes no memory that
// is shared, so that cores do not wait for each other. The zero Answers is empty
// and ready.
//
// It is a hash table of linked lists. Writers hold mu, and change one link at a
// time. A reader meanwhile finds an answer or misses it, and then asks for it.
type Answers[K comparable, V any] struct {
	table atomic.Pointer[table[K, V]] // nil until there is an answer
	count atomic.Int64

	mu   sync.Mutex
	hand int // the list where the next victim is looked for
}

type table[K comparable, V any] struct {
	seed  maphash.Seed
	lists []link[K, V] // a power of two of them
}

type link[K comparable, V any] struct{ atomic.Pointer[answer[K, V]] }

// answer never changes, next aside.
type answer[K comparable, V any] struct {
	key   K
	value V
	until time.Time
	of    *generation
	next  link[K, V]
}

// admission is how many new answers are turned away for one that is taken where
// the table is full of answers that are still good. A flood of names that are
// asked for once costs little then, and pushes few answers out; a name that is
// asked for often soon has its place.
const admission = 8

// Get returns the answer to a look-up: one that is at hand and was asked for less
// than g.Stale before now, or what ask finds, with the group that it belongs to.
// An error of ask is returned, and nothing is kept.
//
// The staleness counts from before asking, so that a slow look-up is not kept for
// longer than that.
func (a *Answers[K, V]) Get(g *Groups, now time.Time, key K, ask func() (V, string, error)) (V, error) {
	list := a.table.Load().list(key)
	known := list.find(key)
	if known != nil && known.isFresh(now, g.Stale) {
		return known.value, nil
	}
	forgets := g.forgets.Load() // before asking: see generation
	value, group, err := ask()
	if err != nil || known == nil && !a.admits(list, now, g) {
		return value, err
	}
	if of := g.generation(group, forgets); of != nil {
		a.put(&answer[K, V]{key: key, value: value, until: now.Add(g.Stale), of: of}, now, g)
	}
	return value, nil
}

// Len returns how many answers are kept, good or not.
func (a *Answers[K, V]) Len() int { return int(a.count.Load()) }

// list returns the one that a key belongs to, nil if there is no table yet.
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

// rotten returns the link to an answer of the list that is no longer good, or nil.
func (l *link[K, V]) rotten(now time.Time, stale time.Duration) *link[K, V] {
	for known := l.first(); known != nil; l, known = &known.next, known.next.Load() {
		if !known.isFresh(now, stale) {
			return l
		}
	}
	return nil
}

// cut takes the first answer out of the list.
func (l *link[K, V]) cut() { l.Store(l.Load().next.Load()) }

func (l *link[K, V]) push(n *answer[K, V]) {
	n.next.Store(l.Load())
	l.Store(n)
}

func (n *answer[K, V]) isFresh(now time.Time, stale time.Duration) bool {
	left := n.until.Sub(now)
	return 0 < left && left <= stale && !n.of.over.Load() // more is left where the clock was set back
}

// admits reports whether a new answer for a list is to be kept.
func (a *Answers[K, V]) admits(list *link[K, V], now time.Time, g *Groups) bool {
	return a.Len() < g.Limit || list.rotten(now, g.Stale) != nil || rand.Uint32()%admission == 0
}

func (a *Answers[K, V]) put(n *answer[K, V], now time.Time, g *Groups) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.roomy().list(n.key)
	for at, known := list, list.Load(); known != nil; at, known = &known.next, known.next.Load() {
		if known.key != n.key {
			continue
		}
		if known.until.After(n.until) && !known.of.over.Load() {
			return // a slower look-up must not put an older answer back
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

// roomy returns the table, after making one of twice the size where there are as
// many answers as lists.
func (a *Answers[K, V]) roomy() *table[K, V] {
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
			old.lists[i].cut()
			t.list(n.key).push(n)
		}
	}
	a.table.Store(t)
	return t
}

// evict drops an answer of the list that is no longer good, or any answer.
func (a *Answers[K, V]) evict(list *link[K, V], now time.Time, stale time.Duration) {
	at := list.rotten(now, stale)
	for lists := a.table.Load().lists; at.first() == nil; at = &lists[a.hand] {
		a.hand = (a.hand + 1) % len(lists)
	}
	at.cut()
	a.count.Add(-1)
}
