package replaytable

// bucket is as large as a line of the processor's cache, so that all of it is
// there after one wait for memory.
type bucket [bucketEntries]Entry

const bucketEntries = 4

// Entry is what is remembered under a tag.
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

// ended returns the set of entries that have ended, without a branch: which they
// are is as good as random.
func (b *bucket) ended(now uint32) uint {
	at := uint64(now) + 1
	return uint((uint64(b[0].end)-at)>>63 | (uint64(b[1].end)-at)>>63<<1 |
		(uint64(b[2].end)-at)>>63<<2 | (uint64(b[3].end)-at)>>63<<3)
}
