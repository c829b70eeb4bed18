// Package storetest checks implementations of the storage interfaces, as named
// subtests. The interface's comment is the contract, and each subtest checks one
// sentence of it. This module runs the suites against its own stores.
//
// # What is not checked
//
//   - Whether confirmed writes survive when the engine is killed, loses power or
//     fails over.
//   - What another process that shares the store sees.
//   - Whether secrets are sealed.
//   - How long a call takes.
//
// # Compatibility
//
// A version may add subtests. Features may gain fields: write its literals with
// field names.
package storetest

import (
	"time"
)

// Features describes the store that a suite checks. The zero value is right for a
// store that reads the system clock.
type Features struct {
	// Now is the store's clock; nil: time.Now.
	Now func() time.Time

	// Pass advances that clock by d; nil: time.Sleep.
	Pass func(d time.Duration)

	// Stepwise is for a signing.Replays that claims in several steps and cannot
	// undo them, as the comment of signing.SetOnce says. Such a store may record
	// the signature of a claim that it refuses for its nonce. It may also record
	// the nonce of a sibling that it refuses because the limit is reached.
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
