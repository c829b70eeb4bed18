package auth_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// uncovered lists the paths that a refusal of MayWrite names. granted is true if there is no
// refusal.
func uncovered(t *testing.T, err error) (paths []string, granted bool) {
	t.Helper()
	if err == nil {
		return nil, true
	}
	e, ok := err.(*auth.Error)
	if !ok || e.Detail != auth.DetailScope || e.Path != "" {
		t.Fatalf("%T: %v", err, err)
	}
	for _, child := range e.Faults {
		if child.Detail != auth.DetailScope {
			t.Errorf("child %v", child)
		}
		paths = append(paths, child.Path)
	}
	return paths, false
}

func TestMayWrite(t *testing.T) {
	const text, lang = "object.update.c_note.*.c_text", "object.update.c_note.*.c_meta.lang"
	paths := func(paths ...string) []string { return paths }
	tests := []struct {
		name   string
		chains []string
		verb   scope.Verb
		object string
		id     string
		paths  []string
		want   []string // uncovered
		none   bool     // refused, but not because of a path
	}{
		{"a property that a chain names", []string{text}, scope.Update, "c_note", id, paths("c_text"), nil, false},
		{"C14 another one", []string{text}, scope.Update, "c_note", id, paths("c_author"), paths("c_author"), false},
		{"C14 of several those that no chain names, sorted and each once", []string{text}, scope.Update, "c_note", id,
			paths("c_likes", "c_text", "c_author", "c_likes"), paths("c_author", "c_likes"), false},
		{"several chains, each for its own property", []string{text, lang}, scope.Update, "c_note", id, paths("c_text", "c_meta.lang"), nil, false},
		{"a wider chain", []string{"object.update.c_note"}, scope.Update, "c_note", id, paths("c_text", "c_author"), nil, false},
		{"any verb", []string{"object.*.c_note.*.c_text"}, scope.Update, "c_note", id, paths("c_text"), nil, false},
		{"everything", []string{"*"}, scope.Update, "c_note", id, paths("c_text"), nil, false},
		{"what is no path, within the whole", []string{"object.update"}, scope.Update, "c_note", id, paths("ä", "", "*", "a..b"), nil, false},
		{"C14 what is no path, by chains on properties", []string{text}, scope.Update, "c_note", id,
			paths("c_text", "", "*", "c_text.", "c_text.*", " c_text", "C_TEXT"), paths("", " c_text", "*", "C_TEXT", "c_text.", "c_text.*"), false},
		{"C14 no verb implies another", []string{"object.read", "object.create", "object.delete"}, scope.Update, "c_note", id, paths("c_text"), paths("c_text"), false},
		{"C14 another object", []string{text}, scope.Update, "c_memo", id, paths("c_text"), paths("c_text"), false},
		{"C14 no chain at all", nil, scope.Update, "c_note", id, paths("c_text"), paths("c_text"), false},

		{"C14 the whole of which a chain names a part", []string{lang}, scope.Update, "c_note", id, paths("c_meta"), paths("c_meta"), false},
		{"a part of what a chain names", []string{"object.update.c_note.*.c_meta"}, scope.Update, "c_note", id, paths("c_meta.lang", "c_meta"), nil, false},
		{"C14 a name that begins alike", []string{text}, scope.Update, "c_note", id, paths("c_text2"), paths("c_text2"), false},

		{"an array, as its path is written", []string{"object.update.c_note.*.c_set[]#c_foo.c_string_arr[]"}, scope.Update, "c_note", id,
			paths("c_set[]#c_foo.c_string_arr[]"), nil, false},
		{"C14 an array of another type, one above, one that is none", []string{"object.update.c_note.*.c_set[]#c_foo.c_string_arr[]"}, scope.Update, "c_note", id,
			paths("c_set[]#c_bar.c_string_arr[]", "c_set[]#c_foo", "c_set[]", "c_set", "c_set[]#c_foo.c_string_arr"),
			paths("c_set", "c_set[]", "c_set[]#c_bar.c_string_arr[]", "c_set[]#c_foo", "c_set[]#c_foo.c_string_arr"), false},
		{"an array of a type, by a chain on any", []string{"object.update.c_note.*.c_set[]"}, scope.Update, "c_note", id, paths("c_set[]#c_foo.c_string_arr[]"), nil, false},
		{"C14 an item of an array is no path", []string{"object.update.c_note.*.c_set[]"}, scope.Update, "c_note", id, paths("c_set[0]"), paths("c_set[0]"), false},

		{"one instance", []string{"object.update.c_note." + id + ".c_text"}, scope.Update, "c_note", id, paths("c_text"), nil, false},
		{"C14 another instance", []string{"object.update.c_note." + id + ".c_text", "object.update.c_note." + otherID + ".c_author"}, scope.Update, "c_note", otherID,
			paths("c_text", "c_author"), paths("c_text"), false},
		{"every instance", []string{text}, scope.Update, "c_note", "", paths("c_text"), nil, false},
		{"C14 every instance, by a chain on one", []string{"object.update.c_note." + id + ".c_text"}, scope.Update, "c_note", "", paths("c_text"), paths("c_text"), false},
		{"C14 an identifier that is none", []string{text}, scope.Update, "c_note", "*", paths("c_text"), paths("c_text"), false},
		{"an identifier of another grammar", []string{text}, scope.Update, "c_note", "42", paths("c_text"), nil, false},

		{"C14 a chain on a type, for an object without", []string{"object.update.c_note#c_memo.*.c_text"}, scope.Update, "c_note", id, paths("c_text"), paths("c_text"), false},
		{"a chain on a type, for one of it", []string{"object.update.c_note#c_memo.*.c_text"}, scope.Update, "c_note#c_memo", id, paths("c_text"), nil, false},
		{"a chain without a type, for one of any", []string{text}, scope.Update, "c_note#c_memo", id, paths("c_text"), nil, false},

		{"nothing, by a chain on some property", []string{text}, scope.Update, "c_note", id, nil, nil, false},
		{"nothing, of the instance that a chain names", []string{"object.update.c_note." + id + ".c_text"}, scope.Update, "c_note", id, nil, nil, false},
		{"C14 nothing, of another instance", []string{"object.update.c_note." + id + ".c_text"}, scope.Update, "c_note", otherID, nil, nil, true},
		{"C14 nothing, by a chain on a type", []string{"object.update.c_note#c_memo"}, scope.Update, "c_note", id, nil, nil, true},
		{"C14 nothing, without a chain", []string{"object.read"}, scope.Update, "c_note", id, nil, nil, true},

		{"a new instance that has only such properties", []string{"object.create.c_note.*.c_text"}, scope.Create, "c_note", "", paths("c_text"), nil, false},
		{"C14 one that has others", []string{"object.create.c_note.*.c_text"}, scope.Create, "c_note", "", paths("c_text", "c_author"), paths("c_author"), false},
		{"C14 one that has none", []string{"object.create.c_note.*.c_text"}, scope.Create, "c_note", "", nil, nil, true},
		{"one that has none, by a chain on the whole", []string{"object.create.c_note"}, scope.Create, "c_note", "", nil, nil, false},
		{"C14 a chain that names the instance before there is one", []string{"object.create.c_note." + id + ".c_text"}, scope.Create, "c_note", "", paths("c_text"), paths("c_text"), false},
		{"C14 deleting by a chain on a property", []string{"object.delete.c_note.*.c_text"}, scope.Delete, "c_note", id, nil, nil, true},
		{"C14 an unknown verb", []string{"*"}, "purge", "c_note", id, paths("c_text"), paths("c_text"), false},
		{"C14 the star is no verb", []string{"*"}, "*", "c_note", id, paths("c_text"), paths("c_text"), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := auth.Principal{Account: "ann", Scope: compiled(test.chains...)}
			got, granted := uncovered(t, p.MayWrite(test.verb, test.object, test.id, test.paths))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("uncovered (-want +got):\n%s", diff)
			}
			if want := test.want == nil && !test.none; granted != want {
				t.Errorf("granted: %t", granted)
			}
		})
	}
}

