// Package storetest runs the contracts of the storage interfaces against an
// implementation, as named subtests: against those of this module, and against
// yours. The contract is the interface's comment; a subtest is one sentence of it.
//
// # What is not checked
//
// What becomes of what was confirmed when the engine is killed, loses power or
// fails over; what another process sees that shares it; whether secrets are
// sealed; and how long a call takes.
//
// # Compatibility
//
// A version may come with subtests that are new. Features may get more fields:
// write literals of it with keys.
package storetest

import (
	"time"
)

// Features is what a suite has to know of the store it runs against. The zero
// value is right for a store that reads the wall clock.
type Features struct {
	// Now is the store's clock; nil: time.Now.
	Now func() time.Time

	// Pass lets d pass on that clock; nil: time.Sleep.
	Pass func(d time.Duration)

	// Stepwise is for a signing.Replays that claims in steps which it cannot take
	// back, as signing.SetOnce does and its comment says. Such a store may record
	// the signature of a claim that was refused for its nonce, and the nonce of a
	// sibling for which there was no place.
	Stepwise bool
}

func (f Features) now() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

func (f Features) pass(d time.Duration) {
	if f.Pass == nil {
		time.Sleep(d)
		return
	}
	f.Pass(d)
}
