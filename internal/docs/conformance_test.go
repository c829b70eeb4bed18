package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"
)

// TestConformance checks the table of sentences against the tests. Each row names tests that
// exist, and the rows are those of sentenceNumbers. A case with the number of a sentence is named
// in the sentence's row. With -v it prints which tests prove which sentence.
func TestConformance(t *testing.T) {
	t.Chdir(root)
	tests := indexTests(t)
	var numbers []string
	proofs := map[string][]string{}
	for _, part := range dataOf(t, "conformance", 2) {
		for _, r := range part.Rows {
			number := r.Cells[0]
			if slices.Contains(r.Cells, "") {
				t.Errorf("%s: an empty cell", number)
			}
			numbers = append(numbers, number)
			proofs[number] = r.Tests
			tests.holds(t, number, r.Tests)
			if testing.Verbose() {
				t.Logf("%-7s %s", number, strings.Join(r.Tests, ", "))
			}
		}
	}
	if diff := godiff.Diff(sentenceNumbers(), numbers); diff != "" {
		t.Errorf("rows of the table (-known +table):\n%s", diff)
	}
	for folder, labels := range tests.labels {
		for _, l := range labels {
			name := folder + "." + l.function + "/" + l.number
			if sentenceNumber.MatchString(l.number) && !slices.Contains(proofs[l.number], name) {
				t.Errorf("%s is not named in the row of its sentence", name)
			}
		}
	}
}

var sentenceNumber = regexp.MustCompile(`^\d(\.\d)*-\d+$`)

// sentenceNumbers returns the rows of the table, in order.
func sentenceNumbers() (numbers []string) {
	for _, part := range []struct {
		section string // and the item of its list
		last    int
	}{
		{"1", 5}, {"2.1", 8}, {"2.2", 4}, {"2.3", 14}, {"3", 6},
		{"4", 7}, {"4.1", 5}, {"4.2.1", 1}, {"4.2.2", 1}, {"4.2.3", 2}, {"4.2.4", 1}, {"4.2.5", 2},
		{"5.1", 3}, {"5.2.1", 2}, {"5.2.2", 1}, {"5.2.3", 2}, {"5.2.4", 1},
		{"5.3", 11}, {"5.3.1", 1}, {"5.3.2", 2}, {"5.3.3", 1},
		{"5.4.1", 1}, {"5.4.2", 2}, {"5.4.3", 1}, {"5.4.4", 1}, {"5.4.5", 5}, {"5.4.6", 5},
		{"5.5", 17}, {"5.5.1", 2}, {"5.5.2", 2}, {"5.5.3", 1}, {"5.5.4", 1}, {"5.5.5", 2},
		{"7", 1}, {"8", 4}, {"9", 2},
	} {
		for i := 1; i <= part.last; i++ {
			numbers = append(numbers, fmt.Sprintf("%s-%d", part.section, i))
		}
	}
	return numbers
}
