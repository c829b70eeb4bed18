package scope_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
)

// ours is a grammar with numbers for identifiers.
var ours = &scope.Grammar{Identifier: func(s string) bool { return strings.Trim(s, "0123456789:") == "" }}

func TestOwnIdentifiers(t *testing.T) {
	set, err := ours.Compile("token", "object.read.c_a.12:34", "object.read.c_b.*.name", "view.execute.77:1", "script.route.r")
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]bool{
		"the instance":                 set.Allows(ours.Object(scope.Read, "c_a", "12:34", "")),
		"a property of an instance":    set.Allows(ours.Object(scope.Read, "c_b", "5", "name")),
		"the view":                     set.Allows(ourNeed("view.execute.77:1")),
		"the route":                    set.Allows(ourNeed("script.route.r")),
		"another instance":             !set.Allows(ours.Object(scope.Read, "c_a", "12", "")),
		"no standard identifier":       !ours.Object(scope.Read, "c_a", id1, "").Valid(),
		"a number in the standard one": !scope.Object(scope.Read, "c_a", "12", "").Valid(),
		"a deployment":                 ourNeed("deployment.execute.1:2").Valid(),
	} {
		if !got {
			t.Error(what)
		}
	}
	if _, err := ours.Parse("object.read.c_a.name"); err == nil {
		t.Error("a property was read as an identifier")
	}
	if ids, all := set.On(scope.Read, "c_a").IDs(); all || cmp.Diff([]string{"12:34"}, ids) != "" {
		t.Error(ids, all)
	}
}

// Whatever Grammar.Identifier accepts, an identifier is one segment.
func TestOwnIdentifiersAreNeverAskedAboutMoreThanASegment(t *testing.T) {
	anything := &scope.Grammar{Identifier: func(string) bool { return true }}
	for _, id := range []string{"", "*", "a.b", "a#b", "a[]", "a b", "a/b", "a%2eb", "a\x00", "é", "a,b"} {
		if id != "" && anything.Object(scope.Read, "c_a", id, "").Valid() {
			t.Errorf("%q is an identifier", id)
		}
	}
	long := strings.Repeat("1", 512-len("object.read.c_a."))
	if !anything.Object(scope.Read, "c_a", long[1:], "").Valid() || anything.Object(scope.Read, "c_a", long+"1", "").Valid() {
		t.Error("a need has at most 512 bytes")
	}
}

func ourNeed(text string) scope.Need {
	n, err := ours.ParseNeed(text)
	if err != nil {
		panic(err)
	}
	return n
}

// TestIdentifierIsAskedOnce: a grammar's own identifiers may be slow to recognise.
func TestIdentifierIsAskedOnce(t *testing.T) {
	for chain, want := range map[string]int{
		"object.read.c_note.x": 1, "object.read.c_note.x.c_text": 1, "object.read.c_note.*.c_text": 0, "object.read.c_note": 0,
	} {
		for _, accepted := range []bool{true, false} {
			asked := 0
			g := &scope.Grammar{Identifier: func(s string) bool { asked++; return s == "x" && accepted }}
			if g.Parse(chain); asked != want {
				t.Errorf("%s: asked %d times, want %d", chain, asked, want)
			}
		}
	}
}

func TestChainsOf33SegmentsIn64Bytes(t *testing.T) {
	for _, chain := range []string{
		strings.Repeat(".*", 32), strings.Repeat("*.", 32), strings.Repeat(".", 32), "a" + strings.Repeat(".*", 31) + ".", "object" + strings.Repeat(".", 32),
	} {
		if _, err := new(scope.Grammar).Parse(chain); err == nil || !strings.Contains(err.Error(), "at most 32 segments") {
			t.Errorf("%s: %v", chain, err)
		}
	}
}
