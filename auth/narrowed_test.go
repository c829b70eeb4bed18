package auth

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/recent"
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
// acts as. An intersection holds none of them, and no cache holds an intersection.
func TestC15IntersectionsAreKeptInBoundedMemoryWithAShareForEachOrg(t *testing.T) {
	record, roles := compiled(t, "credential", chains(63, "object.read.c_%d")), compiled(t, "role", chains(63, "object.*.*.%024x"))
	before := heap()
	sets := make([]scope.Set, 1000)
	for i := range sets {
		sets[i] = record.Intersect(roles)
	}
	if held := heap() - before; held > len(sets)*256 {
		t.Errorf("%d intersections hold %d bytes", len(sets), held)
	}
	common := 0
	for range sets[0].Chains() {
		common++
	}
	if common != 63*63 {
		t.Errorf("%d chains in common", common)
	}
}

func TestC16CompiledRolesAreKeptInBoundedMemoryWithAShareForEachOrg(t *testing.T) {
	c := recordedSets{of: recent.Groups{Stale: 1, Limit: maxSets}}
	quiet := source{"globex", "role", "reader"}
	if known := c.compile(nil, quiet, []string{"object.read.c_note"}); known.err != nil {
		t.Fatal(known.err)
	}
	before := heap()
	for i := range 60 {
		role := chains(1000, fmt.Sprintf("object.read.c_note.*.p%d_%%d.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b", i)) // 75 KB
		if known := c.compile(nil, source{"acme", "role", fmt.Sprint("r", i)}, role); known.err != nil {
			t.Fatal(known.err)
		}
	}
	kept, cost := c.sets.Len(&c.of)
	held := (heap() - before) >> 10
	t.Logf("%d kept, %d KiB counted, %d KiB on the heap", kept, cost, held)
	if cost > maxSets || held > maxSets*5/4 {
		t.Errorf("%d KiB are counted, and %d are on the heap", cost, held)
	}
	if _, ok := c.sets.Find(&c.of, time.Time{}, quiet); !ok {
		t.Error("another org has lost its role")
	}
	runtime.KeepAlive(&c)
}

// The account and the chains of a token of another issuer are parts of its text.
func TestC16TheTextAroundANameIsNotKept(t *testing.T) {
	c := recordedSets{of: recent.Groups{Stale: 1, Limit: maxSets}}
	before := heap()
	for i := range 2000 {
		token := fmt.Sprintf("ann%04d object.read.c_note %s", i, strings.Repeat("x", 8000))
		name, rest, _ := strings.Cut(token, " ")
		chain, _, _ := strings.Cut(rest, " ")
		if known := c.compile(nil, source{"acme", "issuer", name}, []string{chain}); known.err != nil {
			t.Fatal(known.err)
		}
	}
	n, cost := c.sets.Len(&c.of)
	if held := (heap() - before) >> 10; n != 2000 || held > 2*cost {
		t.Errorf("%d entries of %d KiB hold %d", n, cost, held)
	}
	runtime.KeepAlive(&c)
}

// An entry that has changed is replaced, and counted once.
func TestARecordThatChangesIsCountedOnce(t *testing.T) {
	c := recordedSets{of: recent.Groups{Stale: 1, Limit: maxSets}}
	for i := range 1000 {
		chain := fmt.Sprintf("object.read.c_%d", i)
		known := c.compile(nil, source{"acme", "role", "r"}, []string{chain})
		if need, _ := scope.ParseNeed(chain); known.err != nil || !known.set.Allows(need) {
			t.Fatal(chain, known.err)
		}
	}
	if kept, cost := c.sets.Len(&c.of); kept != 1 || cost > 2 {
		t.Errorf("%d are kept, of %d KiB", kept, cost)
	}
}

// An org's credential with 503 chains, and 30 accounts with roles of 504, of which thousands of
// chains are common: each request is cheap, and another org's Sets stay.
func TestC17LargeIntersectionsOfOneOrgCostOthersNothing(t *testing.T) {
	g := &Guard{BaseURL: "https://api.example.test", Directory: new(Memory), Roles: RolesDoNotLimit, Mechanisms: []Mechanism{nobodyKnows{}}}
	acme, globex := &Tenant{Org: &Org{Code: "acme"}, guard: g}, &Tenant{Org: &Org{Code: "globex"}, guard: g}
	if err := g.Validate(); err != nil {
		t.Fatal(err)
	}
	globex.CompileRecord("role", "reader", []string{"object.read.c_note"})
	record := append(chains(440, "object.update.c_%d"), chains(63, "object.read.c_%d")...)
	roles := append(chains(441, "object.delete.c_%d"), chains(63, "object.read.*.%024x")...)
	list := scope.Object(scope.Read, "c_62", "", "")
	request := func(account int) {
		both := acme.CompileRecord("credential", "key", record).Intersect(acme.CompileRecord("role", fmt.Sprint("of ", account), roles))
		if ids, all := both.On(scope.Read, "c_62").IDs(); both.Allows(list) || !both.Overlaps(list) || len(ids) != 63 || all {
			t.Fatal(len(ids), all)
		}
	}
	for i := range 30 {
		request(i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for i := range 60 {
		request(i % 30)
	}
	took := time.Since(began) / 60
	runtime.ReadMemStats(&after)
	bytes := (after.TotalAlloc - before.TotalAlloc) / 60
	t.Logf("%s and %d bytes for each request", took, bytes)
	if bytes > 64<<10 {
		t.Errorf("%d bytes for each request", bytes)
	}
	if _, ok := g.recorded.sets.Find(&g.recorded.of, time.Time{}, source{"globex", "role", "reader"}); !ok {
		t.Error("another org's Set is gone")
	}
}

type nobodyKnows struct{ Mechanism }

func (nobodyKnows) Name() string { return "nobody" }

func (nobodyKnows) Bind(*Settings) error { return nil }
