// Package stats counts decisions and latencies, once somebody asks for them. Before that it costs one
// atomic read. To count takes no memory.
package stats

import (
	"slices"
	"sync/atomic"
	"time"
)

// Guard is what a Guard has counted since it was first asked.
type Guard struct {
	// Decisions has the number of decisions by mechanism ("" for none) and by the detail of their fault
	// ("" for requests that were admitted). A combination without decisions is missing.
	Decisions map[string]map[string]int64

	Dropped int64 // events for which the observer has panicked
}

// Bounds are the upper bounds of the buckets of a Store, inclusive.
var Bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
}

// Store is how long the calls of a store have taken since it was first asked, waits for its lock included.
type Store struct {
	Bounds []time.Duration // of the buckets, inclusive
	Counts []int64         // calls in each bucket, and last those that took longer
	Sum    time.Duration
}

// Calls measures the calls of a store. The zero Calls is ready. It must not be copied.
type Calls struct {
	asked  atomic.Bool
	counts [len(Bounds) + 1]atomic.Int64
	sum    atomic.Int64
}

// Begin returns when a call begins, or the zero time if nobody asks.
func (c *Calls) Begin() time.Time {
	if !c.asked.Load() {
		return time.Time{}
	}
	return time.Now()
}

// End counts a call that has begun.
func (c *Calls) End(began time.Time) {
	if began.IsZero() {
		return
	}
	took := time.Since(began)
	i, _ := slices.BinarySearch(Bounds[:], took)
	c.counts[i].Add(1)
	c.sum.Add(int64(took))
}

// Read returns what was measured.
func (c *Calls) Read() Store {
	c.asked.Store(true)
	s := Store{Bounds: slices.Clone(Bounds[:]), Counts: make([]int64, len(c.counts)), Sum: time.Duration(c.sum.Load())}
	for i := range c.counts {
		s.Counts[i] = c.counts[i].Load()
	}
	return s
}

// Decisions counts those of a Guard. The nil Decisions counts nothing.
type Decisions struct {
	mechanisms []string       // with "" for none
	index      map[string]int // of details
	cells      []atomic.Int64
	Dropped    atomic.Int64
}

// NewDecisions returns a Decisions of all details that there are.
func NewDecisions(mechanisms, details []string) *Decisions {
	d := &Decisions{mechanisms: append([]string{""}, mechanisms...), index: map[string]int{"": 0}}
	for i, detail := range details {
		d.index[detail] = i + 1
	}
	d.cells = make([]atomic.Int64, len(d.mechanisms)*len(d.index))
	return d
}

// Add counts a decision. mechanism is an index, -1 for none.
func (d *Decisions) Add(mechanism int32, detail string) {
	if i, ok := d.index[detail]; ok {
		d.cells[int(mechanism+1)*len(d.index)+i].Add(1)
	}
}

// Read returns what was counted.
func (d *Decisions) Read() Guard {
	all := Guard{map[string]map[string]int64{}, d.Dropped.Load()}
	for i, mechanism := range d.mechanisms {
		for detail, j := range d.index {
			n := d.cells[i*len(d.index)+j].Load()
			if n > 0 && all.Decisions[mechanism] == nil {
				all.Decisions[mechanism] = map[string]int64{}
			}
			if n > 0 {
				all.Decisions[mechanism][detail] = n
			}
		}
	}
	return all
}
