// Package history makes calls of several clients to stores, writes down when each began and ended, and
// decides whether one order of them explains all results (Herlihy and Wing: linearizability).
//
// The calls of a group share objects that no other group has. A group has at most MaxOps calls, so that
// the decision is quick. Package storetest lets goroutines of one process make the calls, and
// internal/enginetest processes that are killed.
package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
)

// MaxOps is how many calls a group has at most.
const MaxOps = 30

// Unknown is the Result of a call that has not returned, or with an error that does not say what
// was done. It may take effect at any time after its begin, or never.
const Unknown = "unknown"

// Op is one call.
type Op struct {
	Kind  string
	Group int64
	Verb  string
	A     [4]int64 // arguments: numbers of tokens, sessions, nonces and so on of the group
	At    int64    // Unix milliseconds of the begin of the group

	From, To int64 // when it began and ended, by one monotonic clock
	Client   int

	Result string // "ok" or a word for an error
	N      int64  // a number that was returned
	List   []int64
	Error  string // of a result that is no sentinel
}

// readsOnly reports whether a call cannot have changed anything.
func (o *Op) readsOnly() bool { return slices.Contains([]string{"Get", "List", "Load"}, o.Verb) }

func (o *Op) String() string {
	end := "…"
	if o.Result != Unknown {
		end = fmt.Sprintf("%.3f", float64(o.To)/1e6)
	}
	return fmt.Sprintf("%.3f–%s ms client %d: %s%v = %s %d %v %s", float64(o.From)/1e6, end, o.Client, o.Verb, o.A, o.Result, o.N, o.List, o.Error)
}

// Group gives the calls of one group, in a random order. It is safe for concurrent use.
type Group struct {
	Kind string
	ID   int64
	At   int64

	mu    sync.Mutex
	rand  *rand.Rand
	given int
	made  map[int64]bool // what must be made once
}

// NewGroup returns a group. The stream of its calls follows from seed, kind and id.
func NewGroup(kind string, id, at int64, seed uint64) *Group {
	return &Group{Kind: kind, ID: id, At: at, rand: rand.New(rand.NewPCG(seed, uint64(id))), made: map[int64]bool{}}
}

// Next returns the next of most calls; ok is false if there are no more.
func (g *Group) Next(most int) (o Op, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.given >= min(most, MaxOps) {
		return Op{}, false
	}
	o = Op{Kind: g.Kind, Group: g.ID, At: g.At}
	kinds[g.Kind].choose(g, &o)
	g.given++
	return o, true
}

// once reports whether something was not made before.
func (g *Group) once(what int64) bool {
	before := g.made[what]
	g.made[what] = true
	return !before
}

// kind is what differs between the kinds of objects.
type kind struct {
	choose func(*Group, *Op)
	start  any                                 // comparable
	step   func(any, *Op) (after any, ok bool) // Unknown steps are only asked for their effect
	list   func([]Op, *Op) error               // checks a List, which is not a step
}

var kinds = map[string]kind{
	"claims":      {chooseClaim, claims{}, stepClaim, nil},
	"tokens":      {chooseToken, tokens{}, stepToken, listedTokens},
	"sessions":    {chooseSession, sessions{}, stepSession, listedSessions},
	"attempts":    {chooseAttempt, int64(0), stepAttempt, nil},
	"factors":     {chooseFactor, [2]int64{}, stepFactor, nil},
	"keys":        {chooseKey, apiKeys{}, stepKey, nil},
	"idempotency": {chooseRepeat, repeated{}, stepRepeat, nil},
	"commits":     {chooseCommit, committed{}, stepCommit, nil},
	"rotations":   {chooseRotation, rotated{}, stepRotation, nil},
}

// Kinds returns the names of all kinds.
func Kinds() (all []string) {
	for name := range kinds {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Start returns the state of new objects of a kind, which is comparable.
func Start(name string) any { return kinds[name].start }

// Step returns the state after a call, and whether its result is right in the state before. A call
// of an unknown result that would have failed changes nothing.
func Step(state any, o *Op) (after any, ok bool) {
	k := kinds[o.Kind]
	if o.Result != Unknown {
		return k.step(state, o)
	}
	tried := *o
	tried.Result, tried.To = "ok", 0
	if after, ok = k.step(state, &tried); !ok {
		after = state
	}
	return after, true
}

// Steps returns the calls that have an order, by their begin. Reads without a result say nothing.
func Steps(ops []Op) (all []Op) {
	for i, o := range ops {
		if o.Verb != "List" && !(o.Result == Unknown && o.readsOnly()) && !besideRefused(ops, &ops[i]) {
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b Op) int { return int(a.From - b.From) })
	return all
}

// Lists checks each List against the calls of its group.
func Lists(ops []Op) error {
	for i, o := range ops {
		list := kinds[o.Kind].list
		if o.Verb != "List" || o.Result != "ok" || list == nil {
			continue
		}
		if err := list(ops, &ops[i]); err != nil {
			return fmt.Errorf("%w: %v", err, &o)
		}
	}
	return nil
}

// Check returns an error unless one order of a group's calls explains all results. It tries all orders,
// and remembers which calls in what state have led nowhere.
func Check(ops []Op) error {
	if err := Lists(ops); err != nil {
		return fmt.Errorf("%w\n%s", err, Describe(ops))
	}
	steps := Steps(ops)
	if len(steps) > 64 {
		return fmt.Errorf("history: %d calls are too many", len(steps))
	}
	if len(steps) == 0 || explained(steps, 0, Start(steps[0].Kind), map[tried]bool{}) {
		return nil
	}
	return fmt.Errorf("history: no order of the calls explains the results\n%s", Describe(ops))
}

type tried struct {
	done  uint64
	state any
}

func explained(steps []Op, done uint64, state any, before map[tried]bool) bool {
	at := tried{done, state}
	if before[at] {
		return false
	}
	before[at] = true
	end, open := int64(1<<63-1), false
	for i := range steps {
		if done>>i&1 == 0 && steps[i].Result != Unknown {
			end, open = min(end, steps[i].To), true
		}
	}
	if !open {
		return true // the unknown ones may never take effect
	}
	for i := range steps {
		// A call comes before all that began after its end.
		if done>>i&1 == 1 || steps[i].From > end {
			continue
		}
		after, ok := Step(state, &steps[i])
		if ok && explained(steps, done|1<<i, after, before) {
			return true
		}
	}
	return false
}

// Describe returns the calls, one a line.
func Describe(ops []Op) string {
	sorted := slices.Clone(ops)
	slices.SortFunc(sorted, func(a, b Op) int { return int(a.From - b.From) })
	var b strings.Builder
	for i := range sorted {
		fmt.Fprintf(&b, "\t%v\n", &sorted[i])
	}
	return b.String()
}
