//go:build race

package signing_test

// replaysRaced says that the race detector is on: it allocates, and is slow.
const replaysRaced = true
