package session

// Len is how many records, accounts and earlier hashes are kept.
func (m *Memory) Len() (records, accounts, previous int) {
	t := &m.sessions
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, org := range t.orgs {
		accounts += len(org)
	}
	return len(t.records), accounts, len(t.previous)
}

// Counts is how many keys have a count.
func (m *Memory) Counts() int {
	m.attempts.mu.Lock()
	defer m.attempts.mu.Unlock()
	return len(m.attempts.counts)
}
