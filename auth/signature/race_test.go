//go:build race

package signature_test

// The race detector allocates on its own.
const raceEnabled = true
