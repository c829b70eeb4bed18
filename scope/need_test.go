package scope_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

func TestTypedNeedsAreThoseOfTheText(t *testing.T) {
	for text, typed := range map[string]scope.Need{
		"object.read.c_a":                                     scope.Object(scope.Read, "c_a", "", ""),
		"object.create.c_a#c_t":                               scope.Object(scope.Create, "c_a#c_t", "", ""),
		"object.update.c_a." + id1:                            scope.Object(scope.Update, "c_a", id1, ""),
		"object.delete.c_a." + id3:                            scope.Object(scope.Delete, "c_a", id3, ""),
		"object.read.c_a.*.name":                              scope.Object(scope.Read, "c_a", "", "name"),
		"object.read.c_a." + id1 + ".c_set[]#c_foo.c_arr[].x": scope.Object(scope.Read, "c_a", id1, "c_set[]#c_foo.c_arr[].x"),
		"admin.read":                                          scope.Admin(scope.Read),
		"admin.update":                                        scope.Admin(scope.Update),
	} {
		if typed != need(t, text) || typed.String() != text || !typed.Valid() {
			t.Errorf("%s: %s", text, typed)
		}
	}
}

func TestNeedsOfValuesOutsideTheGrammarAreNotValid(t *testing.T) {
	deep := strings.Repeat("p.", 28) + "p"
	long := strings.Repeat(strings.Repeat("p", 39)+".", 12) + "p"
	for what, n := range map[string]scope.Need{
		"the zero Need":                {},
		"no name":                      scope.Object(scope.Read, "", "", ""),
		"the star as a name":           scope.Object(scope.Read, "*", "", ""),
		"a name in upper case":         scope.Object(scope.Read, "C_a", "", ""),
		"a name with a dot":            scope.Object(scope.Read, "c_a."+id1, "", ""),
		"the star as an identifier":    scope.Object(scope.Read, "c_a", "*", ""),
		"a name as an identifier":      scope.Object(scope.Read, "c_a", "name", ""),
		"an identifier with a path":    scope.Object(scope.Read, "c_a", id1+".name", ""),
		"the star as a path":           scope.Object(scope.Read, "c_a", id1, "*"),
		"a star in a path":             scope.Object(scope.Read, "c_a", id1, "name.*"),
		"a slash in a path":            scope.Object(scope.Read, "c_a", id1, "name/first"),
		"an empty segment":             scope.Object(scope.Read, "c_a", id1, "name..first"),
		"a leading dot":                scope.Object(scope.Read, "c_a", id1, ".name"),
		"a trailing dot":               scope.Object(scope.Read, "c_a", id1, "name."),
		"33 segments":                  scope.Object(scope.Read, "c_a", id1, deep),
		"more than 512 bytes":          scope.Object(scope.Read, "c_a", id1, long),
		"the star as a verb":           scope.Object("*", "c_a", "", ""),
		"a verb of another root":       scope.Object("execute", "c_a", "", ""),
		"creating as administration":   scope.Admin(scope.Create),
		"the star as administration":   scope.Admin("*"),
		"nothing as administration":    scope.Admin(""),
		"an identifier of 25 digits":   scope.Object(scope.Read, "c_a", id1+"0", ""),
		"an object's name of 41 bytes": scope.Object(scope.Read, strings.Repeat("n", 41), "", ""),
	} {
		if n.Valid() || n != (scope.Need{}) || scope.Unscoped().Allows(n) || n.String() != "" {
			t.Errorf("%s: %q", what, n)
		}
	}
}

// A need is as long as a chain may be, and not longer.
func TestNeedsOf512Bytes(t *testing.T) {
	text := "object.update.c_a." + id1 + strings.Repeat("."+strings.Repeat("p", 39), 11)
	text += "." + strings.Repeat("p", 512-len(text)-1)
	path := strings.TrimPrefix(text, "object.update.c_a."+id1+".")
	if typed := scope.Object(scope.Update, "c_a", id1, path); len(text) != 512 || typed.String() != text || typed != need(t, text) {
		t.Errorf("%d bytes: %q", len(text), typed)
	}
	if typed := scope.Object(scope.Update, "c_a", id1, path+"p"); typed.Valid() {
		t.Errorf("%d bytes are a need", len(typed.String()))
	}
}

// A typed need accepts a value exactly if ParseNeed accepts its text.
func TestTypedNeedsHaveTheBoundsOfTheText(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		name := strings.Repeat("n", 38+r.IntN(4))
		path := strings.TrimSuffix(strings.Repeat(strings.Repeat("p", 1+r.IntN(41))+".", r.IntN(30)), ".")
		typed := scope.Object(scope.Update, name, id3, path)
		parsed, err := scope.ParseNeed(strings.TrimSuffix("object.update."+name+"."+id3+"."+path, "."))
		if typed.Valid() != (err == nil) || typed != parsed {
			t.Fatalf("name of %d bytes, path %q: %t, %v", len(name), path, typed.Valid(), err)
		}
	})
}

func TestAt(t *testing.T) {
	colons := &scope.Grammar{Identifier: func(s string) bool { return strings.Contains(s, ":") }}
	for _, tt := range []struct {
		grammar        *scope.Grammar
		kind, id, want string
	}{
		{nil, "object.read.c_a", id1, "object.read.c_a." + id1},
		{nil, "object.*.c_a#t", id3, "object.*.c_a#t." + id3},
		{colons, "object.read.c_a", "a:b", "object.read.c_a.a:b"},
		{nil, "object.read.c_a", "", ""},
		{colons, "object.read.c_a", "", ""},
		{nil, "object.read.c_a", "*", ""},
		{nil, "object.read.c_a", "name", ""},
		{nil, "object.read.c_a", "a:b", ""},
		{colons, "object.read.c_a", "a:b.c", ""},
		{colons, "object.read.c_a", "a:" + strings.Repeat("b", 512), ""},
		{nil, "object.read.c_a." + id1, id1, ""},
		{nil, "object.read.c_a.*.name", id1, ""},
		{nil, "object.read", id1, ""},
		{nil, "view.execute", id1, ""},
	} {
		got := tt.grammar.At(need(t, tt.kind), tt.id)
		if got.String() != tt.want || got.Valid() != (tt.want != "") {
			t.Errorf("%s at %.20s: %q, want %q", tt.kind, tt.id, got, tt.want)
		}
		if !got.Valid() {
			continue
		}
		if read, err := tt.grammar.ParseNeed(tt.want); err != nil || got != read {
			t.Errorf("%s at %s is not what its text makes: %v", tt.kind, tt.id, err)
		}
	}
	if standard.At(scope.Need{}, id1).Valid() {
		t.Error("the zero Need is a kind")
	}
}
