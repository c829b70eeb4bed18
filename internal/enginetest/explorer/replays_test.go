package explorer_test

import (
	"os"
	"testing"

	"github.com/tenantkit/tenantkit/internal/enginetest/explorer"
)

// depths are how many moves are explored of a world, in the gate and with LONG=1.
var depths = map[string][2]int{"Memory": {8, 12}, "SQLite": {6, 8}, "PostgreSQL": {6, 8}, "Redis": {6, 8}}

// TestReplays visits every interleaving of two instances, of the clocks and of the faults of each engine.
func TestReplays(t *testing.T) {
	for _, r := range explorer.Cases() {
		t.Run(r.String(), func(t *testing.T) {
			depth := depths[r.Engine][0]
			if os.Getenv("LONG") == "1" {
				depth = depths[r.Engine][1]
			}
			all, wrong := explorer.Explore(&r, depth)
			if wrong != "" {
				t.Fatalf("%s:%s", wrong, explorer.List(explorer.Way(all, len(all)-1)))
			}
			t.Logf("%d states within %d moves", len(all), depth)
		})
	}
}

// TestMistakes finds each mistake by a shortest history.
func TestMistakes(t *testing.T) {
	for _, r := range append(explorer.Mistakes, explorer.Exceptions...) {
		t.Run(r.String(), func(t *testing.T) {
			all, wrong := explorer.Explore(&r, 8)
			if wrong == "" {
				t.Fatalf("not found in %d states", len(all))
			}
			t.Logf("%s, found in %d states:%s", wrong, len(all), explorer.List(explorer.Way(all, len(all)-1)))
		})
	}
}
