package session

import (
	"context"
	"time"
)

// Attempts counts tries at passwords and codes, and spaces them out once there
// were many. It never locks for good.
//
// A try is counted before the password is looked at: of any number that run at
// once no more than free go ahead. Keys are hashed by the Manager, so that no
// identifier is kept; they are 64 hex digits.
//
// Each verb is one atomic step. A count is forgotten a day after its latest
// try; one whose time is before others', by a clock that is behind, is counted
// like any other. Implementations are safe for concurrent use, in this process and in
// others that share the store, and return when ctx ends.
type Attempts interface {
	// Try counts a try at the time at, and returns how many there are with it.
	// From the free-th on, each one sets a delay: a second, doubled with each
	// further try, 15 minutes at most. A try inside the delay is not counted:
	// then the count is what it was and until is the delay's end. Otherwise
	// until is zero.
	Try(ctx context.Context, key string, at time.Time, free int) (count int, until time.Time, err error)

	// Return takes the latest try back, and the delay it has set, for one that
	// turned out right or was never looked at. Nothing is kept of a key whose only
	// try is returned. It is not an error if there is none, nor does it change
	// what the next try counts, however many run at once.
	Return(ctx context.Context, key string) error

	// Reset forgets the key: the account has proved itself.
	Reset(ctx context.Context, key string) error
}

// Delay returns how long the tries after the count-th are refused when the
// first free of them are not delayed: what an Attempts computes.
func Delay(count, free int) time.Duration {
	const (
		first   = time.Second
		longest = 15 * time.Minute
	)
	if count < free {
		return 0
	}
	// 2^10 s is beyond the longest delay, and a larger shift would overflow.
	return min(first<<min(count-free, 10), longest)
}
