package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"
)

// TestThreats checks the rows of attacks against the tests. Each names tests that exist, and the rows
// are those of attackNumbers. A named case is one of the named test. With -v it prints
// which tests prove which row.
func TestThreats(t *testing.T) {
	t.Chdir(root)
	tests := indexTests(t)
	var numbers []string
	for _, part := range dataOf(t, "attacks", 3) {
		for _, r := range part.Rows {
			number := r.Cells[0]
			numbers = append(numbers, number)
			tests.holds(t, number, r.Tests)
			for _, name := range r.Tests {
				if parts := testName.FindStringSubmatch(name); parts != nil && parts[3] != "" && parts[3] != number {
					t.Errorf("%s: %s proves another row", number, name)
				}
			}
			if testing.Verbose() {
				t.Logf("%-5s %s", number, strings.Join(r.Tests, ", "))
			}
		}
	}
	if diff := godiff.Diff(sorted(attackNumbers()), sorted(numbers)); diff != "" {
		t.Errorf("rows of the table (-known +table):\n%s", diff)
	}
}

// attackNumbers returns the numbers of all rows. A number is never used again. If an
// attack is removed, its number stays unused here, and a new attack gets the next number.
func attackNumbers() (numbers []string) {
	for _, group := range []struct {
		letter string // signature, version 2, nonce, token, scope (chains), session and factor, paging, delegation, keys and stores, other issuers and OAuth, mechanisms of an adopter, repeated requests
		last   int
		also   []string // variants of a number, after it
		never  []int    // numbers that no attack has, or has any more
	}{
		{"S", 25, []string{"S01b", "S10b", "S14b", "S15b"}, nil},
		{"V", 19, nil, nil},
		{"N", 15, []string{"N02b"}, nil},
		{"T", 40, []string{"T05b"}, nil},
		{"C", 17, []string{"C02b"}, nil},
		{"F", 48, []string{"F06b"}, []int{33}},
		{"P", 38, []string{"P25b", "P26b"}, []int{15}},
		{"M", 28, nil, nil},
		{"K", 64, nil, []int{25, 37, 38}},
		{"O", 49, []string{"O39b"}, nil},
		{"A", 19, nil, nil},
		{"R", 12, nil, nil},
	} {
		for i := 1; i <= group.last; i++ {
			number := fmt.Sprintf("%s%02d", group.letter, i)
			if !slices.Contains(group.never, i) {
				numbers = append(numbers, number)
			}
			if variant := number + "b"; slices.Contains(group.also, variant) {
				numbers = append(numbers, variant)
			}
		}
		for _, number := range group.also { // beyond last
			if !strings.HasSuffix(number, "b") {
				numbers = append(numbers, number)
			}
		}
	}
	return numbers
}

// TestProtocol checks that each weakness of the protocol has a test for what the library does
// about it, or that the library does nothing.
func TestProtocol(t *testing.T) {
	t.Chdir(root)
	tests := indexTests(t)
	for _, r := range rows(t, "THREATS.md", "What the protocol itself leaves open", 4) {
		answer, proof := r.cells[2], r.cells[3]
		if proof == none {
			if !strings.HasPrefix(answer, "nothing") {
				t.Errorf("%s: an answer of ours without a test", r.cells[0])
			}
			continue
		}
		tests.holds(t, r.cells[0], strings.Split(proof, ", "))
	}
}

// TestPackagesAreJudged checks that the document says of each package of the core what it trusts,
// what it promises and what it leaves to its caller.
func TestPackagesAreJudged(t *testing.T) {
	t.Chdir(root)
	var judged, packages []string
	for _, r := range rows(t, "THREATS.md", "Package by package", 4) {
		judged = append(judged, strings.Trim(r.cells[0], "`"))
		if slices.Contains(r.cells, "") {
			t.Errorf("%s: an empty cell", r.cells[0])
		}
	}
	for folder := range corePackages(t) {
		if folder != "." && !strings.HasPrefix(folder, "internal/") {
			packages = append(packages, folder)
		}
	}
	if diff := godiff.Diff(sorted(packages), sorted(judged)); diff != "" {
		t.Errorf("THREATS.md judges other packages than there are (-code +document):\n%s", diff)
	}
}

