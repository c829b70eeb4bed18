package tenantkit_test

import (
	"regexp"
	"strings"
	"testing"
)

const results = "internal/peerbench/RESULTS.md"

// TestFiguresMayBeQuoted checks the report whose figures documents quote: it is of one commit, of
// which it says so, and does not say of itself that it must not be quoted.
func TestFiguresMayBeQuoted(t *testing.T) {
	for _, wrong := range unquotable(read(t, results)) {
		t.Errorf("%s must not be quoted: %s. Repeat the run, or take its figures out of README.md and CAPACITY.md", results, wrong)
	}
}

// unquotable returns why the figures of a report must not be quoted.
func unquotable(report string) (all []string) {
	head, _, _ := strings.Cut(report, "\n## ")
	for line := range strings.Lines(head) {
		if strings.HasPrefix(line, "**") && strings.Contains(strings.ToLower(line), "do not quote") {
			all = append(all, strings.Trim(line, "*\n"))
		}
	}
	if !measuredCommit.MatchString(head) {
		all = append(all, "it names no commit")
	}
	return all
}

var measuredCommit = regexp.MustCompile(`(?m)^- Commit [0-9a-f]{7,40}, `)

func TestWhatMayNotBeQuoted(t *testing.T) {
	const good = "# Results\n\n- Commit f284ba5, 2026-11-22 11:44 UTC\n\n| a | 1 ns |\n\n## A row\n\n**tenantkit** do not quote\n"
	for name, c := range map[string]struct {
		report string
		wrong  int
	}{
		"an undisturbed run": {good, 0},
		"a disturbed one":    {strings.Replace(good, "- Commit", "**Disturbed: of others. Do not quote these figures.**\n\n- Commit", 1), 1},
		"a quick one":        {strings.Replace(good, "- Commit", "**A quick run; do not quote its figures.**\n\n- Commit", 1), 1},
		"changed code":       {strings.Replace(good, "f284ba5", "f284ba5-dirty", 1), 1},
		"no commit":          {strings.Replace(good, "f284ba5", "unknown", 1), 1},
	} {
		if got := unquotable(c.report); len(got) != c.wrong {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestFigures compares the README's table of figures, if it has one, and the figures that CAPACITY.md repeats,
// with the measured tables. So each measurement has one figure everywhere.
func TestFigures(t *testing.T) {
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
	for operation, m := range measured {
		cells := figures(sectionOf(read(t, results), m.section), "**"+m.peer+"**")
		if cells == nil {
			t.Fatalf("%s has no %s in %s", results, m.peer, m.section)
		}
		told[operation] = cells[1]
	}
	if strings.Contains(read(t, "README.md"), "\n## Figures\n") {
		quoted := rows(t, "README.md", "Figures", 4)
		for _, r := range quoted {
			operation, time, allocs := r.cells[0], r.cells[1], r.cells[2]
			m, ok := measured[operation]
			if !ok {
				t.Errorf("%s: nobody says where it was measured", operation)
				continue
			}
			section := sectionOf(read(t, results), m.section)
			if cells := figures(section, "**"+m.peer+"**"); cells[1] != time || cells[3] != allocs {
				t.Errorf("%s: the README has %s and %s allocations, measured were %s and %s", operation, time, allocs, cells[1], cells[3])
			}
			for _, beside := range figure.FindAllString(r.cells[3], -1) {
				if !strings.Contains(section, "| "+beside+" |") {
					t.Errorf("%s: the README has %s beside it, which was not measured", operation, beside)
				}
			}
		}
		if len(quoted) != len(measured) {
			t.Errorf("%d figures, want %d", len(quoted), len(measured))
		}
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
