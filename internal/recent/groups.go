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

	// Limit is the maximum cost of the answers of each kind, in KiB. Each group has an equal
	// share of it.
	Limit int

	mu      sync.Mutex
	forgets uint64                              // how often Forget was called, for any group
	kinds   []interface{ forget(group string) } // the Answers that keep something
}

// Forget removes all answers of a group. A Get that starts after Forget has returned does not
// return what was found before the call. Other groups keep their answers. What a look-up finds
// that was under way during the call is not kept, whatever its group is.
func (g *Groups) Forget(group string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgets++
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
