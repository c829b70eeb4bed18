package tenantkit_test

import (
	"strings"
	"testing"
)

// TestFigures holds the README's table of figures to the table that was
// measured, so that one thing has one figure.
func TestFigures(t *testing.T) {
	const results = "internal/peerbench/RESULTS.md"
	measured := map[string]struct{ section, peer string }{
		"request signature, verified":                {"Request signature, verified without a store", "tenantkit"},
		"replay claim, a million live, 43 B each":    {"Replay claim in memory", "tenantkit"},
		"bearer token, first sight":                  {"Bearer token, first sight", "tenantkit"},
		"bearer token, seen before":                  {"Bearer token, seen before", "tenantkit"},
		"scope check of a route's need, 1 chain":     {"Scope check, chains: 1", "tenantkit need"},
		"scope check of a route's need, 1000 chains": {"Scope check, chains: 1000", "tenantkit need"},
		"`where` of 211 bytes":                       {"Parse a where of 211 bytes", "tenantkit"},
		"guard, signature":                           {"Guard and need, whole chain", "tenantkit signature"},
		"guard, token seen before":                   {"Guard and need, whole chain", "tenantkit"},
		"guard, session":                             {"Guard and need, whole chain", "tenantkit session"},
	}
	told := map[string]string{}
	for _, r := range rows(t, "README.md", "Figures", 4) {
		operation, time, allocs := r.cells[0], r.cells[1], r.cells[2]
		m, ok := measured[operation]
		if !ok {
			t.Errorf("%s: nobody says where it was measured", operation)
			continue
		}
		told[operation] = time
		cells := figures(read(t, results), m.section, "**"+m.peer+"**")
		if cells == nil {
			t.Errorf("%s has no %s in %s", results, m.peer, m.section)
			continue
		}
		if cells[1] != time || cells[3] != allocs {
			t.Errorf("%s: the README has %s and %s allocations, measured were %s and %s", operation, time, allocs, cells[1], cells[3])
		}
	}
	if len(told) != len(measured) {
		t.Errorf("%d figures, want %d", len(told), len(measured))
	}
	capacity := read(t, "CAPACITY.md")
	for _, operation := range []string{"guard, signature", "guard, token seen before", "bearer token, first sight"} {
		if !strings.Contains(capacity, told[operation]) {
			t.Errorf("CAPACITY.md does not have %s for %s", told[operation], operation)
		}
	}
}

// figures returns the cells of a peer in a section of the results.
func figures(results, section, peer string) []string {
	_, below, _ := strings.Cut(results, "\n## "+section+"\n")
	below, _, _ = strings.Cut(below, "\n## ")
	for line := range strings.Lines(below) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "| "+peer+" |") {
			return cellsOf(line)
		}
	}
	return nil
}
