package signing

import "time"

// Elapse lets time pass on the store's clock. It may not be called beside
// Claim.
func (m *Memory) Elapse(d time.Duration) { m.start = m.start.Add(-d) }

// Entries returns for how many entries a store has memory: two are needed for
// a request, and one for a client key.
func (m *Memory) Entries() int {
	buckets := 0
	for i := range m.shards {
		s := &m.shards[i]
		buckets += cap(s.keys.buckets)
		for i := range s.nonces {
			buckets += cap(s.nonces[i].buckets) + cap(s.signatures[i].buckets)
		}
	}
	return buckets * bucketEntries
}