func TestMayWriteSaysWhatIsMissing(t *testing.T) {
	p := auth.Principal{Account: "ann", Scope: compiled("object.update.c_note.*.c_text")}
	err := p.MayWrite(scope.Update, "c_note", id, []string{"c_text", "c_author", "no path"})
	f := err.(*auth.Error).Fault()
	got := []string{f.Reason}
	for _, child := range f.Faults {
		got = append(got, child.Path+": "+child.Reason)
	}
	want := []string{"object.update.c_note." + id, "c_author: object.update.c_note." + id + ".c_author", "no path: "}
	if diff := cmp.Diff(want, got); diff != "" || f.Status != 403 {
		t.Errorf("%d (-want +got):\n%s", f.Status, diff)
	}
}

func TestMayWriteNamesSomeOfMany(t *testing.T) {
	var paths []string
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("p%d", i))
	}
	if got, granted := uncovered(t, auth.Principal{}.MayWrite(scope.Update, "c_note", id, paths)); granted || len(got) != 32 {
		t.Errorf("granted %t, %d named", granted, len(got))
	}
}

// The scope that a view has lifted is the one that MayWrite checks.
func TestMayWriteWithoutScope(t *testing.T) {
	p := auth.Principal{Account: "ann", Scope: compiled("view"), Granted: compiled("view")}
	for name, err := range map[string]error{
		"nobody":  auth.Principal{}.MayWrite(scope.Update, "c_note", id, nil),
		"a token": p.MayWrite(scope.Update, "c_note", id, []string{"c_text"}),
	} {
		if err == nil {
			t.Error(name)
		}
	}
	if err := p.WithoutScope().MayWrite(scope.Update, "c_note", id, []string{"c_text"}); err != nil {
		t.Error(err)
	}
}
