package scope_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

const (
	id1 = "5f1e0c3a9b7d4e2f8a6c0b11"
	id2 = "5f1e0c3a9b7d4e2f8a6c0b12"
	id3 = "0e8cd18a-42f5-4cc2-9a3d-6b1c9f2e7d01"
)

// FuzzParse compares the parser with the slow one, on any bytes.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "*", "*.*", ".*", "object", "object.read.c_a#t." + id1 + ".c_set[]#c_foo.c_string_arr[]",
		"object.read.account.name", "script.execute.route.x", "script.*.x", "script.route.runner", "view.*.v",
		"deployment.create", "admin.read.*", "own.thing.~:@+=", "object.*.*.*.a", strings.Repeat("a.", 31) + "a",
		strings.Repeat("a.", 32) + "a", "object.read.\u0430ccount", "object.read.c_a.%2e", "a\x00b",
	} {
		f.Add(seed)
	}
	for _, row := range corpus(f) {
		f.Add(row.Need)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, verdict := slowParse(text)
		chain, err := scope.Parse(text)
		if (err == nil) != (verdict == good) {
			t.Fatalf("Parse(%q) = %v, want verdict %d", text, err, verdict)
		}
		if err != nil {
			checkSyntaxError(t, text, err)
		} else if chain != want {
			t.Fatalf("Parse(%q) = %s, want %s", text, chain, want)
		}
		set, err := scope.Compile("fuzz", text)
		if (err == nil) != (verdict != bad) {
			t.Fatalf("Compile(%q) = %v, want verdict %d", text, err, verdict)
		}
		if got := len(collect(set.Unknown())) == 1; got != (verdict == unknown) {
			t.Fatalf("Compile(%q): unknown is %t, want verdict %d", text, got, verdict)
		}
		need, err := scope.ParseNeed(text)
		if (err == nil) != (verdict == good && want != "*") || need.Valid() != (err == nil) {
			t.Fatalf("ParseNeed(%q) = %v, valid %t, want verdict %d", text, err, need.Valid(), verdict)
		}
		if err == nil && need.String() != want {
			t.Fatalf("ParseNeed(%q) = %s, want %s", text, need, want)
		}
		if vetted := scope.Vet(text) == nil; vetted != (verdict == good && !slowMatchless(want)) {
			t.Fatalf("Vet(%q) passes: %t", text, vetted)
		}
	})
}

// checkSyntaxError checks that the error points into the text.
func checkSyntaxError(t *testing.T, text string, err error) {
	t.Helper()
	e, ok := errors.AsType[*scope.SyntaxError](err)
	if !ok {
		t.Fatalf("%q: %T", text, err)
	}
	if e.Offset > len(text) || e.Expected == "" || len(e.Got) > 64 {
		t.Fatalf("%q: %+v", text, e)
	}
	if e.Offset < 512 && (!strings.HasPrefix(text[e.Offset:], e.Got) || strings.Count(text[:e.Offset], ".") != e.Segment) {
		t.Fatalf("%q: %+v", text, e)
	}
}

// FuzzAllows compares the decision with the slow matcher, on lists of any lines.
func FuzzAllows(f *testing.F) {
	for _, seed := range [][2]string{
		{"object.read.c_a\nobject.*.*." + id1 + ".name", "object.read.c_ab." + id1 + ".name2"},
		{"object.read.c_a#t\nobject.read.c_a.*.x[]", "object.read.c_a#tt." + id2 + ".x[]#t.y"},
		{"script.*.a\nview.*.a\nadmin", "script.route.a"},
		{"object.create.c_a." + id1 + "\nobject.delete.c_a.*.x", "object.delete.c_a.*.x"},
		{"*", "deployment.execute.d"},
		{"own.a\n\nobject", "object.read"},
	} {
		f.Add(seed[0], seed[1])
	}
	for _, row := range corpus(f) {
		f.Add(strings.Join(row.Grants, "\n"), row.Need)
	}
	f.Fuzz(func(t *testing.T, lines, text string) {
		checkDecision(t, strings.Split(lines, "\n"), text)
	})
}

// checkDecision compares every decision on a need with the slow matcher.
func checkDecision(t *testing.T, grants []string, text string) {
	t.Helper()
	if len(grants) > 1024 {
		return
	}
	need, err := scope.ParseNeed(text)
	canonical, verdict := slowParse(text)
	if (err == nil) != (verdict == good && canonical != "*") {
		t.Fatalf("ParseNeed(%q) = %v", text, err)
	}
	if err != nil {
		canonical = ""
	}
	set, _ := scope.Compile("fuzz", grants...)
	want, overlaps := false, false
	var live []string
	for _, grant := range grants {
		if grant, verdict := slowParse(grant); verdict == good && !slowMatchless(grant) {
			live = append(live, grant)
			want = want || need.Valid() && slowCovers(grant, canonical)
			overlaps = overlaps || need.Valid() && slowOverlaps(grant, canonical)
		}
	}
	if got := set.Allows(need); got != want {
		t.Fatalf("%q allow %q: %t, want %t", grants, text, got, want)
	}
	reason := set.Explain(need)
	if reason.Allowed != want {
		t.Fatalf("%q explain %q: %+v", grants, text, reason)
	}
	checkReason(t, live, canonical, reason)
	if got := set.Overlaps(need); got != overlaps {
		t.Fatalf("%q overlap %q: %t, want %t", grants, text, got, overlaps)
	}
}

