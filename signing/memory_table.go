package signing

import "slices"

// table is a hash table of entries that end by themselves. It holds no
// pointers, so that the garbage collector never looks inside, and loses no
// entry before its end.
//
// A tag has two homes, and its entry is in either of them (cuckoo hashing), so
// that looking it up reads two places of memory, however full the table is.
// What has ended is room for others.
//
// Times are ticks. They must not run backwards from one call to the next: what
// has been overwritten cannot live again.
type table[V any] struct {
	buckets []bucket[V]
	last    uint32 // everything has ended with this tick
	fitted  uint32 // when fit last ran
}

type bucket[V any] [bucketEntries]entry[V]

type entry[V any] struct {
	val V // first, as at the end a value without size would be padded
	tag tag
	end uint32
}

const (
	bucketEntries = 8

	// fitTicks is how often a table in use looks whether it is too large: nine
	// minutes.
	fitTicks = 32
)

// find returns the live entry of a tag, or nil.
func (t *table[V]) find(k tag, now uint32) *entry[V] {
	if len(t.buckets) == 0 {
		return nil
	}
	first, second := t.homes(k)
	if e := first.find(k, now); e != nil {
		return e
	}
	return second.find(k, now)
}

// add makes an entry for a tag that has none. It is valid until the next add.
func (t *table[V]) add(k tag, now, end uint32) *entry[V] {
	t.sweep(now)
	if now-t.fitted >= fitTicks {
		t.fit(now)
	}
	e := t.room(k, now)
	*e = entry[V]{tag: k}
	t.extend(e, end)
	return e
}

// extend keeps an entry until end, unless it is kept for longer already.
func (t *table[V]) extend(e *entry[V], end uint32) {
	e.end = max(e.end, end)
	t.last = max(t.last, end)
}

// sweep gives the memory back once everything has ended.
func (t *table[V]) sweep(now uint32) {
	if t.last <= now {
		t.buckets = nil
	}
}

func (t *table[V]) homes(k tag) (first, second *bucket[V]) {
	n := len(t.buckets)
	return &t.buckets[k.home(n)], &t.buckets[k.otherHome(n)]
}

// room returns an entry in a home of k, which must be overwritten.
func (t *table[V]) room(k tag, now uint32) *entry[V] {
	if e := t.free(k, now); e != nil {
		return e
	}
	n := len(t.buckets)
	t.resize(n+n/8+1, now)
	return t.room(k, now)
}

func (t *table[V]) free(k tag, now uint32) *entry[V] {
	if len(t.buckets) == 0 {
		return nil
	}
	first, second := t.homes(k)
	e := first.free(now)
	if e == nil {
		e = second.free(now)
	}
	if e == nil {
		e = t.displace(first, now)
	}
	if e == nil {
		e = t.displace(second, now)
	}
	return e
}

// displace moves an entry of a full bucket to its other home, and returns the
// one to be overwritten, or nil if none can move.
func (t *table[V]) displace(full *bucket[V], now uint32) *entry[V] {
	for i := range full {
		e := &full[i]
		other, second := t.homes(e.tag)
		if other == full {
			other = second
		}
		if free := other.free(now); free != nil {
			*free = *e
			return e
		}
	}
	return nil
}

func (t *table[V]) resize(n int, now uint32) {
	old := t.buckets
	t.buckets = slices.Grow([]bucket[V](nil), n)
	t.buckets = t.buckets[:cap(t.buckets)] // all that was allocated
	for i := range old {
		for _, e := range &old[i] {
			if e.end > now {
				*t.room(e.tag, now) = e
			}
		}
	}
}

// fit makes a table smaller that is less than three quarters full: a moment of
// many claims, or of bad luck with displace, need not be paid for ever.
func (t *table[V]) fit(now uint32) {
	t.fitted = now
	live := 0
	for i := range t.buckets {
		for _, e := range &t.buckets[i] {
			if e.end > now {
				live++
			}
		}
	}
	if n := live*7/6/bucketEntries + 1; n < len(t.buckets)*7/8 {
		t.resize(n, now)
	}
}

func (b *bucket[V]) find(k tag, now uint32) *entry[V] {
	for i := range b {
		if e := &b[i]; e.tag == k && e.end > now {
			return e
		}
	}
	return nil
}

// free returns an entry that has ended, or nil.
func (b *bucket[V]) free(now uint32) *entry[V] {
	for i := range b {
		if e := &b[i]; e.end <= now {
			return e
		}
	}
	return nil
}
