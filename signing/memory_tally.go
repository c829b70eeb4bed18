package signing

import "sync"

// total counts the requests a store remembers: for each tick, those that end
// with it.
type total struct {
	sync.Mutex
	live int
	past uint32         // what ends with this tick or before is taken off
	ends map[uint32]int // some thirty ticks, if all requests are kept for minutes
}

// at returns how many there are.
func (t *total) at(now uint32) int {
	if t.past < now {
		t.past = now
		for end, n := range t.ends {
			if end <= now {
				t.live -= n
				delete(t.ends, end)
			}
		}
	}
	return t.live
}

// add counts one more, unless limit is reached.
func (t *total) add(now, end uint32, limit int) bool {
	t.Lock()
	defer t.Unlock()
	if t.at(now) >= limit {
		return false
	}
	t.ends[end]++
	t.live++
	return true
}

const tallyGroups = 32

// tally counts the requests of one client key, in groups that end together. It
// has a fixed size: where its groups do not reach far enough, it makes them
// longer. It then counts a request for longer than it is remembered, by up to a
// sixteenth of the longest time that any is.
type tally struct {
	live  uint32
	past  uint32 // what ends with this group or before is taken off
	shift uint8  // a group has 1<<shift ticks
	ends  [tallyGroups]uint32
}

// at returns how many there are, of a key that has any.
func (t *tally) at(now uint32) int {
	for t.past < now>>t.shift {
		t.past++
		ended := &t.ends[t.past%tallyGroups]
		t.live -= *ended
		*ended = 0
	}
	return int(t.live)
}

// add counts one more. Its end lies after the time of the last at.
func (t *tally) add(end uint32) {
	for t.group(end) > t.past+tallyGroups {
		t.lengthen()
	}
	t.ends[t.group(end)%tallyGroups]++
	t.live++
}

// group returns the first group that begins at end or later.
func (t *tally) group(end uint32) uint32 {
	return (end + 1<<t.shift - 1) >> t.shift
}

// lengthen makes one group of each two.
func (t *tally) lengthen() {
	old := *t
	t.past, t.shift, t.ends = old.past/2, old.shift+1, [tallyGroups]uint32{}
	for group := old.past + 1; group <= old.past+tallyGroups; group++ {
		t.ends[(group+1)/2%tallyGroups] += old.ends[group%tallyGroups]
	}
}
