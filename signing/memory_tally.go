package signing

import (
	"maps"
	"slices"

	"github.com/tenantkit/tenantkit/internal/replaytable"
)

// tally counts requests by the tick in which they expire.
type tally struct {
	live int
	ends []ending // in the order of their ticks: about thirty, if all requests are kept for minutes
}

type ending struct{ tick, requests uint32 }

// at returns how many requests there are at a tick.
func (t *tally) at(now uint32) int {
	expired := 0
	for ; expired < len(t.ends) && t.ends[expired].tick <= now; expired++ {
		t.live -= int(t.ends[expired].requests)
	}
	if expired > 0 {
		t.ends = slices.Delete(t.ends, 0, expired)
	}
	return t.live
}

// add counts one more request. It searches from the end, where most requests belong.
func (t *tally) add(end uint32) {
	i := len(t.ends)
	for i > 0 && t.ends[i-1].tick > end {
		i--
	}
	if i == 0 || t.ends[i-1].tick < end {
		t.ends = slices.Insert(t.ends, i, ending{tick: end})
		i++
	}
	t.ends[i-1].requests++
	t.live++
}

// tallies counts the requests of each client key of a shard.
type tallies struct {
	keys   map[replaytable.Tag]*tally
	pruned uint32
}

// of returns the tally of a key, or nil. Once in a tick it drops those that have expired.
func (t *tallies) of(key replaytable.Tag, now uint32) *tally {
	if t.pruned != now {
		t.pruned = now
		maps.DeleteFunc(t.keys, func(_ replaytable.Tag, count *tally) bool { return count.at(now) == 0 })
	}
	return t.keys[key]
}

// start makes the tally of a key that has none.
func (t *tallies) start(key replaytable.Tag) *tally {
	if t.keys == nil {
		t.keys = make(map[replaytable.Tag]*tally)
	}
	count := new(tally)
	t.keys[key] = count
	return count
}
