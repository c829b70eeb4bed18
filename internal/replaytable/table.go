package replaytable

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
)

// Table remembers tags. New makes one. It is not safe for concurrent use.
//
// Times are ticks of the caller's clock. They must not go back from one call to the
// next, because an expired entry may have been overwritten.
type Table struct {
	parts []part
}

// partRequests is how many requests, with two entries each, one part holds if the
// table has the size it was made for. It bounds the time in which a part grows to
// about a millisecond.
const partRequests = 1 << 13

// New returns a Table for about this many requests. Memory is allocated as the table
// is filled.
func New(requests int) *Table {
	return &Table{parts: make([]part, requests/partRequests+1)}
}

// Find returns the entry of a tag, or nil if there is none or it has expired. The
// entry is valid until the next Add or Shrink.
func (t *Table) Find(tag Tag, now uint32) *Entry { return t.part(tag).find(tag, now) }

// Add makes an entry for a tag that has none.
func (t *Table) Add(tag Tag, value, now, end uint32) {
	*t.part(tag).slot(tag, now) = Entry{tag, end, value}
}

// Extend keeps an entry until end, unless it is kept for longer already.
func (t *Table) Extend(e *Entry, end uint32) { e.end = max(e.end, end) }

// Shrink makes the parts smaller that have more than four times the room for their share of
// this many entries, which are all that have not expired. It makes entries of Find invalid.
func (t *Table) Shrink(entries int, now uint32) {
	buckets := entries/len(t.parts)/bucketEntries + 1
	for i := range t.parts {
		if p := &t.parts[i]; len(p.buckets) > 4*buckets {
			p.resize(2*buckets, now)
		}
	}
}

// Room returns for how many entries there is memory.
func (t *Table) Room() int {
	n := 0
	for i := range t.parts {
		n += len(t.parts[i].buckets) * bucketEntries
	}
	return n
}

func (t *Table) part(tag Tag) *part { return &t.parts[tag.part(len(t.parts))] }

// bucket has the size of a cache line, so that one wait for memory loads all of it.
type bucket [bucketEntries]Entry

const bucketEntries = 4

// Entry is what is remembered under a tag. It expires with the tick end.
type Entry struct {
	tag   Tag
	end   uint32
	Value uint32 // the caller's
}

func (b *bucket) find(tag Tag, now uint32) *Entry {
	for i := range b {
		if e := &b[i]; e.tag == tag && e.end > now {
			return e
		}
	}
	return nil
}

// expired returns the set of expired entries as bits. It has no branch: which entries
// have expired is random, so that a branch would be slow.
func (b *bucket) expired(now uint32) uint {
	at := uint64(now) + 1
	return uint((uint64(b[0].end)-at)>>63 | (uint64(b[1].end)-at)>>63<<1 |
		(uint64(b[2].end)-at)>>63<<2 | (uint64(b[3].end)-at)>>63<<3)
}

// Tag is a keyed hash of 64 bits. It stands for a client key, or for a nonce or
// a signature of a client key.
type Tag uint64

// Seed makes tags. Each Seed has a random key, which never leaves the process. So
// clients who choose nonces cannot make two tags collide, or fill one bucket.
//
// The hash is maphash. Its documentation promises a uniform distribution, and says
// that it is not cryptographically secure. The remaining risk is on the safe side.
// Equal inputs have equal tags, so no request is accepted twice, however weak the
// hash is.
//
// If different inputs have equal tags, a good request is refused. With n entries in
// the table, a claim of two tags collides with one of them once in 2^63/n times. A
// store of a million requests in 64 tables has n = 31,250, and refuses one good claim
// in 3 * 10^14.
type Seed struct{ seed maphash.Seed }

// NewSeed returns a Seed with a new random key.
func NewSeed() Seed { return Seed{maphash.MakeSeed()} }

// Key returns the tag of a client key.
func (s Seed) Key(clientKey string) Tag {
	return Tag(maphash.String(s.seed, clientKey))
}

// Nonce returns the tag of a nonce, which is 16 bytes long, under the tag of its
// client key.
func (s Seed) Nonce(key Tag, nonce string) Tag {
	var b [8 + 16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(key))
	copy(b[8:], nonce)
	return Tag(maphash.Bytes(s.seed, b[:]))
}

// Signature returns the tag of a signature under the tag of its client key. Its input
// is longer than that of any nonce, so the two inputs are never equal.
func (s Seed) Signature(key Tag, signature *[32]byte) Tag {
	var b [8 + 32]byte
	binary.LittleEndian.PutUint64(b[:], uint64(key))
	copy(b[8:], signature[:])
	return Tag(maphash.Bytes(s.seed, b[:]))
}

// Pick maps a tag to a number below n, by its highest bits.
func (t Tag) Pick(n int) int { return scale(uint32(t>>32), n) }

// part, home and otherHome map a tag to a number below n as well. Each of the three
// reads other bits, if n is at most 1<<16. Pick reads the same bits as home. It is
// for tags of client keys, which are in no table.
func (t Tag) part(n int) int      { return scale(uint32(t>>16), n) }
func (t Tag) home(n int) int      { return scale(uint32(t>>32), n) }
func (t Tag) otherHome(n int) int { return scale(uint32(t), n) }

func scale(random uint32, n int) int { return int(uint64(random) * uint64(n) >> 32) }

// part is one hash table with cuckoo hashing. A tag has two home buckets, and its
// entry is in either of them. A look-up waits for memory at most twice, and for both
// buckets at the same time. An expired entry is a free slot.
type part struct {
	buckets []bucket
}

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
