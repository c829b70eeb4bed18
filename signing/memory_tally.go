package signing

import "slices"

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
	t.ends = slices.Delete(t.ends, 0, expired)
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
