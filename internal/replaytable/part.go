package replaytable

import (
	"math/bits"
	"slices"
)

// part is one hash table. A tag has two homes, and its entry is in either of
// them (cuckoo hashing): looking it up waits for memory at most twice, and for
// both at once. What has ended is room for others.
type part struct {
	buckets []bucket
	fitted  uint32 // when fit last ran
}

// fitTicks is how often a part in use looks whether it is too large.
const fitTicks = 32

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
	if now-p.fitted >= fitTicks {
		p.fit(now)
	}
	*p.room(e.tag, now) = e
}

// room returns an entry in a home of tag, which is to be overwritten.
func (p *part) room(tag Tag, now uint32) *Entry {
	for {
		if e := p.free(tag, now); e != nil {
			return e
		}
		n := len(p.buckets)
		p.resize(n+n/growth+1, now)
	}
}

// maxMoves is how many entries move to make room for one. A part is then 95
// percent full before it grows. With three none moves twice: the last one's other
// home has room, and those of the others have not.
const maxMoves = 3

// growth is the share of its size by which a part grows, a third: each entry is
// then copied three times in all.
const growth = 3

func (p *part) free(tag Tag, now uint32) *Entry {
	if len(p.buckets) == 0 {
		return nil
	}
	first, second := p.homes(tag)
	one, other := first.ended(now), second.ended(now)
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

// displace moves an entry of a full bucket to its other home, where so many
// others have to make way. It returns the one to be overwritten, or nil if
// none can move.
func (p *part) displace(full *bucket, others int, now uint32) *Entry {
	for i := range full {
		e := &full[i]
		other, second := p.homes(e.tag)
		if other == full {
			other = second
		}
		var free *Entry
		if ended := other.ended(now); ended != 0 {
			free = &other[bits.TrailingZeros(ended)]
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
	p.buckets = p.buckets[:cap(p.buckets)] // all that was allocated
	for i := range old {
		for _, e := range &old[i] {
			if e.end > now {
				*p.room(e.tag, now) = e
			}
		}
	}
}

// fit makes a part smaller that has much more room than it needs: a moment of
// many claims need not be paid for ever.
func (p *part) fit(now uint32) {
	p.fitted = now
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
