// Package recent remembers what look-ups have found, for a bounded time and in
// bounded memory. Each answer belongs to a group, an org say; Forget makes all
// answers of a group out of date at once.
//
// A Groups is shared by the Answers of one owner, one Answers for each kind of
// look-up.
package recent

import (
	"sync"
	"sync/atomic"
	"time"
)

// Groups says which answers are out of date. All methods are safe for concurrent
// use; the fields are set before first use.
type Groups struct {
	Stale time.Duration // how long an answer is kept
	Limit int           // how many groups there are at most, and how many answers of a kind

	forgets atomic.Uint64 // counts calls of Forget, of any group
	mu      sync.Mutex
	current map[string]*generation
	floor   uint64 // forgets when a group was last pushed out: what was forgotten of it is not known
}

// generation is all that was found of a group between two calls of Forget.
type generation struct {
	since uint64 // no Forget after so many was of this group
	over  atomic.Bool
}

// Forget makes all that was found of a group out of date. No Get that starts
// after Forget has returned is answered with what was found before the call, nor
// with what a look-up finds that was under way then. Other groups keep their
// answers.
func (g *Groups) Forget(group string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if of := g.current[group]; of != nil {
		of.over.Store(true)
	}
	g.begin(group, g.forgets.Add(1))
}

// generation returns the one that an answer of the group belongs to, or nil if
// the group may have been forgotten since that count: the answer may be what a
// change has made out of date. What is forgotten of other groups makes no
// difference.
func (g *Groups) generation(group string, since uint64) *generation {
	g.mu.Lock()
	defer g.mu.Unlock()
	of := g.current[group]
	switch {
	case of != nil && since < of.since, of == nil && since < g.floor:
		return nil
	case of != nil:
		return of
	}
	return g.begin(group, g.floor)
}

// begin begins a generation. Where there are too many groups, another one makes
// room: its answers are over, and the next requests find them again. Of its
// look-ups that are under way nothing is known then.
func (g *Groups) begin(group string, since uint64) *generation {
	if _, ok := g.current[group]; !ok && len(g.current) >= g.Limit {
		for victim, of := range g.current {
			of.over.Store(true)
			delete(g.current, victim)
			break
		}
		g.floor = g.forgets.Load()
	}
	if g.current == nil {
		g.current = map[string]*generation{}
	}
	of := &generation{since: since}
	g.current[group] = of
	return of
}
