//go:build race

package signing_test

// The race detector allocates on its own.
const raceEnabled = true
