package session

import "time"

// Memory is a Store, an Attempts and a Factors in this process: when the
// process ends, so do all sessions, counts and second factors. It is for
// tests, for examples and for a server of one process that can ask its
// accounts to enrol again. Nothing of it is on a disk, so secrets are not
// sealed.
//
// It holds what has not ended yet, and for a while some of what has: each
// verb that adds looks at a few records and forgets the dead. It keeps copies
// and gives copies.
//
// The zero Memory is empty and ready; it must not be copied.
type Memory struct {
	Now func() time.Time // nil: time.Now

	sessions sessionTable
	attempts attemptTable
	factors  factorTable
}

var (
	_ Store    = (*Memory)(nil)
	_ Attempts = (*Memory)(nil)
	_ Factors  = (*Memory)(nil)
)

func (m *Memory) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

// looks is how many records a verb that adds one looks at. More than one or
// two, so that the dead stay fewer than the living.
const looks = 4

// sweep looks at a few records, whichever the map gives first, and drops those
// that are dead.
func sweep[K comparable, V any](records map[K]V, dead func(V) bool, drop func(K, V)) {
	left := looks
	for key, record := range records {
		if dead(record) {
			drop(key, record)
		}
		if left--; left == 0 {
			return
		}
	}
}

// inOrg names an account: its id is unique only within its org.
type inOrg struct{ org, account string }
