package scope_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// Checks run on every request: they must not feed the garbage collector.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	set := compile(t, instances(1000)...).Union(compile(t, "object.*.*.*.name.first", "script.route.r", "object.read.c_b#t"))
	text := instance(500)
	id := text[len("object.read.c_message."):]
	both := set.Intersect(scope.Unscoped())
	granted, denied := need(t, text), need(t, "object.read.c_message."+id1+".name#x.last")
	kind := need(t, "object.read.c_message")
	long := []byte(strings.Repeat("x", 1<<16))
	for what, tt := range map[string]struct {
		allocations float64
		run         func()
	}{
		"a check that allows":     {0, func() { set.Allows(granted) }},
		"a check that denies":     {0, func() { set.Allows(denied) }},
		"an overlap":              {0, func() { set.Overlaps(denied) }},
		"a typed need":            {0, func() { set.Allows(scope.Object(scope.Read, "c_message", id, "name.first")) }},
		"a need of one instance":  {0, func() { set.Allows(standard.At(kind, id)) }},
		"a need from text":        {0, func() { n, _ := scope.ParseNeed(text); set.Allows(n) }},
		"the need of a script":    {0, func() { scope.ParseNeed("script.execute.route.r") }},
		"all chains":              {2, func() { set.Chains()(func(string, string) bool { return true }) }},
		"a reason, allowed":       {0, func() { set.Explain(granted) }},
		"a reason, denied":        {0, func() { set.Explain(denied) }},
		"a property of a list":    {0, func() { set.On(scope.Read, "c_message").Property("name.first") }},
		"paths of one instance":   {0, func() { keep := set.On(scope.Read, "c_message").Of(id1); keep("name.first"); keep("email") }},
		"compiling a list":        {5, func() { sink, _ = scope.Compile("token", text) }},
		"a union":                 {1, func() { sink = set.Union(scope.Unscoped()) }},
		"an intersection":         {1, func() { sink = set.Intersect(scope.Unscoped()) }},
		"a check of two Sets":     {0, func() { both.Allows(granted) }},
		"a long level, not valid": {6, func() { new(scope.Level).UnmarshalJSON(long) }},
		"a typed need, not valid": {0, func() { set.Allows(scope.Object(scope.Read, "c_message", "*", "")) }},
	} {
		if got := testing.AllocsPerRun(100, tt.run); got > tt.allocations {
			t.Errorf("%s allocates %v times, want %v", what, got, tt.allocations)
		}
	}
}

var (
	sink scope.Set
)
