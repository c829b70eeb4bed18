package scope_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
)

// slowMeets returns what each chain of one list has in common with each of the other.
func slowMeets(a, b []string) (both []string) {
	for _, c := range a {
		for _, d := range b {
			c, _ := slowParse(c)
			d, _ := slowParse(d)
			if text, ok := slowMeet(c, d); ok && !slowMatchless(text) {
				both = append(both, text)
			}
		}
	}
	return both
}

// An intersection, also of three Sets and in a union, decides as the list of all that its
// chains have in common.
func TestIntersectionAllowsWhatBothAllow(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine: .ci/run core runs it")
	}
	allowed, some := 0, 0
	properties(t, func(t *testing.T, r *rand.Rand) {
		lists := [4][]string{}
		sets := [4]scope.Set{}
		for i := range lists {
			lists[i] = randomChains(r, 1+r.IntN(6))
			half := r.IntN(len(lists[i]))
			sets[i] = compile(t, lists[i][:half]...).Union(compile(t, lists[i][half:]...))
		}
		a, b, c, d := sets[0], sets[1], sets[2], sets[3]
		two, three := slowMeets(lists[0], lists[1]), slowMeets(slowMeets(lists[0], lists[1]), lists[2])
		for name, tt := range map[string]struct {
			set    scope.Set
			chains []string
		}{
			"a and b":               {a.Intersect(b), two},
			"a and b and c":         {a.Intersect(b).Intersect(c), three},
			"a and (b and c)":       {a.Intersect(b.Intersect(c)), three},
			"a and b, or d":         {a.Intersect(b).Union(d), slices.Concat(two, lists[3])},
			"d, or a and b":         {d.Union(a.Intersect(b)), slices.Concat(two, lists[3])},
			"c and (a and b, or d)": {c.Intersect(a.Intersect(b).Union(d)), slowMeets(lists[2], slices.Concat(two, lists[3]))},
			"a and nothing":         {a.Intersect(scope.Set{}), nil},
			"nothing and a":         {scope.Set{}.Intersect(a), nil},
			"a and b, or nothing":   {a.Intersect(b).Union(scope.Set{}.Intersect(c)), two},
		} {
			want := compile(t, tt.chains...)
			for range 5 {
				n := need(t, randomChain(r))
				if slowMatchless(n.String()) {
					continue // no caller needs what nothing can match
				}
				if got := tt.set.Allows(n); got != want.Allows(n) || tt.set.Explain(n).Allowed != got {
					t.Fatalf("%s: %q allow %s: %t", name, lists, n, got)
				} else if got {
					allowed++
				}
				if got := tt.set.Overlaps(n); got != want.Overlaps(n) {
					t.Fatalf("%s: %q overlap %s: %t", name, lists, n, got)
				}
			}
			verb, object, id, path := scope.Verb(pick(r, someVerbs[1:])), pick(r, someNames[1:]), pick(r, someIDs[2:]), randomPath(r)
			got, grant := tt.set.On(verb, object), want.On(verb, object)
			ids, all := got.IDs()
			wantIDs, wantAll := slowIDs(tt.chains, string(verb), object)
			if diff := cmp.Diff(wantIDs, ids); diff != "" || all != wantAll {
				t.Fatalf("%s: %q on %s %s: all %t, %s", name, lists, verb, object, all, diff)
			}
			if some += len(ids); verb != scope.Create && (verb != scope.Delete || path == "") && got.Of(id)(path) != grant.Of(id)(path) || verb != scope.Delete && got.Property(path) != grant.Property(path) {
				t.Fatalf("%s: %q on %s %s: %s of %s", name, lists, verb, object, path, id)
			}
			// Nobody can pass on more than both, and both can be passed on.
			if len(tt.set.Missing(want)) > 0 || len(want.Missing(tt.set)) > 0 || len(tt.set.Missing(tt.set)) > 0 {
				t.Fatalf("%s: %q lack %v or have %v", name, lists, tt.set.Missing(want), want.Missing(tt.set))
			}
			if given := compile(t, randomChain(r)); (len(tt.set.Missing(given)) == 0) != (len(want.Missing(given)) == 0) {
				t.Fatalf("%s: %q without %v", name, lists, tt.set.Missing(given))
			}
		}
	})
	if allowed < 1000 || some < 300 {
		t.Fatalf("only %d needs were allowed, and %d instances", allowed, some)
	}
}

