// Package recent remembers what look-ups found, for a bounded time and in bounded
// memory. Each answer belongs to a group, such as an org. Forget makes all answers of
// a group outdated at once.
//
// The Answers of one owner share a Groups. There is one Answers for each kind of
// look-up.
package recent

import (
	"sync"
	"sync/atomic"
	"time"
)

// Groups records which answers are outdated. All methods are safe for concurrent use.
// The fields are set before first use.
type Groups struct {
	Stale time.Duration // how long an answer is kept

	// Limit is the maximum cost of the answers of each kind, in KiB, and of groups. Each group
	// has an equal share of it.
	Limit int

	forgets atomic.Uint64 // how often Forget was called, for any group
	mu      sync.Mutex
	current map[string]*generation
	floor   uint64 // the value of forgets when a group was last evicted
}

// generation stands for all answers of a group between two calls of Forget.
type generation struct {
	since    uint64 // after this many calls of Forget, no call was for this group
	outdated atomic.Bool
}

// Forget makes all answers of a group outdated. A Get that starts after Forget has
// returned does not return what was found before the call. It also does not return
// the result of a look-up that was under way during the call. Other groups keep their
// answers.
func (g *Groups) Forget(group string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if current := g.current[group]; current != nil {
		current.outdated.Store(true)
	}
	g.begin(group, g.forgets.Add(1))
}

// Forgets returns the argument of Answers.Keep, for a look-up that begins now.
func (g *Groups) Forgets() uint64 { return g.forgets.Load() }

// generation returns the current generation of a group. since is the value of forgets
// before the look-up. If the group may have been forgotten after that, the answer may
// be outdated, and generation returns nil. Calls of Forget for other groups make no
// difference.
func (g *Groups) generation(group string, since uint64) *generation {
	g.mu.Lock()
	defer g.mu.Unlock()
	current := g.current[group]
	switch {
	case current != nil && since < current.since, current == nil && since < g.floor:
		return nil
	case current != nil:
		return current
	}
	return g.begin(group, g.floor)
}

// begin begins a generation. If there are too many groups, it evicts another one. The
// answers of that group are outdated then, and the next requests look them up again.
// Its look-ups that are under way are not kept, because calls of Forget for it are no
// longer known.
func (g *Groups) begin(group string, since uint64) *generation {
	if _, ok := g.current[group]; !ok && len(g.current) >= g.Limit {
		for victim, current := range g.current {
			current.outdated.Store(true)
			delete(g.current, victim)
			break
		}
		g.floor = g.forgets.Load()
	}
	if g.current == nil {
		g.current = map[string]*generation{}
	}
	begun := &generation{since: since}
	g.current[group] = begun
	return begun
}
