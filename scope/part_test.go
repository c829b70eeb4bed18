package scope_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
)

func TestPartAnswersAsAllowsDoes(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		grants := randomChains(r, 1+r.IntN(6))
		set := compile(t, grants[:len(grants)/2]...).Union(compile(t, grants[len(grants)/2:]...))
		verb, name := scope.Verb(pick(r, someVerbs[1:])), pick(r, someNames[1:])
		grant := set.On(verb, name)
		for range 10 {
			path := randomPath(r)
			if got, want := grant.Property(path), set.Allows(scope.Object(verb, name, "", path)); got != want {
				t.Fatalf("%q on %s %s: property %q is %t", grants, verb, name, path, got)
			}
			if got, want := grant.Need("", path), scope.Object(verb, name, "", path); got != want {
				t.Fatalf("%s %s: the need for property %q is %s", verb, name, path, got)
			}
			id := pick(r, someIDs[2:])
			if got, want := grant.Need(id, path), scope.Object(verb, name, id, path); got != want {
				t.Fatalf("%s %s: the need for %s of %s is %s", verb, name, path, id, got)
			}
			if got, want := grant.Of(id)(path), set.Allows(scope.Object(verb, name, id, path)); got != want {
				t.Fatalf("%q on %s %s: %s of %s is %t", grants, verb, name, path, id, got)
			}
		}
		ids, all := grant.IDs()
		wantIDs, wantAll := slowIDs(grants, string(verb), name)
		if diff := cmp.Diff(wantIDs, ids); diff != "" || all != wantAll {
			t.Fatalf("%q on %s %s: all %t, %s", grants, verb, name, all, diff)
		}
	})
}

func randomPath(r *rand.Rand) string {
	segments := make([]string, r.IntN(4))
	for i := range segments {
		segments[i] = pick(r, someProperties)
	}
	return strings.Join(segments, ".")
}

// slowIDs returns the identifiers in chains that can match something of the object name.
func slowIDs(grants []string, verb, name string) (ids []string, all bool) {
	kind := "object." + verb + "." + name
	for _, grant := range grants {
		grant, _ = slowParse(grant)
		segments := strings.Split(grant, ".")
		head := strings.Join(segments[:min(3, len(segments))], ".")
		switch {
		case !slowCovers(head, kind) || !slowOverlaps(grant, kind):
		case len(segments) <= 3 || segments[3] == "*":
			return nil, true
		default:
			ids = append(ids, segments[3])
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), false
}

func TestPart(t *testing.T) {
	set := compile(t,
		"object.read.c_a."+id2, "object.read.c_a."+id1+".name", "object.*.c_a."+id3+".first", "object.read.c_a#t."+id1+".born",
		"object.read.c_b.*.name", "object.update.c_a", "object.create.c_c.*.name", "object.delete.*."+id1,
	)
	tests := []struct {
		name   string
		verb   scope.Verb
		object string
		ids    []string
		all    bool
	}{
		{"single instances, sorted and each once", scope.Read, "c_a", []string{id3, id1, id2}, false},
		{"a type sees what is granted on the name", scope.Read, "c_a#t", []string{id3, id1, id2}, false},
		{"a property of every instance is every instance", scope.Read, "c_b", nil, true},
		{"the whole kind", scope.Update, "c_a", nil, true},
		{"no verb implies another", scope.Update, "c_b", nil, false},
		{"every kind, one instance", scope.Delete, "c_b", []string{id1}, false},
		{"a property of an instance is no reason to delete it", scope.Delete, "c_a", []string{id1}, false},
		{"what is created has no identifier yet", scope.Create, "c_a", nil, false},
		{"creating with one property", scope.Create, "c_c", nil, true},
		{"an unknown verb", "purge", "c_a", nil, false},
		{"the star is no verb of a handler", "*", "c_a", nil, false},
		{"no name", scope.Read, "", nil, false},
		{"the star is no name", scope.Read, "*", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ids, all := set.On(tt.verb, tt.object).IDs()
			if diff := cmp.Diff(tt.ids, ids); diff != "" || all != tt.all {
				t.Error(all, diff)
			}
		})
	}
}

func TestPartOverManyLists(t *testing.T) {
	var set scope.Set
	paths := []string{"a", "b", "c", "d", "e", "f"}
	for _, path := range paths {
		set = set.Union(compile(t, "object.read.c_a."+id1+"."+path+".x"))
	}
	keep := set.On(scope.Read, "c_a").Of(id1)
	for _, path := range paths {
		if !keep(path+".x.y") || keep(path) || keep(path+".y") {
			t.Error(path)
		}
	}
}

func TestPartRefusesValuesOutsideTheGrammar(t *testing.T) {
	grant := scope.Unscoped().On(scope.Read, "c_a")
	for _, id := range []string{"", "*", "a.b", id1 + ".name", "ä", "a b"} {
		if grant.Of(id)("name") || id != "" && grant.Need(id, "name").Valid() {
			t.Errorf("instance %q", id)
		}
	}
	for _, path := range []string{".", "a.", ".a", "a..b", "*", "a.*", "a b", "ä", strings.Repeat("a.", 28) + "a"} {
		if grant.Of(id1)(path) || grant.Property(path) || grant.Need(id1, path).Valid() || grant.Need("", path).Valid() {
			t.Errorf("path %q", path)
		}
	}
	if long := strings.TrimSuffix(strings.Repeat(strings.Repeat("a", 40)+".", 12), "."); grant.Need(id1, long).Valid() || !grant.Need("", long[:400]).Valid() {
		t.Error("a need may be as long as a chain, and no longer")
	}
	for name, grant := range map[string]scope.Part{
		"the zero Part":   {},
		"the zero Set":    scope.Set{}.On(scope.Read, "c_a"),
		"an unknown verb": scope.Unscoped().On("purge", "c_a"),
		"a bad name":      scope.Unscoped().On(scope.Read, "C_a"),
	} {
		if ids, all := grant.IDs(); ids != nil || all || grant.Property("") || grant.Property("a") || grant.Of(id1)("") || grant.Of(id1)("a") {
			t.Error(name, "permits")
		}
		if grant.Need(id1, "a").Valid() && name != "the zero Set" {
			t.Error(name, "has needs")
		}
	}
}

func TestPartOfIdentifiersOfAnotherGrammar(t *testing.T) {
	set := compile(t, "object.read.c_a")
	if !set.On(scope.Read, "c_a").Of("order:1234")("name") {
		t.Error("a server's own items have the identifiers they have")
	}
}
