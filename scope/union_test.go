package scope_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// Roles that are each narrowed by a ceiling and then united are as many parts as there are roles.
func TestUnionOfIntersectionsGrowsWithTheirNumber(t *testing.T) {
	var all scope.Set
	start := time.Now()
	for i := range 12 {
		all = all.Union(compile(t, fmt.Sprintf("object.read.c_%d", i)).Intersect(compile(t, "object.read")))
	}
	if took := time.Since(start); took > time.Second {
		t.Fatal(took)
	}
	for i := range 12 {
		part := all.On(scope.Read, fmt.Sprintf("c_%d", i))
		if _, every := part.IDs(); !every || !all.Allows(part.Need("", "")) || !all.Overlaps(part.Need(id1, "")) {
			t.Error(i, "is not permitted")
		}
	}
}

// A Set without chains in an intersection leaves nothing to compare.
func TestIntersectionWithNothingComparesNothing(t *testing.T) {
	var a, b scope.Set
	for i := range 4 {
		a = a.Union(compile(t, instances(1000)...))
		b = b.Union(compile(t, fmt.Sprintf("object.read.c_message.%024x", i)))
		b = b.Union(compile(t, instances(1000)...))
	}
	none := a.Intersect(b).Intersect(compile(t))
	start := time.Now()
	if none.Overlaps(scope.Object(scope.Read, "c_message", "", "")) || len(scope.Unscoped().Missing(none)) > 0 {
		t.Error("nothing permits something")
	}
	if took := time.Since(start); took > time.Second {
		t.Error(took)
	}
}
