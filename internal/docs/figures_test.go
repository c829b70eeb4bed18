package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

const results = "internal/peerbench/RESULTS.md"

// TestFiguresMayBeQuoted checks that no document repeats a time of a report that says of itself that
// it must not be quoted. Counts of bytes are exact, and are quoted.
func TestFiguresMayBeQuoted(t *testing.T) {
	t.Chdir(root)
	report := read(t, results)
	wrong, times := unquotable(report), ownTimes(report)
	if len(times) == 0 {
		t.Fatalf("%s has no times of tenantkit: has its form changed?", results)
	}
	for _, document := range documents() {
		text := read(t, document)
		for _, figure := range times {
			if len(wrong) > 0 && regexp.MustCompile(`(^|[^\d.])`+regexp.QuoteMeta(figure)).MatchString(text) {
				t.Errorf("%s quotes %s of %s: %q", document, figure, results, wrong)
			}
		}
	}
	kept := figures(sectionOf(report, "Replay claim in memory"), "**tenantkit**")[7]
	capacity := read(t, "examples/guides/capacity.md")
	if !strings.Contains(capacity, "| × "+kept+" B = ") || !strings.Contains(capacity, "| "+kept+" · ") {
		t.Errorf("capacity.md does not have the %s B of an accepted request", kept)
	}
}

// ownTimes returns the times of the report's rows of tenantkit.
func ownTimes(report string) (all []string) {
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "| **tenantkit") {
			all = append(all, timing.FindAllString(line, -1)...)
		}
	}
	return all
}

var timing = regexp.MustCompile(`\b\d+(\.\d+)? (ns|µs|ms)\b`)

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
	t.Chdir(root)
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
