package scope_test

import (
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// A segment is granted only where a chain has
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

// A list has far more segments than chains.
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
