package signing

import "github.com/tenantkit/tenantkit/internal/replaytable"

// total counts the requests that a shard remembers, by the tick in which they expire.
type total struct {
	ends map[uint32]int64 // about thirty ticks, if all requests are kept for minutes
}

// add counts one more request.
func (t *total) add(end uint32) {
	if t.ends == nil {
		t.ends = make(map[uint32]int64)
	}
	t.ends[end]++
}

// sweep removes the expired requests from the count, and returns how many there were.
func (t *total) sweep(now uint32) (ended int64) {
	for end, n := range t.ends {
		if end <= now {
			ended += n
			delete(t.ends, end)
		}
	}
	return ended
}

// tallies counts the requests of each client key of a shard.
type tallies struct {
	keys   map[replaytable.Tag]*tally
	pruned uint32
}

// of returns the tally of a key, or nil.
func (t *tallies) of(key replaytable.Tag, now uint32) *tally {
	if t.pruned != now {
		t.prune(now)
	}
	return t.keys[key]
}

// start makes the tally of a key that has none.
func (t *tallies) start(key replaytable.Tag, now uint32) *tally {
	if t.keys == nil {
		t.keys = make(map[replaytable.Tag]*tally)
	}
	count := &tally{past: now}
	t.keys[key] = count
	return count
}

// prune drops the expired tallies once they are half of all. It makes a new map,
// because a map never shrinks.
func (t *tallies) prune(now uint32) {
	t.pruned = now
	live := 0
	for _, count := range t.keys {
		if count.last > now {
			live++
		}
	}
	if live > len(t.keys)/2 {
		return
	}
	old := t.keys
	t.keys = make(map[replaytable.Tag]*tally, live)
	for key, count := range old {
		if count.last > now {
			t.keys[key] = count
		}
	}
}

const tallyGroups = 32

// tally counts the requests of one client key, in groups that expire together. It has
// a fixed size. If its groups do not reach far enough ahead, it makes them longer. It
// then counts a request for longer than it is remembered, by up to a sixteenth of the
// longest time.
type tally struct {
	live  uint32
	last  uint32 // with this tick everything has expired
	past  uint32 // groups up to this one are subtracted already
	shift uint8  // a group is 1<<shift ticks long
	ends  [tallyGroups]uint32
}

// at returns how many requests there are at a tick.
func (t *tally) at(now uint32) int {
	if t.last <= now {
		*t = tally{past: now}
	}
	for t.past < now>>t.shift {
		t.past++
		ended := &t.ends[t.past%tallyGroups]
		t.live -= *ended
		*ended = 0
	}
	return int(t.live)
}

// add counts one more request. Its end must be later than the tick of the last at.
func (t *tally) add(end uint32) {
	t.last = max(t.last, end)
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

// lengthen merges each two groups into one.
func (t *tally) lengthen() {
	old := *t
	t.past, t.shift, t.ends = old.past/2, old.shift+1, [tallyGroups]uint32{}
	for group := old.past + 1; group <= old.past+tallyGroups; group++ {
		t.ends[(group+1)/2%tallyGroups] += old.ends[group%tallyGroups]
	}
}
