package replaytable

// Table remembers tags. New makes one. It is not safe for concurrent use.
//
// Times are ticks of the caller's clock. They must not go back from one call to the
// next, because an expired entry may have been overwritten.
type Table struct {
	parts []part
	last  uint32 // with this tick everything has expired
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
// entry is valid until the next Add.
func (t *Table) Find(tag Tag, now uint32) *Entry { return t.part(tag).find(tag, now) }

// Add makes an entry for a tag that has none.
func (t *Table) Add(tag Tag, value, now, end uint32) {
	t.part(tag).add(Entry{tag, end, value}, now)
	t.last = max(t.last, end)
}

// Extend keeps an entry until end, unless it is kept for longer already.
func (t *Table) Extend(e *Entry, end uint32) {
	e.end = max(e.end, end)
	t.last = max(t.last, end)
}

// Ended reports whether everything has expired.
func (t *Table) Ended(now uint32) bool { return t.last <= now }

// Room returns for how many entries there is memory.
func (t *Table) Room() int {
	n := 0
	for i := range t.parts {
		n += len(t.parts[i].buckets) * bucketEntries
	}
	return n
}

func (t *Table) part(tag Tag) *part { return &t.parts[tag.part(len(t.parts))] }
