package scope_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
)

// Every row of the table in section 5.5 of the interface: each element of each
// chain present, absent and as a star.
func TestTableOfChains(t *testing.T) {
	tests := map[string][]string{
		"": {"*"},
		"object": {
			"object", "object.create", "object.read", "object.update", "object.delete",
			"object.read.c_a", "object.read.c_a#c_t", "object.*.c_a", "object.read.c_a." + id1, "object.read.c_a#c_t." + id3,
			"object.read.*." + id1, "object.*.*." + id1, "object.read.c_a.*.name", "object.*.*.*.name", "object.read.c_a." + id1 + ".name.first",
			"object.read.c_a.*.c_set[]#c_foo.c_string_arr[]",
		},
		"script":     {"script", "script.route", "script.runner", "script.route." + id1, "script.route.c_name"},
		"view":       {"view", "view.execute", "view.execute.code", "view.execute." + id1, "view.execute.c_name", "view.*.c_name"},
		"deployment": {"deployment", "deployment.execute", "deployment.execute." + id1, "deployment.*." + id1, "deployment.execute.c_name"},
		"admin":      {"admin", "admin.read", "admin.update"},
	}
	for root, chains := range tests {
		for _, text := range chains {
			chain, err := scope.Parse(text)
			if err != nil || chain != text {
				t.Errorf("%q: %s, %v", text, chain, err)
			}
			starred, err := scope.Parse(text + ".*")
			if text != "*" && (err != nil || starred != chain) {
				t.Errorf("%q with a trailing star: %s, %v", text, starred, err)
			}
			if !scope.MustParse(root).Covers(scope.Chain(chain)) {
				t.Errorf("%q does not cover %q", root, text)
			}
		}
	}
}

