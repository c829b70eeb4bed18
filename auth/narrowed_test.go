package auth

import (
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// Two short lists can have thousands of chains in common, for each account that a credential
// acts as. The cache of intersections must not keep them all.
func TestIntersectionsAreKeptInBoundedMemory(t *testing.T) {
	names, ids := make([]string, 64), make([]string, 64)
	for i := range names {
		names[i] = fmt.Sprintf("object.read.c_%d", i)
		ids[i] = fmt.Sprintf("object.*.*.%024x", i)
	}
	record, err := scope.Compile("credential", names...)
	if err != nil {
		t.Fatal(err)
	}
	roles, err := scope.Compile("role", ids...)
	if err != nil {
		t.Fatal(err)
	}
	var c narrowedSets
	narrow := func(name string) {
		t.Helper()
		both, err := c.intersect(source{"acme", "credential", name}, record, roles)
		if err != nil || countChains(both) != 4096 {
			t.Fatal(countChains(both), err)
		}
		kept := 0
		for _, n := range c.sets {
			kept += countChains(n.both)
		}
		if kept > maxNarrowedChains || kept != c.chains {
			t.Fatalf("%d chains are kept, and %d counted", kept, c.chains)
		}
	}
	for i := range 30 {
		narrow(fmt.Sprint("key as ", i))
	}
	for range 3 {
		record, _ = scope.Compile("credential", names...)
		narrow("key as 29")
	}
}
