package scope_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// A segment is granted only where a chain has it, and not below another name.
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

// A node with many children has a map of them. What a segment covers among them is found, too.
func TestOverlapsAmongManyChildren(t *testing.T) {
	var chains []string
	for i := range 20 {
		chains = append(chains, fmt.Sprintf("object.read.c_a#t%d.%024x.p%d", i, i, i), fmt.Sprintf("object.read.c_b.%024x.p%d", i, i))
	}
	for _, set := range []scope.Set{compile(t, chains...), compile(t, chains...).Intersect(compile(t, "object.read"))} {
		for i := range 20 {
			for _, text := range []string{"object.read.c_a", "object.read.c_a#t%d", "object.read.*.%024x", "object.read.c_b.*.p%d", "object.*.*.*.p%d", "object.read.c_b.%024x", "object"} {
				if strings.Contains(text, "%") {
					text = fmt.Sprintf(text, i)
				}
				if !set.Overlaps(need(t, text)) {
					t.Errorf("%s overlaps nothing", text)
				}
			}
			for _, text := range []string{"object.update.c_a", "object.read.c_a#u", "object.read.c_c.%024x", "object.read.c_b.%024x.q", "object.create.c_b"} {
				if strings.Contains(text, "%") {
					text = fmt.Sprintf(text, i)
				}
				if set.Overlaps(need(t, text)) {
					t.Errorf("%s overlaps", text)
				}
			}
		}
		if ids, all := set.On(scope.Read, "c_b").IDs(); len(ids) != 20 || all {
			t.Error(ids, all)
		}
	}
}
