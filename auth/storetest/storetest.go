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

import "time"

// Features describes the store that a suite checks. The zero value is right for a
// store that reads the system clock.
type Features struct {
	// Now is the store's clock; nil: time.Now.
	Now func() time.Time

	// Pass advances that clock by d; nil: time.Sleep.
	Pass func(d time.Duration)

	// Account and Org return an id that no call has returned before, in the form of the
	// application's own ids. They are for a store whose columns hold no other text, such
	// as uuid. nil: any text. With one of them, a suite leaves out names of another form,
	// which such a column cannot hold. It still passes the empty text.
	Account, Org func() string
}
