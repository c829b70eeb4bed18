package scope_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
)

func TestExplain(t *testing.T) {
	token, err := scope.Compile("token", "object.read.c_a."+id1+".name", "object.update.c_a", "script.route.r")
	if err != nil {
		t.Fatal(err)
	}
	role, err := scope.Compile("role editor", "object.read.c_b", "admin.read", "object.create.c_a."+id1)
	if err != nil {
		t.Fatal(err)
	}
	set := token.Union(role)
	type reason struct {
		Allowed       bool
		Chain, Source string
		Segment       int
	}
	for text, want := range map[string]reason{
		"object.read.c_b." + id1:                 {true, "object.read.c_b", "role editor", 0},
		"script.route.r":                         {true, "script.route.r", "token", 0},
		"object.read.c_a." + id1 + ".name.first": {true, "object.read.c_a." + id1 + ".name", "token", 0},
		"object.read.c_a." + id1 + ".email":      {false, "object.read.c_a." + id1 + ".name", "token", 4},
		"object.read.c_a." + id1:                 {false, "object.read.c_a." + id1 + ".name", "token", 4},
		"object.read.c_a." + id2 + ".name":       {false, "object.read.c_a." + id1 + ".name", "token", 3},
		"object.read.c_c":                        {false, "object.read.c_a." + id1 + ".name", "token", 2},
		"object.create.c_c":                      {false, "object.read.c_a." + id1 + ".name", "token", 1},
		"script.route.x":                         {false, "script.route.r", "token", 2},
		"script.runner":                          {false, "script.route.r", "token", 1},
		"admin.update":                           {false, "admin.read", "role editor", 1},
		"view.execute.v":                         {false, "object.read.c_a." + id1 + ".name", "token", 0},
	} {
		r := set.Explain(need(t, text))
		if diff := cmp.Diff(want, reason{r.Allowed, r.Chain, r.Source, r.Segment}); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if r := scope.Unscoped().Explain(scope.Admin(scope.Read)); !r.Allowed || r.Chain != "*" || r.Source != "unscoped" {
		t.Error(r)
	}
}

func TestExplainNamesTheFirstOfEquals(t *testing.T) {
	set := compile(t, "object.*.c_a", "object.read.c_a", "view.execute.v", "object.read.c_b."+id1, "object.read.c_b."+id2)
	for text, want := range map[string]string{
		"object.read.c_a":            "object.*.c_a",
		"object.read.c_b." + id3:     "object.read.c_b." + id1,
		"object.read.c_c":            "object.*.c_a",
		"deployment.execute.d":       "object.*.c_a",
		"object.read.c_b.*.name":     "object.read.c_b." + id1,
		"object.update.c_b." + id1:   "object.*.c_a",
		"view.execute.v":             "view.execute.v",
		"object.update.c_a#t." + id1: "object.*.c_a",
	} {
		if got := set.Explain(need(t, text)).Chain; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestChainsStopsWhenAsked(t *testing.T) {
	set := compile(t, "admin", "view").Union(compile(t, "script", "x.y", "x.z"))
	for range set.Chains() {
		break
	}
	for range set.Unknown() {
		break
	}
	if got := collect(set.Unknown()); len(got) != 2 {
		t.Error(got)
	}
}
