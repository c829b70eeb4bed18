package auth

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// chains returns n chains by a format.
func chains(n int, format string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i)
	}
	return all
}

func compiled(t testing.TB, source string, all []string) scope.Set {
	t.Helper()
	set, err := scope.Compile(source, all...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Two short lists can have thousands of chains in common, for each account that a credential
// acts as. The cache of intersections must not keep them all, and another org must not notice.
func TestC15IntersectionsAreKeptInBoundedMemoryWithAShareForEachOrg(t *testing.T) {
	record, roles := compiled(t, "credential", chains(63, "object.read.c_%d")), compiled(t, "role", chains(63, "object.*.*.%024x"))
	var c sets[narrowedSet]
	c.init()
	quiet := source{"globex", "credential", "key as ann"}
	few := compiled(t, "role", []string{"object.read.c_note"})
	if _, err := intersectOnce(&c, quiet, few, few); err != nil {
		t.Fatal(err)
	}
	before := heap()
	for i := range 100 {
		both, err := intersectOnce(&c, source{"acme", "credential", fmt.Sprint("key as ", i)}, record, roles)
		if n := len(chainsOf(both)); err != nil || n != 63*63 {
			t.Fatal(n, err)
		}
	}
	kept, cost := c.sets.Len()
	held := (heap() - before) >> 10
	t.Logf("%d kept, %d KiB counted, %d KiB on the heap", kept, cost, held)
	if cost > maxSets || held > maxSets*5/4 {
		t.Errorf("%d KiB are counted, and %d are on the heap", cost, held)
	}
	if _, ok := c.find(quiet); !ok {
		t.Error("another org has lost its intersection")
	}
}

func chainsOf(s scope.Set) (all []scope.Chain) {
	for c := range s.Chains() {
		all = append(all, c)
	}
	return all
}

func TestC16CompiledRolesAreKeptInBoundedMemoryWithAShareForEachOrg(t *testing.T) {
	var c sets[recordedSet]
	c.init()
	quiet := source{"globex", "role", "reader"}
	if _, err := compileOnce(&c, nil, quiet, []string{"object.read.c_note"}); err != nil {
		t.Fatal(err)
	}
	before := heap()
	for i := range 60 {
		role := chains(1000, fmt.Sprintf("object.read.c_note.*.p%d_%%d.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b", i)) // 75 KB
		if _, err := compileOnce(&c, nil, source{"acme", "role", fmt.Sprint("r", i)}, role); err != nil {
			t.Fatal(err)
		}
	}
	kept, cost := c.sets.Len()
	held := (heap() - before) >> 10
	t.Logf("%d kept, %d KiB counted, %d KiB on the heap", kept, cost, held)
	if cost > maxSets || held > maxSets*5/4 {
		t.Errorf("%d KiB are counted, and %d are on the heap", cost, held)
	}
	if _, ok := c.find(quiet); !ok {
		t.Error("another org has lost its role")
	}
	runtime.KeepAlive(&c)
}

// An entry that has changed is replaced, and counted once.
func TestARecordThatChangesIsCountedOnce(t *testing.T) {
	var c sets[recordedSet]
	c.init()
	for i := range 1000 {
		chain := fmt.Sprintf("object.read.c_%d", i)
		set, err := compileOnce(&c, nil, source{"acme", "role", "r"}, []string{chain})
		if err != nil || set.Size() == 0 || chainsOf(set)[0].String() != chain {
			t.Fatal(chainsOf(set), err)
		}
	}
	if kept, cost := c.sets.Len(); kept != 1 || cost > 2 {
		t.Errorf("%d are kept, of %d KiB", kept, cost)
	}
}

// A path of the hostile case: each pair of chains has a common part.
func BenchmarkIntersect(b *testing.B) {
	for name, sizes := range map[string][2]int{"4096 in common": {64, 64}, "nothing in common": {512, 64}} {
		b.Run(name, func(b *testing.B) {
			record, roles := compiled(b, "credential", chains(sizes[0], "object.read.c_%d")), compiled(b, "role", chains(sizes[1], "object.*.*.%024x"))
			if sizes[0] == 512 {
				roles = compiled(b, "role", chains(sizes[1], "object.read.d_%d"))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := record.Intersect(roles); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// An org's credential with 503 chains, and 30 accounts with roles of 504, of which thousands of
// chains are common: each request is cheap, and another org's intersection stays.
func TestC17LargeIntersectionsOfOneOrgCostOthersNothing(t *testing.T) {
	g := &Guard{BaseURL: "https://api.example.test", Directory: new(Memory), Roles: RolesDoNotLimit, Mechanisms: []Mechanism{nobodyKnows{}}}
	acme, globex := &Tenant{Org: &Org{Code: "acme"}, guard: g}, &Tenant{Org: &Org{Code: "globex"}, guard: g}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	narrow := func(t *Tenant, name string, record, roles []string) scope.Set {
		return t.Narrow("credential", name, t.CompileRecord("credential", "key", record), t.CompileRecord("role", name, roles))
	}
	record := append(chains(440, "object.update.c_%d"), chains(63, "object.read.c_%d")...)
	roles := append(chains(441, "object.delete.c_%d"), chains(63, "object.read.*.%024x")...)
	few := []string{"object.read.c_note"}
	quiet := narrow(globex, "ann", few, few)
	for i := range 60 { // and of the largest that are permitted, with 3969 chains
		narrow(acme, fmt.Sprint("other as ", i), record[440:], roles[441:])
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for i := range 60 {
		narrow(acme, fmt.Sprint("key as ", i%30), record, roles)
	}
	took := time.Since(began) / 60
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / 60
	began = time.Now()
	again := narrow(globex, "ann", few, few)
	t.Logf("%s and %d KiB for each request; another org %s", took, bytes>>10, time.Since(began))
	if bytes > 1<<20 {
		t.Errorf("%d bytes for each request", bytes)
	}
	if !again.Is(quiet) {
		t.Error("another org's intersection is gone")
	}
}

type nobodyKnows struct{ Mechanism }

func (nobodyKnows) Name() string { return "nobody" }

func (nobodyKnows) Bind(*Settings) error { return nil }
