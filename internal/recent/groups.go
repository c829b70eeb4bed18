// Package recent remembers what look-ups found, for a bounded time and in bounded
// memory. Each answer belongs to a group, such as an org. Forget removes all answers of
// a group at once.
//
// The Answers of one owner share a Groups. There is one Answers for each kind of
// look-up.
package recent

import (
	"sync"
	"time"
)

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
