package scope_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/scope"
)

// properties checks a property in many generated cases.
func properties(t *testing.T, property func(t *testing.T, r *rand.Rand)) {
	t.Helper()
	for seed := range uint64(3000) {
		property(t, rand.New(rand.NewPCG(seed, 2)))
	}
}

func TestCoversAgreesWithThePlainMatcher(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		c, d := scope.MustParse(randomChain(r)), scope.MustParse(randomChain(r))
		if got, want := c.Covers(d), slowCovers(c.String(), d.String()); got != want {
			t.Fatalf("%s covers %s: %t, want %t", c, d, got, want)
		}
	})
}

func TestCoversIsReflexiveButForChainsThatMatchNothing(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		c := scope.MustParse(randomChain(r))
		if c.Covers(c) == slowMatchless(c.String()) {
			t.Fatalf("%s covers itself: %t", c, c.Covers(c))
		}
	})
}

func TestCoversIsTransitive(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine: .ci/run core runs it")
	}
	found := 0
	properties(t, func(t *testing.T, r *rand.Rand) {
		chains := make([]scope.Chain, 12)
		for i := range chains {
			chains[i] = scope.MustParse(randomChain(r))
		}
		for _, a := range chains {
			for _, b := range chains {
				for _, c := range chains {
					if !a.Covers(b) || !b.Covers(c) {
						continue
					}
					if found++; !a.Covers(c) {
						t.Fatalf("%s covers %s covers %s", a, b, c)
					}
				}
			}
		}
	})
	if found < 10000 {
		t.Fatalf("only %d cases", found)
	}
}

func TestMutualCoverIsEquality(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		a, b := scope.MustParse(randomChain(r)), scope.MustParse(randomChain(r))
		if a.Covers(b) && b.Covers(a) && a != b {
			t.Fatalf("%s and %s have the same effect", a, b)
		}
	})
}

func TestUnionAllowsWhatEitherAllows(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		a, b := randomChains(r, r.IntN(4)), randomChains(r, r.IntN(4))
		s, u := compile(t, a...), compile(t, b...)
		whole := compile(t, slices.Concat(a, b)...)
		n := need(t, randomChain(r))
		if got, want := s.Union(u).Allows(n), s.Allows(n) || u.Allows(n); got != want {
			t.Fatalf("%q ∪ %q allow %s: %t", a, b, n, got)
		}
		if got, want := s.Union(u).Overlaps(n), s.Overlaps(n) || u.Overlaps(n); got != want {
			t.Fatalf("%q ∪ %q overlap %s: %t", a, b, n, got)
		}
		if diff := cmp.Diff(whole.Explain(n).Segment, s.Union(u).Explain(n).Segment); diff != "" {
			t.Fatalf("%q ∪ %q explain %s: %s", a, b, n, diff)
		}
		if diff := cmp.Diff(chainsOf(whole), chainsOf(s.Union(u))); diff != "" {
			t.Fatalf("%q ∪ %q: %s", a, b, diff)
		}
	})
}

func TestDroppingCoveredChainsChangesNoDecision(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		all := randomChains(r, 8)
		var kept []string
		for i, text := range all {
			covered := slices.ContainsFunc(all, func(other string) bool {
				c, d := scope.MustParse(other), scope.MustParse(text)
				return c.Covers(d) && !d.Covers(c)
			})
			if !covered && !slices.Contains(all[:i], text) {
				kept = append(kept, text)
			}
		}
		before, after := compile(t, all...), compile(t, kept...)
		for range 20 {
			n := need(t, randomChain(r))
			if before.Allows(n) != after.Allows(n) || before.Overlaps(n) != after.Overlaps(n) {
				t.Fatalf("%q decide on %s otherwise than %q", kept, n, all)
			}
		}
	})
}

