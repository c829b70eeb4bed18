// Package stats counts latencies, and decisions once somebody asks for them. Before that they cost one
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
	// ("" for requests that were admitted, "other" for a fault that the library has no row for). A combination without decisions is missing.
	Decisions map[string]map[string]int64

	Dropped int64 // events for which the observer has panicked
}

// Bounds are the upper bounds of the buckets of a Store, inclusive.
var Bounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
}

// Store is how long the calls of a store have taken since it was opened, waits for its lock included.
type Store struct {
	Bounds []time.Duration // of the buckets, inclusive
	Counts []int64         // calls in each bucket, and last those that took longer
	Sum    time.Duration
}

// Calls measures the calls of a store. The zero Calls is ready. It must not be copied.
type Calls struct {
	counts [len(Bounds) + 1]atomic.Int64
	sum    atomic.Int64
}

// End counts a call that has begun.
func (c *Calls) End(began time.Time) {
	took := time.Since(began)
	i, _ := slices.BinarySearch(Bounds[:], took)
	c.counts[i].Add(1)
	c.sum.Add(int64(took))
}

// Read returns what was measured.
func (c *Calls) Read() Store {
	s := Store{Bounds: slices.Clone(Bounds[:]), Counts: make([]int64, len(c.counts)), Sum: time.Duration(c.sum.Load())}
	for i := range c.counts {
		s.Counts[i] = c.counts[i].Load()
	}
	return s
}

// Decisions counts those of a Guard. The zero Decisions is ready. It must not be copied.
type Decisions struct{ asked atomic.Pointer[counts] }

type counts struct {
	mechanisms []string       // with "" for none
	details    map[string]int // with "" for none
	decisions  []atomic.Int64 // by mechanism, and then by detail
	dropped    atomic.Int64
}

const other = "other"

// Add counts a decision. mechanism is an index, -1 for none.
func (d *Decisions) Add(mechanism int32, detail string) {
	if c := d.asked.Load(); c != nil {
		i, known := c.details[detail]
		if !known {
			i = c.details[other] // not an admission
		}
		c.decisions[int(mechanism+1)*len(c.details)+i].Add(1)
	}
}

// Drop counts an event that was lost.
func (d *Decisions) Drop() {
	if c := d.asked.Load(); c != nil {
		c.dropped.Add(1)
	}
}

// Asked reports whether somebody asks.
func (d *Decisions) Asked() bool { return d.asked.Load() != nil }

// Read returns what was counted. The arguments are those that Add may get.
func (d *Decisions) Read(mechanisms, details []string) Guard {
	if d.asked.Load() == nil {
		c := &counts{mechanisms: append([]string{""}, mechanisms...), details: map[string]int{"": 0, other: 1}}
		for _, detail := range details {
			c.details[detail] = len(c.details)
		}
		c.decisions = make([]atomic.Int64, len(c.mechanisms)*len(c.details))
		d.asked.CompareAndSwap(nil, c)
	}
	c := d.asked.Load()
	all := Guard{map[string]map[string]int64{}, c.dropped.Load()}
	for i, mechanism := range c.mechanisms {
		of := map[string]int64{}
		for detail, j := range c.details {
			if n := c.decisions[i*len(c.details)+j].Load(); n > 0 {
				of[detail] = n
			}
		}
		if len(of) > 0 {
			all.Decisions[mechanism] = of
		}
	}
	return all
}
