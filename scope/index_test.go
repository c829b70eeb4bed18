package scope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// One table holds the segments of all depths. A segment is granted only where a chain has
// it, and not below another name.
func TestEqualSegmentsInOtherPlaces(t *testing.T) {
	var chains []string
	for i := range 500 {
		chains = append(chains, fmt.Sprintf("object.read.c_%d.%s", i, id1), fmt.Sprintf("object.read.d_%d.%s", i, id2))
	}
	set := compile(t, chains...)
	for i := range 500 {
		granted, other := scope.Object(scope.Read, fmt.Sprint("c_", i), id1, ""), scope.Object(scope.Read, fmt.Sprint("d_", i), id1, "")
		if !set.Allows(granted) || set.Allows(other) || set.Overlaps(other) {
			t.Fatalf("%s: %t, %s: %t", granted, set.Allows(granted), other, set.Allows(other))
		}
	}
}

// The table grows with the segments. A list has far more segments than chains.
func TestLongChainsOfFewLetters(t *testing.T) {
	chains := hostile(64)
	set := compile(t, chains...)
	for _, text := range chains {
		if !set.Allows(need(t, text)) || set.Allows(need(t, text[:len(text)-1])) {
			t.Errorf("%.60s… is not decided by itself", text)
		}
	}
}

func TestOverlapsBelowATypedName(t *testing.T) {
	set := compile(t, "object.read.c_a#t."+id1+".name", "object.read.c_b")
	for text, want := range map[string]bool{
		"object.read.c_a":                       true,
		"object.read.c_a." + id1:                true,
		"object.read.c_a." + id1 + ".name.last": true,
		"object.read.c_a." + id2:                false,
		"object.read.c_a." + id1 + ".born":      false,
		"object.read.c_a#u":                     false,
		"object.read.c":                         false,
	} {
		if got := set.Overlaps(need(t, text)); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// The author of a list must not choose the slots: each slot that nodes share costs one step
// of a search.
func TestChosenPathsShareNoSlotsBeyondChance(t *testing.T) {
	for what, chains := range map[string][]string{"sums": equalSums(), "lengths": twoLengths()} {
		pairs, nodes, slots := compile(t, chains...).Sharing()
		if chance := nodes * (nodes - 1) / 2 / slots; len(chains) < 500 || pairs > 2*chance {
			t.Errorf("%s: %d pairs of %d nodes share one of %d slots, by chance %d would", what, pairs, nodes, slots, chance)
		}
	}
}

func path(set, places int, a, b string) string {
	var path strings.Builder
	for at := range places {
		path.WriteString([]string{a, b}[set>>at&1])
	}
	return "object.read.c_a." + id1 + path.String()
}

// equalSums returns paths that consist of two different segments. The second segment stands
// at depths that give the same sum. A hash that multiplies by the constant and adds gives
// all of them equal lower bits, whatever its key.
func equalSums() (chains []string) {
	const constant, places, low = uint64(0x9e3779b97f4a7c15), 22, 1<<12 - 1
	for set := range 1 << places {
		sum := uint64(0)
		for at := range places {
			sum = sum*constant + uint64(set>>at&1)
		}
		if sum&low == 1 && len(chains) < 1000 {
			chains = append(chains, path(set, places, ".a", ".b"))
		}
	}
	return chains
}

// twoLengths returns paths that consist of two different segments. Both have the same first
// eight bytes, and their last eight bytes differ as their lengths do. A hash that adds the
// length to those bytes gives one value for both, whatever its key.
func twoLengths() (chains []string) {
	for set := range 1000 {
		chains = append(chains, path(set, 10, ".cabbbbbbb", ".cabbbbbbbb"))
	}
	return chains
}
