// Package recent remembers what look-ups found, for a bounded time and in bounded
// memory. Each answer belongs to a group, such as an org. Forget removes all answers of
// a group at once.
//
// The Answers of one owner share a Groups. There is one Answers for each kind of
// look-up.
package recent

import (
	"container/list"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// Answers keeps the answers to one kind of look-up. A hit takes no lock, so that cores do
// not wait for each other. The zero Answers is empty and ready.
type Answers[K comparable, V any] struct {
	known sync.Map // *answer[K, V] by K

	// The lock of the Groups guards all else.
	all    share[K, V]
	shares map[string]*share[K, V] // the same answers, by group
	asking map[K]*flight[V]        // look-ups under way
}

// answer is one kept answer. It does not change.
type answer[K comparable, V any] struct {
	key K
	Found[V]
	until     time.Time
	at, atAll *list.Element // in the share of its group, and in that of all
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
	known := a.find(key)
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
	g.mu.Lock()
	defer g.mu.Unlock()
	if f := a.asking[key]; f != nil && !alone && f.since == g.forgets && now.Sub(f.began).Abs() < g.Stale {
		return f, false
	}
	f = &flight[V]{since: g.forgets, began: now, done: make(chan struct{}), abandoned: true}
	if a.asking == nil {
		a.asking = map[K]*flight[V]{}
	}
	a.asking[key] = f
	return f, true
}

func (a *Answers[K, V]) lead(ctx context.Context, g *Groups, f *flight[V], key K, ask func() (Found[V], error)) (V, error) {
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
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
// now the time, before the look-up. It keeps nothing if the group was forgotten since.
func (a *Answers[K, V]) Keep(g *Groups, since uint64, now time.Time, key K, found Found[V]) {
	if found.Cost == NotKept {
		return
	}
	found.Cost = max(found.Cost, 1)
	n := &answer[K, V]{key: key, Found: found, until: now.Add(g.Stale)}
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.shares == nil {
		a.shares = map[string]*share[K, V]{}
		g.kinds = append(g.kinds, a)
	}
	known := a.find(key)
	if g.isOutdated(found.Group, since) || known != nil && known.until.After(n.until) {
		return // a slow look-up must not replace a newer answer
	}
	if known != nil {
		a.evict(known)
	}
	kept, own := a.makeRoom(n, now, g, known != nil), a.share(n.Group)
	if kept {
		n.at, n.atAll = own.add(n), a.all.add(n)
		a.known.Store(key, n)
	} else if own.cost == 0 {
		delete(a.shares, n.Group)
	}
}

// Len returns how many answers are kept, whether they are still good or not, and their cost.
func (a *Answers[K, V]) Len(g *Groups) (count, cost int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return a.all.answers.Len(), a.all.cost
}

func (a *Answers[K, V]) find(key K) *answer[K, V] {
	known, _ := a.known.Load(key)
	n, _ := known.(*answer[K, V])
	return n
}

func (n *answer[K, V]) isFresh(now time.Time, stale time.Duration) bool {
	left := n.until.Sub(now)
	return 0 < left && left <= stale // left exceeds stale if the clock was set back
}

// share returns the share of a group.
func (a *Answers[K, V]) share(group string) *share[K, V] {
	s := a.shares[group]
	if s == nil {
		s = new(share[K, V])
		a.shares[group] = s
	}
	return s
}

// makeRoom evicts answers, so that n has room, and reports whether to keep n. A group may use
// room that no other needs. If there is none left, a group with more than an equal share
// gives way with its oldest answers: the group of n first.
func (a *Answers[K, V]) makeRoom(n *answer[K, V], now time.Time, g *Groups, admitted bool) bool {
	for oldest := a.all.oldest(); oldest != nil && !oldest.isFresh(now, g.Stale); oldest = a.all.oldest() {
		a.evict(oldest)
	}
	for a.all.cost+n.Cost > g.Limit {
		own := a.share(n.Group)
		fair := g.Limit / len(a.shares)
		if own.cost+n.Cost <= fair {
			a.evictOver(fair, max(1, g.Limit/64))
			continue
		}
		if own.cost == 0 || !admitted && rand.Uint32()%admission != 0 {
			return false
		}
		admitted = true
		a.evict(own.oldest())
	}
	return true
}

// evictOver evicts the oldest answers of a group that holds more than is fair. There is one,
// because another group holds less. It evicts several at once, because it has to search.
func (a *Answers[K, V]) evictOver(fair, some int) {
	for _, s := range a.shares {
		if s.cost <= fair {
			continue
		}
		for enough := max(fair, s.cost-some); s.cost > enough; {
			a.evict(s.oldest())
		}
		return
	}
}

// evict removes an answer, and its share if that is empty.
func (a *Answers[K, V]) evict(n *answer[K, V]) {
	a.known.Delete(n.key)
	s := a.shares[n.Group]
	s.remove(n.at)
	a.all.remove(n.atAll)
	if s.cost == 0 {
		delete(a.shares, n.Group)
	}
}

// forget evicts the answers of a group.
func (a *Answers[K, V]) forget(group string) {
	for s := a.shares[group]; s != nil && s.cost > 0; {
		a.evict(s.oldest())
	}
}

// Groups has what the Answers of one owner share. All methods are safe for concurrent use.
// The fields are set before first use.
type Groups struct {
	Stale time.Duration // how long an answer is kept

	// Limit is the maximum cost of the answers of each kind, in KiB, and of groups in
	// forgotten. Each group has an equal share of the cost.
	Limit int

	mu        sync.Mutex
	forgotten map[string]uint64                   // the value of forgets at the latest Forget of a group
	floor     uint64                              // that of all groups which are not in forgotten
	forgets   uint64                              // how often Forget was called, for any group
	kinds     []interface{ forget(group string) } // the Answers that keep something
}

// Forget removes all answers of a group. A Get that starts after Forget has returned does not
// return what was found before the call, or by a look-up that was under way during it. Other
// groups keep their answers.
func (g *Groups) Forget(group string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgets++
	if len(g.forgotten) >= g.Limit {
		g.forgotten, g.floor = nil, g.forgets
	}
	if g.forgotten == nil {
		g.forgotten = map[string]uint64{}
	}
	g.forgotten[group] = g.forgets
	for _, kind := range g.kinds {
		kind.forget(group)
	}
}

// Forgets returns the argument of Answers.Keep, for a look-up that begins now.
func (g *Groups) Forgets() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.forgets
}

// isOutdated reports whether a group may have been forgotten since. Calls of Forget for other
// groups make no difference, unless there were many.
func (g *Groups) isOutdated(group string, since uint64) bool {
	return since < max(g.floor, g.forgotten[group])
}
