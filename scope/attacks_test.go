package scope_test

import (
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// The attacks on scopes, by their numbers in internal/docs/ATTACKS.md.
func TestAttacks(t *testing.T) {
	admin := need(t, "admin")

	t.Run("C01 a claim absent or empty grants nothing", func(t *testing.T) {
		for _, claim := range [][]string{nil, {}} {
			set := compile(t, claim...)
			if set.Allows(admin) || set.Overlaps(admin) || len(chainsOf(set)) > 0 {
				t.Errorf("%#v grants", claim)
			}
		}
	})
	t.Run("C01 the empty chain or * in a claim grants everything", func(t *testing.T) {
		for _, claim := range []string{"", "*"} {
			if !compile(t, claim).Allows(admin) {
				t.Errorf("%q grants nothing", claim)
			}
		}
	})
	t.Run("C01 a text that is missing is not everything", func(t *testing.T) {
		if chain, err := new(scope.Grammar).Parse(""); err == nil || chain != "" || !strings.HasSuffix(err.Error(), "everything is *") {
			t.Errorf("an unset variable became %q, %v", chain, err)
		}
	})

	t.Run("C02 does not parse, with a hint", func(t *testing.T) {
		for text, hint := range map[string]string{
			"object.read.account.name": "object.read.account.*.name",
			"deployment.create":        "object.create.deployment",
			"script.execute." + id1:    "script.route." + id1,
			"script.runner." + id1:     "script.runner",
			"script.route.runner":      "script.runner",
		} {
			if _, err := scope.Parse(text); err == nil || !strings.HasSuffix(err.Error(), hint) {
				t.Errorf("%q: %v, want a hint to %q", text, err, hint)
			}
		}
	})
	t.Run("C02b parses, matches nothing, refused at minting with a hint", func(t *testing.T) {
		for text, hint := range map[string]string{
			"object.create.c_a." + id1:        "object.create.c_a",
			"object.delete.c_a." + id1 + ".x": "object.delete.c_a." + id1,
		} {
			set := compile(t, text)
			if set.Allows(need(t, text)) || set.Overlaps(need(t, text)) || set.Overlaps(need(t, "object")) {
				t.Errorf("%q matches", text)
			}
			if err := scope.Vet(text); err == nil || !strings.HasSuffix(err.Error(), hint) {
				t.Errorf("%q: %v, want a hint to %q", text, err, hint)
			}
		}
	})

	t.Run("C03 does not parse", func(t *testing.T) {
		for _, text := range []string{"Object.read", "object.READ", " object", "object.", "object.read.", "..", ".", "object.read.acc*", "**", "*.object"} {
			if _, err := scope.Parse(text); err == nil {
				t.Errorf("%q parses", text)
			}
			if set, err := scope.Compile("token", text); err == nil || set.Overlaps(admin) {
				t.Errorf("%q compiles", text)
			}
		}
	})

	decisions(t, "C04 a near collision", []decision{
		{"object.read.c_a", "object.read.c_ab", false},
		{"object.read.c_a#t", "object.read.c_a#tt", false},
		{"object.read.c_a.*.name", "object.read.c_a.*.name2", false},
	})
	decisions(t, "C05 a name covers its types, not the reverse", []decision{
		{"object.read.c_a#x", "object.read.c_a", false},
		{"object.read.c_a", "object.read.c_a#x", true},
	})
	decisions(t, "C06 a path covers what is below, not the reverse", []decision{
		{"object.read.c_a.*.name", "object.read.c_a.*.name.first", true},
		{"object.read.c_a.*.name.first", "object.read.c_a.*.name", false},
	})
	t.Run("C06 a deeper path overlaps its parent, and Of keeps it alone", func(t *testing.T) {
		set := compile(t, "object.read.c_a.*.name.first")
		if !set.Overlaps(need(t, "object.read.c_a.*.name")) {
			t.Error("does not overlap")
		}
		keep := set.On(scope.Read, "c_a").Of(id1)
		if keep("name") || !keep("name.first") || keep("name.last") {
			t.Error("keeps others")
		}
	})
	decisions(t, "C07 bracketed array paths", []decision{
		{"object.read.c_a.*.c_set[]#c_foo.c_string_arr[]", "object.read.c_a.*.c_set[]#c_foo.c_string_arr[]", true},
		{"object.read.c_a.*.c_set[]", "object.read.c_a.*.c_set[]#c_foo.c_string_arr[]", true},
		{"object.read.c_a.*.c_set[]#c_foo.c_string_arr[]", "object.read.c_a.*.c_set[]", false},
	})
	t.Run("C07 half brackets and indexes do not parse", func(t *testing.T) {
		for _, path := range []string{"c_set[", "c_set[0]", "c_set]", "c_set[][]"} {
			if _, err := scope.Parse("object.read.c_a.*." + path); err == nil {
				t.Errorf("%q parses", path)
			}
			if scope.Object(scope.Read, "c_a", "", path).Valid() {
				t.Errorf("%q is a need", path)
			}
		}
	})
	t.Run("C08 the forms of script have one decision table", func(t *testing.T) {
		for _, form := range []string{"script", "script.*", "script.execute", "script.execute.*"} {
			set := compile(t, form)
			for _, n := range []scope.Need{need(t, "script.route.r"), need(t, "script.route."+id1), need(t, "script.runner"), need(t, "script"), need(t, "script.route"), need(t, "script.execute")} {
				if !set.Allows(n) {
					t.Errorf("%s on %s", form, n)
				}
			}
			for _, n := range []scope.Need{need(t, "view.execute.r"), scope.Admin(scope.Read), scope.Object(scope.Read, "script", "", "")} {
				if set.Overlaps(n) {
					t.Errorf("%s on %s", form, n)
				}
			}
		}
	})

	t.Run("C09 out of bounds", func(t *testing.T) {
		long := "object.read.c_a.*" + strings.Repeat("."+strings.Repeat("p", 38), 12) + "." + strings.Repeat("p", 26)
		deep := "object.read.c_a.*" + strings.Repeat(".p", 28)
		for text, ok := range map[string]bool{
			long: true, long + "p": false, deep: true, deep + ".p": false, "object" + strings.Repeat(".*", 31): true, "object" + strings.Repeat(".*", 32): false,
			strings.Repeat("a", 1<<20): false, strings.Repeat(".", 1<<20): false, strings.Repeat("*.", 255) + "*": false,
		} {
			if _, err := scope.Parse(text); (err == nil) != ok {
				t.Errorf("%.40q of %d bytes: %v", text, len(text), err)
			}
		}
		many := make([]string, 1025)
		for i := range many {
			many[i] = "admin"
		}
		if _, err := scope.Compile("token", many[:1024]...); err != nil {
			t.Error(err)
		}
		if set, err := scope.Compile("token", many...); err == nil || set.Allows(admin) {
			t.Error("1025 chains compile")
		}
		if scope.Vet(many...) == nil {
			t.Error("1025 chains pass")
		}
	})
	t.Run("C09 homoglyphs, NUL and escapes", func(t *testing.T) {
		for _, text := range []string{"\u043ebject", "object.read.\u0430ccount", "object\x00", "object.read.c_a\x00", "object%2eread", "object.read.c_a%2e*", "object\uff0eread", "\xffobject"} {
			if _, err := scope.Parse(text); err == nil {
				t.Errorf("%q parses", text)
			}
		}
	})

	t.Run("C10 an unknown verb, an empty need, the zero Set and the zero Need", func(t *testing.T) {
		all := scope.Unscoped()
		for _, n := range []scope.Need{{}, scope.Object("purge", "c_a", "", ""), scope.Object("", "c_a", "", ""), scope.Object("*", "c_a", "", ""), scope.Admin(scope.Delete), scope.Admin("")} {
			if n.Valid() || all.Allows(n) || all.Overlaps(n) || all.Explain(n) != (scope.Reason{}) {
				t.Errorf("%q is allowed", n)
			}
		}
		if _, err := scope.ParseNeed(""); err == nil {
			t.Error("an empty need parses")
		}
		var none scope.Set
		if none.Allows(admin) || none.Overlaps(admin) || none.Explain(admin) != (scope.Reason{}) {
			t.Error("the zero Set permits")
		}
	})
}

type decision struct {
	grant, need string
	allowed     bool
}

func decisions(t *testing.T, name string, table []decision) {
	t.Run(name, func(t *testing.T) {
		for _, d := range table {
			if got := compile(t, d.grant).Allows(need(t, d.need)); got != d.allowed {
				t.Errorf("%s on %s: %t", d.grant, d.need, got)
			}
		}
	})
}