// TestRejectionsHaveABudget checks that each detail of package auth has the cost of a rejection, and
// a test.
func TestRejectionsHaveABudget(t *testing.T) {
	t.Chdir(root)
	chosenLater := map[string]string{
		"conflict.unspecified":   "a handler's, of what it was admitted to change",
		"error.storeUnavailable": "a failure, after which the outcome is not known",
		"error.unspecified":      "a failure, likewise",
	}
	tests := indexTests(t)
	var told []string
	for _, r := range dataOf(t, "rejections", 3)[0].Rows {
		tests.holds(t, r.Cells[0], r.Tests)
		if slices.Contains(r.Cells, "") {
			t.Errorf("%s: an empty cell", r.Cells[0])
		}
		for _, detail := range quotedDetail.FindAllStringSubmatch(r.Cells[0], -1) {
			told = append(told, detail[1])
		}
	}
	for detail := range chosenLater {
		if slices.Contains(told, detail) {
			t.Errorf("%s has a budget, and an excuse", detail)
		}
		told = append(told, detail)
	}
	if diff := godiff.Diff(sorted(details(t)), slices.Compact(sorted(told))); diff != "" {
		t.Errorf("details with a budget (-code +data):\n%s", diff)
	}
}

// quotedDetail matches a detail in a cell: two names and a dot.
var quotedDetail = regexp.MustCompile("`([a-zA-Z]+\\.[a-zA-Z]+)`")

// details returns the values of the Detail constants of package auth.
func details(t *testing.T) (all []string) {
	t.Helper()
	for _, match := range detailConstant.FindAllStringSubmatch(read(t, "auth/fault.go"), -1) {
		all = append(all, match[1])
	}
	return all
}

var detailConstant = regexp.MustCompile(`(?m)^\tDetail\w+ += "(.+)"$`)

// TestUnsafeNames checks that the document says of each exported name with Unsafe in it which
// protection it gives up.
func TestUnsafeNames(t *testing.T) {
	t.Chdir(root)
	var told, unsafe []string
	for _, r := range rows(t, "THREATS.md", "What is unsafe by name", 2) {
		told = append(told, unsafeName.FindString(r.cells[0]))
	}
	for line := range strings.Lines(read(t, "internal/api/v0.txt")) {
		if name := unsafeName.FindString(line); name != "" {
			unsafe = append(unsafe, name)
		}
	}
	if diff := godiff.Diff(sorted(unsafe), sorted(told)); diff != "" {
		t.Errorf("unsafe names (-code +document):\n%s", diff)
	}
}

var unsafeName = regexp.MustCompile(`\bUnsafe\w+`)

// TestRFC8725 checks that each of the best current practices in section 3 of RFC 8725 has an
// answer and a test.
func TestRFC8725(t *testing.T) {
	t.Chdir(root)
	tests := indexTests(t)
	var got, want []string
	for _, r := range dataOf(t, "standards", 3)[0].Rows {
		got = append(got, r.Cells[0])
		tests.holds(t, "RFC 8725, "+r.Cells[0], r.Tests)
	}
	for i := 1; i <= 12; i++ {
		want = append(want, fmt.Sprintf("3.%d", i))
	}
	if diff := godiff.Diff(want, got); diff != "" {
		t.Errorf("sections (-RFC +data):\n%s", diff)
	}
}

// TestASVS checks the table of requirements against the tests. Each row names tests that exist,
// or leaves its answer to the application, or says that there is nothing to test. The table has all
// requirements of the standard's sections: the numbers in each are counted as the standard has them.
func TestASVS(t *testing.T) {
	t.Chdir(root)
	tests := indexTests(t)
	var got, want []string
	for _, r := range dataOf(t, "standards", 3)[1].Rows {
		number, answer := r.Cells[0], r.Cells[2]
		got = append(got, number)
		if len(r.Tests) == 0 {
			if !strings.HasPrefix(answer, "the application's") && !strings.HasPrefix(answer, "not offered") {
				t.Errorf("%s: an answer of ours without a test", number)
			}
			continue
		}
		tests.holds(t, number, r.Tests)
	}
	for _, section := range []struct {
		number string
		last   int
	}{
		{"V3.3", 5}, {"V3.5", 3}, {"V6.1", 3}, {"V6.2", 12}, {"V6.3", 8}, {"V6.4", 6}, {"V6.5", 8},
		{"V7.1", 3}, {"V7.2", 4}, {"V7.3", 2}, {"V7.4", 5}, {"V7.5", 3}, {"V7.6", 2},
	} {
		for i := 1; i <= section.last; i++ {
			want = append(want, fmt.Sprintf("%s.%d", section.number, i))
		}
	}
	if diff := godiff.Diff(want, got); diff != "" {
		t.Errorf("requirements (-standard +data):\n%s", diff)
	}
}
