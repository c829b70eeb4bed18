package scope_test

import (
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/scope"
)

// Alphabets of texts that nearly collide: prefixes of each other, and texts that differ
// only in a type, brackets or case.
var (
	someRoots      = []string{"object", "object", "object", "object", "script", "view", "deployment", "admin"}
	someVerbs      = []string{"*", "create", "read", "update", "delete"}
	someNames      = []string{"*", "c_a", "c_ab", "c_a#t", "c_a#tt", "c_ab#t", "a"}
	someIDs        = []string{"*", "*", id1, id2, id3}
	someProperties = []string{"name", "name2", "Name", "name#t", "name#tt", "name[]", "name[]#t", "first"}
	someRoutes     = []string{"r", "r2", id1, "execute", "code"}
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

// randomChain returns a chain that parses.
func randomChain(r *rand.Rand) string {
	switch root := pick(r, someRoots); root {
	case "object":
		chain := []string{root, pick(r, someVerbs), pick(r, someNames), pick(r, someIDs)}
		for range r.IntN(4) {
			chain = append(chain, pick(r, someProperties))
		}
		return strings.Join(chain[:1+r.IntN(len(chain))], ".")
	case "script":
		return pick(r, []string{
			"script", "script.*", "script.execute", "script.execute.*", "script.route", "script.runner", "script.execute.route",
			"script.execute.runner", "script.*." + pick(r, someRoutes), "script.route." + pick(r, someRoutes), "script.execute.route." + pick(r, someRoutes),
		})
	case "admin":
		return root + pick(r, []string{"", ".*", ".read", ".update"})
	default:
		return root + pick(r, []string{"", ".*", ".execute", ".execute.*", ".*." + pick(r, someRoutes), ".execute." + pick(r, someRoutes)})
	}
}

func randomChains(r *rand.Rand, n int) []string {
	chains := make([]string, n)
	for i := range chains {
		chains[i] = randomChain(r)
	}
	return chains
}

// FuzzRandom compares the decisions over generated lists.
func FuzzRandom(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		for range 50 {
			checkDecision(t, randomChains(r, 1+r.IntN(8)), randomChain(r))
		}
	})
}

func compile(t testing.TB, chains ...string) scope.Set {
	t.Helper()
	set, err := scope.Compile("test", chains...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func need(t testing.TB, text string) scope.Need {
	t.Helper()
	n, err := scope.ParseNeed(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func collect(seq iter.Seq2[string, string]) (all [][2]string) {
	for a, b := range seq {
		all = append(all, [2]string{a, b})
	}
	return all
}
