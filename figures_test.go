package tenantkit_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestFigures compares the README's table of figures, and the figures that CAPACITY.md repeats,
// with the measured tables. So each measurement has one figure everywhere.
func TestFigures(t *testing.T) {
	const results = "internal/peerbench/RESULTS.md"
	measured := map[string]struct{ section, peer string }{
		"request signature, verified":                  {"Request signature, verified without a store", "tenantkit"},
		"replay claim in a growing store of a million": {"Replay claim in memory", "tenantkit"},
		"bearer token, first sight":                    {"Bearer token, first sight", "tenantkit"},
		"bearer token, seen before":                    {"Bearer token, seen before", "tenantkit"},
		"scope check of a route's need, 1 chain":       {"Scope check, chains: 1", "tenantkit need"},
		"scope check of a route's need, 1000 chains":   {"Scope check, chains: 1000", "tenantkit need"},
		"`where` of 211 bytes":                         {"Parse a where of 211 bytes", "tenantkit"},
		"guard, signature":                             {"Guard and need, whole chain", "tenantkit signature"},
		"guard, token seen before":                     {"Guard and need, whole chain", "tenantkit"},
		"guard, session":                               {"Guard and need, whole chain", "tenantkit session"},
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
		section := sectionOf(read(t, results), m.section)
		cells := figures(section, "**"+m.peer+"**")
		if cells == nil {
			t.Errorf("%s has no %s in %s", results, m.peer, m.section)
			continue
		}
		if cells[1] != time || cells[3] != allocs {
			t.Errorf("%s: the README has %s and %s allocations, measured were %s and %s", operation, time, allocs, cells[1], cells[3])
		}
		for _, beside := range figure.FindAllString(r.cells[3], -1) {
			if !strings.Contains(section, "| "+beside+" |") {
				t.Errorf("%s: the README has %s beside it, which was not measured", operation, beside)
			}
		}
	}
	if len(told) != len(measured) {
		t.Errorf("%d figures, want %d", len(told), len(measured))
	}
	capacity := read(t, "CAPACITY.md")
	for _, operation := range []string{
		"guard, signature", "guard, token seen before", "bearer token, first sight", "replay claim in a growing store of a million",
	} {
		if !strings.Contains(capacity, told[operation]) {
			t.Errorf("CAPACITY.md does not have %s for %s", told[operation], operation)
		}
	}
	kept := figures(sectionOf(read(t, results), "Replay claim in memory"), "**tenantkit**")[7]
	if !strings.Contains(capacity, "| × "+kept+" B = ") || !strings.Contains(capacity, "| "+kept+" · ") {
		t.Errorf("CAPACITY.md does not have the %s B of an accepted request", kept)
	}
}

// figure matches a ratio, a count or a time.
var figure = regexp.MustCompile(`\b\d+(\.\d+)?( (ns|µs|ms))?\b`)

func sectionOf(results, title string) string {
	_, below, _ := strings.Cut(results, "\n## "+title+"\n")
	section, _, _ := strings.Cut(below, "\n## ")
	return section
}

// figures returns the cells of a peer in a section of the results.
func figures(section, peer string) []string {
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "| "+peer+" |") {
			return cellsOf(line)
		}
	}
	return nil
}