// checkReason checks that the reason names a chain of the list, and that no other chain is
// nearer.
func checkReason(t *testing.T, live []string, need string, r scope.Reason) {
	t.Helper()
	if len(live) == 0 || need == "" {
		if r != (scope.Reason{}) {
			t.Fatalf("%q explain %q: %+v", live, need, r)
		}
		return
	}
	named, nearest := false, 0
	for _, grant := range live {
		named = named || grant == r.Chain
		nearest = max(nearest, slowShared(grant, need))
	}
	if !named || r.Source != "fuzz" {
		t.Fatalf("%q explain %q: %+v", live, need, r)
	}
	if r.Allowed && !slowCovers(r.Chain, need) ||
		!r.Allowed && (r.Segment != nearest || slowShared(r.Chain, need) != nearest) {
		t.Fatalf("%q explain %q: %+v, nearest %d", live, need, r, nearest)
	}
}

// slowShared counts the leading segments of a grant that the need satisfies. After its end
// a need means *.
func slowShared(grant, need string) int {
	g, n := strings.Split(grant, "."), strings.Split(need, ".")
	for i := range g {
		if i == len(n) {
			n = append(n, "*")
		}
		if !slowSegment(g[i], n[i]) {
			return i
		}
	}
	return len(g)
}

// FuzzOwnRoots checks that all functions agree on a text, in a grammar with its own roots
// and identifiers.
func FuzzOwnRoots(f *testing.F) {
	for _, seed := range []string{
		"queue", "queue.publish.mail.7.x", "queue.*.*.7", "queue.delete", "queue.publish.a b", "queue.publish.mail.7.x.y", "metrics", "metrics.read",
		"object.read.c_a.12:34", "object.read.c_a.name", "view.execute.77:1", "other.read", "queue..mail", "Queue", "*", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		chain, err := ours.Parse(cmp.Or(text, "*"))
		if err != nil {
			checkSyntaxError(t, text, err)
			if ours.Vet(text) == nil {
				t.Fatalf("Vet(%q) passes, Parse says %v", text, err)
			}
			return
		}
		if again, err := ours.Parse(chain); err != nil || again != chain {
			t.Fatalf("%q is %s, which is %s, %v", text, chain, again, err)
		}
		set, err := ours.Compile("fuzz", text)
		if err != nil || len(chainsOf(set)) != 1 {
			t.Fatalf("Compile(%q) = %v", text, err)
		}
		n, err := ours.ParseNeed(text)
		if everything := chain == "*"; (err != nil) != everything {
			t.Fatalf("ParseNeed(%q) = %v", text, err)
		}
		if want := n.Valid() && scope.Chain(chain).Covers(scope.Chain(chain)); set.Allows(n) != want || set.Explain(n).Allowed != want {
			t.Fatalf("%q allows itself: %t", text, !want)
		}
	})
}

var standard *scope.Grammar

// FuzzObject compares typed needs of any values with the text that they would make.
func FuzzObject(f *testing.F) {
	for _, seed := range [][4]string{
		{"read", "c_a#t", id1, "c_set[]#c_foo.c_arr[]"}, {"*", "*", "*", "*"}, {"update", "c_a", "", "name"}, {"read", "c_a", "name", ""},
		{"read", "c_a." + id1, id1, ""}, {"delete", "c_a", id3, "a..b"}, {"read", "c_a", id1, "a.*"}, {"read", "c_a", id1, strings.Repeat("a.", 27) + "a"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, verb, name, id, path string) {
		segments := []string{"object", verb, name}
		if id != "" || path != "" {
			segments = append(segments, cmp.Or(id, "*"))
		}
		if path != "" {
			segments = append(segments, strings.Split(path, ".")...)
		}
		want, err := scope.ParseNeed(strings.Join(segments, "."))
		// A value is never more than one segment, and never a star.
		valid := err == nil && verb != "*" && name != "*" && id != "*" && !strings.Contains(path, "*") && !strings.Contains(verb+name+id, ".")
		if !valid {
			want = scope.Need{}
		}
		if got := scope.Object(scope.Verb(verb), name, id, path); got != want {
			t.Fatalf("%q %q %q %q: %q, want %q", verb, name, id, path, got, want)
		}
		if path != "" || verb == "*" {
			return
		}
		kind := scope.Object(scope.Verb(verb), name, "", "")
		if id == "" || !kind.Valid() {
			want = scope.Need{}
		}
		if got := standard.At(kind, id); got != want || standard.At(got, id).Valid() {
			t.Fatalf("%q at %q: %q, want %q", kind, id, got, want)
		}
	})
}

// FuzzLevel checks that each text that parses gives a valid level, which is written as its
// number.
func FuzzLevel(f *testing.F) {
	for _, seed := range []string{`4`, `"read"`, `"4"`, `9`, `null`, `4.0`, `"Read"`, `""`, `"`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var level scope.Level
		if json.Unmarshal(text, &level) != nil {
			return
		}
		out, err := json.Marshal(level)
		if err != nil || len(out) != 1 || out[0] != '0'+byte(level) {
			t.Fatalf("%q: %s, %v", text, out, err)
		}
		if again, err := parseLevel(level.String()); err != nil || again != level {
			t.Fatalf("%q: %v, %v", text, again, err)
		}
	})
}