func TestRulesOfSection55(t *testing.T) {
	t.Run("the empty chain: all operations as the subject", func(t *testing.T) {
		set := compile(t, "")
		for _, text := range []string{"object.delete.account." + id1, "script.runner", "view.execute.v", "deployment.execute.d", "admin.update"} {
			if !set.Allows(need(t, text)) {
				t.Error(text)
			}
		}
	})
	t.Run("script, script.execute and script.execute.* are equivalent", func(t *testing.T) {
		for _, alias := range []string{"script.execute", "script.execute.*", "script.*"} {
			if scope.MustParse(alias) != scope.MustParse("script") {
				t.Error(alias)
			}
		}
	})
	t.Run("an identifier limits scripts to one route", func(t *testing.T) {
		set := compile(t, "script.route.c_report")
		if !set.Allows(need(t, "script.route.c_report")) || set.Allows(need(t, "script.route.c_other")) || set.Allows(need(t, "script.runner")) {
			t.Error("not one route")
		}
	})
	t.Run("an identifier limits views and deployments to one", func(t *testing.T) {
		set := compile(t, "view.execute.c_v", "deployment.execute."+id1)
		if !set.Allows(need(t, "view.execute.c_v")) || set.Allows(need(t, "view.execute.c_w")) || !set.Allows(need(t, "deployment.execute."+id1)) || set.Allows(need(t, "deployment.execute."+id2)) {
			t.Error("not one")
		}
	})
	t.Run("rule 1: an identifier or * stands before a property", func(t *testing.T) {
		refused(t, "object.read.account.name", scope.SyntaxError{
			Segment: 3, Offset: 20, Got: "name", Expected: "an identifier or *; an identifier or * stands before a property: object.read.account.*.name",
		})
	})
	t.Run("rule 2: deployment.create is invalid, object.create.deployment is used instead", func(t *testing.T) {
		refused(t, "deployment.create", scope.SyntaxError{
			Segment: 1, Offset: 11, Got: "create", Expected: "execute or *; deployments themselves are objects: object.create.deployment",
		})
		if !compile(t, "object.create.deployment").Allows(scope.Object(scope.Create, "deployment", "", "")) {
			t.Error("object.create.deployment")
		}
	})
	t.Run("rule 3: the valid examples", func(t *testing.T) {
		for _, text := range []string{"object.read.account.*.name", "script.execute", "view.execute.c_view"} {
			if _, err := scope.Parse(text); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("rule 5: view.execute.<view_name> is all that a view needs", func(t *testing.T) {
		if set := compile(t, "view.execute.c_view"); !set.Allows(need(t, "view.execute.c_view")) || set.Allows(scope.Object(scope.Read, "c_a", "", "")) {
			t.Error("not the view alone")
		}
	})
}

// refused checks that the text does not parse, and compares the error with want.
func refused(t *testing.T, text string, want scope.SyntaxError) {
	t.Helper()
	_, err := scope.Parse(text)
	got, ok := errors.AsType[*scope.SyntaxError](err)
	if !ok {
		t.Fatalf("%q: %v", text, err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		t.Errorf("%q: %s", text, diff)
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, tt := range []struct {
		text string
		want scope.SyntaxError
	}{
		{"Object.read", scope.SyntaxError{Got: "Object", Expected: "a root, in lower case"}},
		{"billing.read", scope.SyntaxError{Got: "billing", Expected: "a root of the grammar"}},
		{"object.read.", scope.SyntaxError{Segment: 2, Offset: 12, Expected: "an object name or *"}},
		{"object.write", scope.SyntaxError{Segment: 1, Offset: 7, Got: "write", Expected: "create, read, update, delete or *"}},
		{"object.read.c_a.*.x.y[0].z", scope.SyntaxError{Segment: 5, Offset: 20, Got: "y[0]", Expected: "a property"}},
		{"script.execute.r", scope.SyntaxError{Segment: 2, Offset: 15, Got: "r", Expected: "route, runner, execute or *; one route is script.route.r"}},
		{"script.runner.r", scope.SyntaxError{Segment: 2, Offset: 14, Got: "r", Expected: "nothing more; the runner has no identifier: script.runner"}},
		{"object..c_a", scope.SyntaxError{Segment: 1, Offset: 7, Expected: "create, read, update, delete or *"}},
		{"object.read.c_a.na me", scope.SyntaxError{Segment: 3, Offset: 16, Got: "na me", Expected: "an identifier or *"}},
		{"script.a b", scope.SyntaxError{Segment: 1, Offset: 7, Got: "a b", Expected: "route, runner, execute or *"}},
		{"script.route.a b", scope.SyntaxError{Segment: 2, Offset: 13, Got: "a b", Expected: "the identifier of a route; the others are script.route and script.runner"}},
		{"script.route.route", scope.SyntaxError{Segment: 2, Offset: 13, Got: "route", Expected: "the identifier of a route; the others are script.route and script.runner"}},
		{"script.route.runner", scope.SyntaxError{Segment: 2, Offset: 13, Got: "runner", Expected: "the identifier of a route; the others are script.route and script.runner"}},
		{"deployment.start", scope.SyntaxError{Segment: 1, Offset: 11, Got: "start", Expected: "execute or *"}},
		{"view.update", scope.SyntaxError{Segment: 1, Offset: 5, Got: "update", Expected: "execute or *"}},
		{"billing.a b", scope.SyntaxError{Segment: 1, Offset: 8, Got: "a b", Expected: "a segment or *"}},
		{"admin.delete", scope.SyntaxError{Segment: 1, Offset: 6, Got: "delete", Expected: "read, update or *"}},
		{"admin.read.x", scope.SyntaxError{Segment: 2, Offset: 11, Got: "x", Expected: "nothing more"}},
		{"view.execute.a b", scope.SyntaxError{Segment: 2, Offset: 13, Got: "a b", Expected: "a name or an identifier"}},
		{strings.Repeat("a", 513), scope.SyntaxError{Offset: 512, Got: strings.Repeat("a", 64), Expected: "at most 512 bytes"}},
		{"object" + strings.Repeat(".x", 32), scope.SyntaxError{Segment: 32, Offset: 69, Got: "x", Expected: "at most 32 segments"}},
		{"object.read.c_a\x00", scope.SyntaxError{Segment: 2, Offset: 12, Got: "c_a\x00", Expected: "an object name or *"}},
		{"\x00", scope.SyntaxError{Got: "\x00", Expected: "a root, in lower case"}},
		{"object.read.c_a." + id1 + ".\u0085", scope.SyntaxError{Segment: 4, Offset: 41, Got: "\u0085", Expected: "a property"}},
		{"admin.read\r\n", scope.SyntaxError{Segment: 1, Offset: 6, Got: "read\r\n", Expected: "read, update or *"}},
		{"script.runner.\x7f", scope.SyntaxError{Segment: 2, Offset: 14, Got: "\x7f", Expected: "nothing more; the runner has no identifier: script.runner"}},
		{"view.execute." + strings.Repeat("a", 64) + "\t", scope.SyntaxError{Segment: 2, Offset: 13, Got: strings.Repeat("a", 64), Expected: "a name or an identifier"}},
		{"object.read." + strings.Repeat("é", 60), scope.SyntaxError{Segment: 2, Offset: 12, Got: strings.Repeat("é", 32), Expected: "an object name or *"}},
	} {
		refused(t, tt.text, tt.want)
	}
}

func TestSyntaxErrorReadsWell(t *testing.T) {
	_, err := scope.Compile("token", "object", "object.read.account.name\n", "deployment.create")
	want := `scope: chain 1, segment 4: got "name\n", expected an identifier or *
scope: chain 2, segment 2: got "create", expected execute or *; deployments themselves are objects: object.create.deployment`
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestCompileReportsEveryBadChain(t *testing.T) {
	set, err := scope.Compile("role", "object.read.c_a", "nope.", "billing.read", "script.execute.r", "admin")
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		t.Fatal(err)
	}
	var indexes []int
	for _, err := range joined.Unwrap() {
		e, ok := errors.AsType[*scope.SyntaxError](err)
		if !ok {
			t.Fatal(err)
		}
		indexes = append(indexes, e.Index)
	}
	if diff := cmp.Diff([]int{1, 3}, indexes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"object.read.c_a", "admin"}, chainsOf(set)); diff != "" {
		t.Error("the chains that parse:", diff)
	}
	if diff := cmp.Diff([][2]string{{"billing.read", "role"}}, collect(set.Unknown())); diff != "" {
		t.Error("unknown roots:", diff)
	}
}

func TestListsOfTooManyChains(t *testing.T) {
	_, compiled := scope.Compile("token", make([]string, 1025)...)
	for _, err := range []error{compiled, scope.Vet(make([]string, 1025)...)} {
		got, _ := errors.AsType[*scope.SyntaxError](err)
		if diff := cmp.Diff(&scope.SyntaxError{Index: 1024, Expected: "at most 1024 chains"}, got); diff != "" {
			t.Error(diff)
		}
	}
	if err := scope.Vet(make([]string, 1024)...); err != nil {
		t.Error(err)
	}
}

func TestVet(t *testing.T) {
	err := scope.Vet("object.read.c_a", "object.create.c_a."+id1+".x", "object.delete.c_a."+id1+".x.y", "object.delete.c_a.*.x", "billing.read", "object.", "*")
	want := []string{
		`scope: chain 1, segment 4: got "` + id1 + `", expected no identifier; nothing has an identifier before it is created: object.create.c_a`,
		`scope: chain 2, segment 5: got "x", expected no property; an object is deleted whole: object.delete.c_a.` + id1,
		`scope: chain 3, segment 5: got "x", expected no property; an object is deleted whole: object.delete.c_a`,
		`scope: chain 4, segment 1: got "billing", expected a root of the grammar`,
		`scope: chain 5, segment 2: got "", expected create, read, update, delete or *`,
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), err.Error()); diff != "" {
		t.Error(diff)
	}
	if err := scope.Vet(); err != nil {
		t.Error(err)
	}
}