// A set covers a chain exactly if it allows the chain after a replacement: symbols that
// occur nowhere else stand for its stars and its open end.
func TestMissingIsWhatFreshSymbolsAreDenied(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		grants, text := randomChains(r, 1+r.IntN(5)), randomChain(r)
		set, chain := compile(t, grants...), scope.MustParse(text)
		var want []string
		if !slowMatchless(chain.String()) && !set.Allows(need(t, fresh(chain.String()))) {
			want = append(want, chain.String())
		}
		if diff := cmp.Diff(want, set.Missing(compile(t, text))); diff != "" {
			t.Fatalf("%q without %s: %s", grants, text, diff)
		}
	})
}

// fresh replaces stars by symbols that no other chain holds. The verb has no fresh symbol,
// so a * stays there.
func fresh(chain string) string {
	segments := strings.Split(chain, ".")
	if segments[0] != "object" {
		return chain
	}
	symbols := []string{"object", "*", "c_fresh", "00000000000000000000ffff", "fresh"}
	for i := 2; i < min(len(segments), 4); i++ {
		if segments[i] == "*" {
			segments[i] = symbols[i]
		}
	}
	ends := map[string]int{"create": 3, "delete": 4}
	for i := len(segments); i < len(symbols); i++ {
		if end := ends[segments[min(1, i-1)]]; i > 0 && end != 0 && i >= end {
			break
		}
		segments = append(segments, symbols[i])
	}
	if segments[1] == "create" && len(segments) > 4 {
		segments[3] = "*" // an object that is about to be created has no identifier
	}
	return strings.Join(segments, ".")
}

func TestMissingOfItselfIsNothing(t *testing.T) {
	properties(t, func(t *testing.T, r *rand.Rand) {
		set := compile(t, randomChains(r, 6)...)
		if missing := set.Missing(set); missing != nil {
			t.Fatal(missing)
		}
	})
}

func TestMissingNamesEachChainOnce(t *testing.T) {
	asked := compile(t, "object.read.c_a", "object.read.c_b", "object.read.c_a.*", "script", "script.execute", "object.create.c_a."+id1)
	got := compile(t, "object.read.c_b", "admin").Missing(asked)
	if diff := cmp.Diff([]string{"object.read.c_a", "script"}, got); diff != "" {
		t.Fatal(diff)
	}
	if missing := compile(t, "object", "script").Missing(scope.Unscoped()); len(missing) != 1 || missing[0] != "*" {
		t.Fatal(missing)
	}
	if missing := scope.Unscoped().Missing(asked); missing != nil {
		t.Fatal(missing)
	}
	if missing := (scope.Set{}).Missing(compile(t, "admin.read")); len(missing) != 1 {
		t.Fatal(missing)
	}
}

// A chain that is only a root covers every verb of the root, not only the first.
func TestMissingOfAWholeRoot(t *testing.T) {
	for held, asked := range map[string]string{
		"object.create": "object", "script.route": "script", "admin.read": "admin", "object.create.c_a": "object.*.c_a",
	} {
		if diff := cmp.Diff([]string{asked}, compile(t, held).Missing(compile(t, asked))); diff != "" {
			t.Errorf("%s without %s: %s", held, asked, diff)
		}
	}
}

func TestUnionIsAView(t *testing.T) {
	a, b, c := compile(t, "admin.read"), compile(t, "script.runner"), compile(t, "view")
	ab := a.Union(b)
	left, right := ab.Union(c), ab.Union(a)
	if got := chainsOf(left); !slices.Equal(got, []string{"admin.read", "script.runner", "view"}) {
		t.Fatal(got)
	}
	if got := chainsOf(right); !slices.Equal(got, []string{"admin.read", "script.runner"}) {
		t.Fatal("a list counts once:", got)
	}
	if got := chainsOf((scope.Set{}).Union(a)); !slices.Equal(got, []string{"admin.read"}) {
		t.Fatal(got)
	}
	if got := chainsOf(a.Union(scope.Set{})); !slices.Equal(got, []string{"admin.read"}) {
		t.Fatal(got)
	}
}

func chainsOf(s scope.Set) (list []string) {
	for c := range s.Chains() {
		list = append(list, c)
	}
	return list
}
