//go:build race

package signing_test

// The race detector makes allocations of its own.
const raceEnabled = true