// An intersection is explained by the Set that denies, and reports every typing error.
func TestIntersectionSaysWhy(t *testing.T) {
	both := compile(t, "object.read", "shop.sell").Intersect(compile(t, "object", "shp.sell").Union(compile(t, "y.z")))
	if got := collect(both.Unknown()); len(got) != 3 || got[0][0] != "shop.sell" || got[1][0] != "shp.sell" {
		t.Errorf("unknown %q", got)
	}
	for range both.Unknown() {
		break
	}
	record, _ := scope.Compile("credential", "object")
	role, _ := scope.Compile("role reader", "object.read.c_a")
	both = record.Intersect(role)
	for text, want := range map[string]scope.Reason{
		"object.update.c_a": {Chain: "object.read.c_a", Source: "role reader", Segment: 1},
		"script.runner":     {Chain: "object", Source: "credential"},
	} {
		if got := both.Explain(need(t, text)); got != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
	for chain, source := range both.Chains() {
		if chain != "object.read.c_a" || source != "credential and role reader" {
			t.Error(chain, source)
		}
		break
	}
}

// Pairs cost time also if they have nothing in common. Beyond the bound an answer is no,
// while decisions about operations stay right.
func TestIntersectionIsBoundedInTime(t *testing.T) {
	pairs := func(record, roles int) scope.Set {
		titles, ids := make([]string, record), make([]string, roles)
		for i := range titles {
			titles[i] = fmt.Sprintf("object.read.c_note.*.p%d", i)
		}
		for i := range ids {
			ids[i] = fmt.Sprintf("object.read.c_note.%024x.q%d", i, i)
		}
		ids[roles-1] = fmt.Sprintf("object.read.c_note.%024x.p%d", roles-1, record-1)
		return compile(t, titles...).Intersect(compile(t, ids...))
	}
	for _, tt := range []struct {
		record, roles int
		found         bool
	}{{1024, 32, true}, {32, 1024, true}, {1024, 1024, false}} {
		both := pairs(tt.record, tt.roles)
		id := fmt.Sprintf("%024x", tt.roles-1)
		began := time.Now()
		ids, all := both.On(scope.Read, "c_note").IDs()
		if overlaps := both.Overlaps(need(t, "object.read.c_note."+id)); overlaps != tt.found || slices.Contains(ids, id) != tt.found || all || len(ids) > 1 {
			t.Errorf("%d and %d: overlaps %t, %d instances", tt.record, tt.roles, overlaps, len(ids))
		}
		t.Logf("%d and %d: %s", tt.record, tt.roles, time.Since(began))
		last := fmt.Sprintf("p%d", tt.record-1)
		if keep := both.On(scope.Read, "c_note").Of(id); !keep(last) || keep("p0") || keep("q0") || keep("") {
			t.Errorf("%d and %d: other properties", tt.record, tt.roles)
		}
		began = time.Now()
		missing := scope.Set{}.Missing(both)
		t.Logf("%d chains are missing: %s", len(missing), time.Since(began))
		common := 0
		for range both.Chains() {
			common++
		}
		if common > 0 != tt.found {
			t.Errorf("%d and %d: %d chains in common", tt.record, tt.roles, common)
		}
		if want := map[bool]int{true: 1, false: tt.record}[tt.found]; len(missing) != want {
			t.Errorf("%d and %d: %d missing", tt.record, tt.roles, len(missing))
		}
	}
	// Chains of other objects are no pairs.
	others := strings.Fields(strings.Repeat("object.update.c_other ", 1000))
	both := compile(t, append(others, "object.read.c_note")...).Intersect(compile(t, append(others, "object.read.c_note."+id1)...))
	if ids, _ := both.On(scope.Read, "c_note").IDs(); !slices.Equal(ids, []string{id1}) {
		t.Error(ids)
	}
}
