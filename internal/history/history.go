// Package history makes calls of several clients to stores, writes down when each began and ended, and
// decides whether one order of them explains all results (Herlihy and Wing: linearizability).
//
// The calls of a group share objects that no other group has. A group has at most MaxOps calls, so that
// the decision is quick. Package storetest lets goroutines of one process make the calls, and
// internal/enginetest processes that are killed.
package history

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
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
	given int64
	fresh int64 // how many names of things the calls have brought: hashes of sessions, fences
}

// NewGroup returns a group. The stream of its calls follows from seed, kind and id.
func NewGroup(kind string, id, at int64, seed uint64) *Group {
	return &Group{Kind: kind, ID: id, At: at, rand: rand.New(rand.NewPCG(seed, uint64(id)))}
}

// Next returns the next of most calls; ok is false if there are no more.
func (g *Group) Next(most int) (o Op, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.given >= int64(min(most, MaxOps)) {
		return Op{}, false
	}
	o = Op{Kind: g.Kind, Group: g.ID, At: g.At}
	k := Kinds[g.Kind]
	var choices []Choice // each as often as its weight says
	for _, c := range k.Choices {
		choices = append(choices, slices.Repeat([]Choice{c}, c.Weight)...)
	}
	c := choices[g.rand.IntN(len(choices))]
	o.Verb = c.Verb
	for i, below := range c.Below {
		o.A[i] = g.rand.Int64N(max(below, 1))
	}
	if k.Change != nil {
		k.Change(g, &o)
	}
	g.given++
	return o, true
}

// Given returns how many calls were given.
func (g *Group) Given() int64 { return g.given }

// Choice is a verb, how often it comes, and below what its arguments are.
type Choice struct {
	Verb   string
	Weight int
	Below  [3]int64
}

// Kind is what differs between the kinds of objects.
type Kind struct {
	Choices []Choice
	Change  func(*Group, *Op)          // a call that was chosen; nil: not at all
	Start   any                        // comparable
	Step    func(any, *Op) (any, bool) // Unknown steps are only asked for their effect
	Listed  func(*Op) (all []int64)    // what a List has if it is live: each is a step of its own, "Has"
	Has     func(*Stores) bool         // whether the stores have it
	Call    func(*Stores, context.Context, *Op) error
}

// Step returns the state after a call, and whether its result is right in the state before. A call
// of an unknown result that would have failed changes nothing.
func Step(state any, o *Op) (after any, ok bool) {
	k := Kinds[o.Kind]
	if o.Result != Unknown {
		return k.Step(state, o)
	}
	tried := *o
	tried.Result, tried.To = "ok", 0
	if after, ok = k.Step(state, &tried); !ok {
		after = state
	}
	return after, true
}

// Steps returns the calls that have an order, by their begin. Reads without a result say nothing. A List reads
// each object at some time of its own.
func Steps(ops []Op) (all []Op) {
	for i, o := range ops {
		switch {
		case o.Verb == "List" && o.Result == "ok":
			for _, id := range Kinds[o.Kind].Listed(&o) {
				has := o
				if has.Verb, has.A = "Has", [4]int64{id, o.A[0]}; !slices.Contains(o.List, id) {
					has.Result = "not found"
				}
				all = append(all, has)
			}
		case o.Result == Unknown && slices.Contains([]string{"Get", "List", "Load"}, o.Verb), besideRefused(ops, &ops[i]):
		default:
			all = append(all, o)
		}
	}
	slices.SortStableFunc(all, func(a, b Op) int { return int(a.From - b.From) })
	return all
}

// Check returns an error unless one order of a group's calls explains all results. It tries all orders,
// and remembers which calls in what state have led nowhere.
func Check(ops []Op) error {
	steps := Steps(ops)
	if len(steps) > len(tried{}.done) {
		return fmt.Errorf("history: %d calls are too many", len(steps))
	}
	if len(steps) == 0 || explained(steps, tried{state: Kinds[steps[0].Kind].Start}, map[tried]bool{}) {
		return nil
	}
	return errors.New("history: no order of the calls explains the results\n" + Describe(ops))
}

type tried struct {
	done  [128]bool
	state any
}

func explained(steps []Op, at tried, before map[tried]bool) bool {
	if before[at] {
		return false
	}
	before[at] = true
	end := int64(math.MaxInt64)
	for i := range steps {
		if !at.done[i] && steps[i].Result != Unknown {
			end = min(end, steps[i].To)
		}
	}
	if end == math.MaxInt64 {
		return true // the unknown ones may never take effect
	}
	for i := range steps {
		// A call comes before all that began after its end.
		if at.done[i] || steps[i].From > end {
			continue
		}
		next, ok := at, false
		next.done[i] = true
		if next.state, ok = Step(at.state, &steps[i]); ok && explained(steps, next, before) {
			return true
		}
	}
	return false
}

// Describe returns the calls, one a line.
func Describe(ops []Op) string {
	sorted := slices.SortedFunc(slices.Values(ops), func(a, b Op) int { return int(a.From - b.From) })
	var b strings.Builder
	for i := range sorted {
		fmt.Fprintf(&b, "\t%v\n", &sorted[i])
	}
	return b.String()
}

// Names returns the kinds of objects that stores have.
func (s *Stores) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(Kinds)), func(name string) bool { return !Kinds[name].Has(s) })
}
