package replaytable

import (
	"math/bits"
	"slices"
)

// part is one hash table with cuckoo hashing. A tag has two home buckets, and its
// entry is in either of them. A look-up waits for memory at most twice, and for both
// buckets at the same time. An expired entry is a free slot.
type part struct {
	buckets []bucket
	shrunk  uint32 // the tick when shrink last ran
}

// shrinkTicks is how often a part in use checks whether it is too large.
const shrinkTicks = 32

func (p *part) homes(tag Tag) (first, second *bucket) {
	n := len(p.buckets)
	return &p.buckets[tag.home(n)], &p.buckets[tag.otherHome(n)]
}

func (p *part) find(tag Tag, now uint32) *Entry {
	if len(p.buckets) == 0 {
		return nil
	}
	first, second := p.homes(tag)
	if e := first.find(tag, now); e != nil {
		return e
	}
	return second.find(tag, now)
}

func (p *part) add(e Entry, now uint32) {
	if now-p.shrunk >= shrinkTicks {
		p.shrink(now)
	}
	*p.slot(e.tag, now) = e
}

// slot returns a slot in a home bucket of tag, to be overwritten.
func (p *part) slot(tag Tag, now uint32) *Entry {
	for {
		if e := p.freeSlot(tag, now); e != nil {
			return e
		}
		n := len(p.buckets)
		p.resize(n+n/growth+1, now)
	}
}

// maxMoves is how many entries move to make room for one. With three, a part is 95
// percent full before it grows. No entry moves twice: only the last one's other home
// has a free slot.
const maxMoves = 3

// growth says by which share of its size a part grows: a third. Each entry is then
// copied three times in all.
const growth = 3

func (p *part) freeSlot(tag Tag, now uint32) *Entry {
	if len(p.buckets) == 0 {
		return nil
	}
	first, second := p.homes(tag)
	one, other := first.expired(now), second.expired(now)
	switch {
	case one|other == 0:
	case bits.OnesCount(one) >= bits.OnesCount(other):
		return &first[bits.TrailingZeros(one)]
	default:
		return &second[bits.TrailingZeros(other)]
	}
	for moves := range maxMoves {
		if e := p.displace(first, moves, now); e != nil {
			return e
		}
		if e := p.displace(second, moves, now); e != nil {
			return e
		}
	}
	return nil
}

// displace moves an entry of a full bucket to its other home. If that is full too, it
// first moves up to others further entries. It returns the slot that is now free, or
// nil if no entry can move.
func (p *part) displace(full *bucket, others int, now uint32) *Entry {
	for i := range full {
		e := &full[i]
		other, second := p.homes(e.tag)
		if other == full {
			other = second
		}
		var free *Entry
		if expired := other.expired(now); expired != 0 {
			free = &other[bits.TrailingZeros(expired)]
		} else if others > 0 {
			free = p.displace(other, others-1, now)
		}
		if free != nil {
			*free = *e
			return e
		}
	}
	return nil
}

func (p *part) resize(n int, now uint32) {
	old := p.buckets
	p.buckets = slices.Grow([]bucket(nil), n)
	p.buckets = p.buckets[:cap(p.buckets)] // use all of the allocated memory
	for i := range old {
		for _, e := range &old[i] {
			if e.end > now {
				*p.slot(e.tag, now) = e
			}
		}
	}
}

// shrink makes a part smaller if it has much more room than it needs. Otherwise a
// short burst of claims would occupy memory for ever.
func (p *part) shrink(now uint32) {
	p.shrunk = now
	live := 0
	for i := range p.buckets {
		for _, e := range &p.buckets[i] {
			if e.end > now {
				live++
			}
		}
	}
	if n := live*5/4/bucketEntries + 1; n < len(p.buckets)*2/3 {
		p.resize(n, now)
	}
}
