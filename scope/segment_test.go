package scope_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

func parses(text string) bool {
	_, err := scope.Parse(text)
	return err == nil
}

// Each byte of a segment counts, at every offset.
func TestEachByteOfASegmentIsLookedAt(t *testing.T) {
	for what, segment := range map[string]struct{ before, good, bad string }{
		"an object name":       {"object.read.", "c_message-0", "A .*/é"},
		"a type":               {"object.read.c_a#", "c_memo9", "A #.*/é"},
		"a name with a type":   {"object.read.", "c_message#t", "A .*/é"},
		"a property":           {"object.read.c_a.*.", "c_Text-90", " */é"},
		"a property of a list": {"object.read.c_a.*.", "c_Tags-9[]", " */é"},
		"a property's type":    {"object.read.c_a.*.c_a#", "c_Foo-90", " #*/é"},
		"digits":               {"object.read.c_a.", id1, "g -_.*/é"},
		"a UUID":               {"object.read.c_a.", id3, "g _.*/é"},
		"a view":               {"view.execute.", "c_View-90", " #.*/é"},
		"a verb":               {"object.", "update", "A #*/é"},
		"an unknown root":      {"", "acme-9_x", "A #*/é"},
	} {
		if !parses(segment.before+segment.good) && what != "an unknown root" {
			t.Errorf("%s does not parse", what)
		}
		for i := range segment.good {
			for _, bad := range segment.bad {
				text := segment.before + segment.good[:i] + string(bad) + segment.good[i+1:]
				if set, err := scope.Compile("token", text); err == nil {
					t.Errorf("%s: %q compiles, %d chains", what, text, len(chainsOf(set)))
				}
			}
		}
	}
}

func TestUUIDs(t *testing.T) {
	if !parses("object.read.c_a." + strings.ToUpper(id3)) {
		t.Error("upper case does not parse")
	}
	for i, c := range id3 {
		instead := "0"
		if c != '-' {
			instead = "-"
		}
		id := id3[:i] + instead + id3[i+1:]
		if parses("object.read.c_a."+id) || scope.Object(scope.Read, "c_a", id, "").Valid() {
			t.Errorf("%s is an identifier", id)
		}
	}
}

func TestPropertySegments(t *testing.T) {
	forty := strings.Repeat("p", 40)
	for path, want := range map[string]bool{
		"a#b": true, "a[]#b": true, "A[]": true, forty + "[]#" + forty: true, forty + "." + forty: true, "a[].b[]": true,
		"a#b#c": false, "a[]#b#c": false, "#b": false, "[]": false, "a#": false, "a[]#": false, "a#b[]": false, "a[]b": false,
		forty + "p": false, forty + "p[]": false, "a#" + forty + "p": false, "a[].": false, ".a[]": false, "a[]..b": false,
	} {
		if got := parses("object.read.c_a.*." + path); got != want {
			t.Errorf("%s parses: %t", path, got)
		}
		if got := scope.Object(scope.Read, "c_a", id1, path).Valid(); got != want {
			t.Errorf("%s is a path: %t", path, got)
		}
	}
}

func TestUnknownRoots(t *testing.T) {
	for text, want := range map[string]bool{
		"zoo": true, "acme.*.x": true, "acme.c_set[]#c_foo.x": true, "acme.a:b@c": true, "acme.A": true,
		"Acme": false, "9acme": false, "_acme": false, "acme.a b": false, "acme..x": false, "acme.": false, "acme.*x": false,
	} {
		set, err := scope.Compile("token", text)
		if got := err == nil && len(collect(set.Unknown())) == 1; got != want {
			t.Errorf("%s is an unknown root: %t, %v", text, got, err)
		}
		if set.Overlaps(need(t, "object")) {
			t.Errorf("%s permits", text)
		}
	}
}
