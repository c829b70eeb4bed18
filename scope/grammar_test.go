package scope_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
)

// ours is a grammar with numbers for identifiers and two roots of its own.
var ours = &scope.Grammar{
	Identifier: func(s string) bool { return strings.Trim(s, "0123456789:") == "" },
	Roots: map[string]scope.Root{
		"queue":   {Verbs: []scope.Verb{"publish", "consume"}, Segments: []scope.Segment{scope.Name, scope.Identifier, scope.Name}},
		"metrics": {},
	},
}

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

func TestOwnRoots(t *testing.T) {
	for _, tt := range []decision{
		{"queue", "queue.publish.mail", true},
		{"queue.*", "queue.publish.mail", true},
		{"queue.publish", "queue.publish.mail.7.x", true},
		{"queue.publish", "queue.consume.mail", false},
		{"queue.*.mail", "queue.consume.mail.7", true},
		{"queue.*.mail", "queue.consume.mails", false},
		{"queue.*.*.7", "queue.consume.mail.7.x", true},
		{"queue.*.*.*.x", "queue.consume.mail.7.x", true},
		{"queue.*.*.*.x", "queue.consume.mail.7", false},
		{"queue.publish.mail", "queue.*.mail", false},
		{"queue.*.mail", "queue.*.mail.7", true},
		{"metrics", "metrics", true},
		{"metrics", "queue", false},
		{"queue", "object.read", false},
		{"*", "queue.publish.mail", true},
	} {
		set, err := ours.Compile("token", tt.grant)
		if err != nil {
			t.Fatal(err)
		}
		n, err := ours.ParseNeed(tt.need)
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Allows(n); got != tt.allowed {
			t.Errorf("%s on %s: %t", tt.grant, tt.need, got)
		}
		if r := set.Explain(n); r.Allowed != tt.allowed {
			t.Errorf("%s on %s: %+v", tt.grant, tt.need, r)
		}
		if !tt.allowed {
			continue
		}
		if asked, err := ours.Compile("asked", tt.need); err != nil || set.Missing(asked) != nil || !set.Overlaps(n) {
			t.Errorf("%s on %s: missing %v, %v", tt.grant, tt.need, set.Missing(asked), err)
		}
	}
}

func TestOwnRootsLeaveTheStandardIdentifiers(t *testing.T) {
	g := &scope.Grammar{Roots: map[string]scope.Root{"metrics": {}}}
	if !g.Object(scope.Read, "c_a", id1, "").Valid() || g.Object(scope.Read, "c_a", "12", "").Valid() {
		t.Error("a grammar without Identifier has other identifiers")
	}
}

func TestOwnRootsOverlap(t *testing.T) {
	set, err := ours.Compile("token", "queue.publish.mail.7")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"queue": true, "queue.publish": true, "queue.*.mail": true, "queue.consume": false, "queue.*.mail.8": false, "queue.*.*.7.x": true} {
		n, err := ours.ParseNeed(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Overlaps(n); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	n, _ := ours.ParseNeed("queue.publish.news")
	if r := set.Explain(n); r.Allowed || r.Segment != 2 || r.Chain.String() != "queue.publish.mail.7" {
		t.Error(r)
	}
}

func TestOwnRootsDoNotParse(t *testing.T) {
	for text, want := range map[string]string{
		"queue.delete":            "a verb of the root or *",
		"queue.publish.a b":       "a name or an identifier or *",
		"queue.publish.mail.x":    "an identifier or *",
		"queue.publish.mail.7.x.": "nothing more",
		"queue.":                  "a verb of the root or *",
		"metrics.read":            "a verb of the root or *",
		"other.read":              "a root of the grammar",
	} {
		if _, err := ours.Parse(text); err == nil || !strings.HasSuffix(err.Error(), "expected "+want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestGrammarValidate(t *testing.T) {
	for _, g := range []*scope.Grammar{nil, {}, ours} {
		if err := g.Validate(); err != nil {
			t.Error(err)
		}
	}
	broken := &scope.Grammar{Roots: map[string]scope.Root{
		"object": {}, "": {}, "Queue": {}, "a.b": {}, "9": {}, "*": {}, "a#b": {},
		"stars": {Verbs: []scope.Verb{"*"}}, "dots": {Verbs: []scope.Verb{"a.b"}}, "upper": {Verbs: []scope.Verb{"Run"}},
		"bare": {Segments: []scope.Segment{scope.Name}}, "kind": {Verbs: []scope.Verb{"run"}, Segments: []scope.Segment{9}},
	}}
	err := broken.Validate()
	if err == nil || strings.Count(err.Error(), "\n")+1 != len(broken.Roots) {
		t.Fatal(err)
	}
	for name := range broken.Roots {
		if chain, err := broken.Parse(name); err == nil && name != "object" && name != "" && name != "*" {
			t.Errorf("%s parses", chain)
		}
	}
	if chain, err := broken.Parse("object.read.c_a"); err != nil || !scope.MustParse("object").Covers(chain) {
		t.Error("a standard root was replaced:", err)
	}
}

// Two grammars may give one root different verbs, or the same verbs in another order. A
// need is matched by its text, not by a number.
func TestNeedsOfAnotherGrammar(t *testing.T) {
	other := &scope.Grammar{Roots: map[string]scope.Root{"queue": {Verbs: []scope.Verb{"consume", "publish"}}}}
	set, err := ours.Compile("token", "queue.publish")
	if err != nil {
		t.Fatal(err)
	}
	publish, _ := other.ParseNeed("queue.publish")
	consume, _ := other.ParseNeed("queue.consume")
	if !set.Allows(publish) || set.Allows(consume) {
		t.Error("verbs were confused")
	}
}
