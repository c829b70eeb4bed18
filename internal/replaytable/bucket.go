package replaytable

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
