package signing

import "time"

// Elapse lets time pass on the store's clock. It may not be called beside
// Claim.
func (m *Memory) Elapse(d time.Duration) { m.start = m.start.Add(-d) }

// Entries returns for how many entries a store has memory: two are needed for
// a request, and one for a client key.
func (m *Memory) Entries() int {
	entries := 0
	for i := range m.shards {
		s := &m.shards[i]
		entries += len(s.keys.keys)
		if s.table != nil {
			entries += s.table.Room()
		}
	}
	return entries
}
