package tenantkit_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"
)

// TestThreats holds the table of attacks to the tests: each row names tests
// that exist, the rows are those of attackNumbers, and a named case is one of
// the named test. With -v it prints who proves what.
func TestThreats(t *testing.T) {
	tests := indexTests(t)
	var numbers []string
	for _, r := range rows(t, "The table", 4) {
		number := r.cells[0]
		numbers = append(numbers, number)
		names := tests.holds(t, number, r.cells[3])
		for _, name := range names {
			if parts := testName.FindStringSubmatch(name); parts != nil && parts[3] != "" && parts[3] != number {
				t.Errorf("%s: %s proves another row", number, name)
			}
		}
		if testing.Verbose() {
			t.Logf("%-5s %s", number, strings.Join(names, ", "))
		}
	}
	if diff := godiff.Diff(attackNumbers(), numbers); diff != "" {
		t.Errorf("rows of the table (-known +table):\n%s", diff)
	}
}

// attackNumbers are the rows of the table, in order. A number is given once:
// what is removed leaves a hole here, and the next attack takes the next one.
func attackNumbers() (numbers []string) {
	for _, group := range []struct {
		letter string // signature, nonce, token, scope (chains), session and factor, paging, making, keys and stores
		last   int
		also   []string // variants of a number, behind it
		never  int      // the number that nothing has
	}{
		{"S", 22, []string{"S01b", "S10b", "S14b", "S15b"}, 0},
		{"N", 15, []string{"N02b"}, 0},
		{"T", 31, []string{"T05b"}, 0},
		{"C", 13, []string{"C02b"}, 0},
		{"F", 19, []string{"F06b"}, 0},
		{"P", 22, nil, 15},
		{"M", 18, nil, 0},
		{"K", 15, nil, 0},
	} {
		for i := 1; i <= group.last; i++ {
			number := fmt.Sprintf("%s%02d", group.letter, i)
			if i != group.never {
				numbers = append(numbers, number)
			}
			if variant := number + "b"; slices.Contains(group.also, variant) {
				numbers = append(numbers, variant)
			}
		}
	}
	return numbers
}

// TestProtocol holds what is said of the protocol's own weaknesses to the
// tests: what the library does about one is tested, or it is nothing.
func TestProtocol(t *testing.T) {
	tests := indexTests(t)
	for _, r := range rows(t, "What the protocol itself leaves open", 4) {
		answer, proof := r.cells[2], r.cells[3]
		if proof == none {
			if !strings.HasPrefix(answer, "nothing") {
				t.Errorf("%s: an answer of ours without a test", r.cells[0])
			}
			continue
		}
		tests.holds(t, r.cells[0], proof)
	}
}

// TestPackagesAreJudged asks of each package of the core what it trusts, what
// it promises and what it leaves to its caller.
func TestPackagesAreJudged(t *testing.T) {
	var judged, packages []string
	for _, r := range rows(t, "Package by package", 4) {
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

// TestRefusalsHaveABudget asks of each detail of package auth what a refusal with
// it costs, and for a test.
func TestRefusalsHaveABudget(t *testing.T) {
	chosenLater := map[string]string{
		"conflict.unspecified":   "a handler's, of what it was admitted to change",
		"error.storeUnavailable": "a failure, after which nobody knows what was written",
		"error.unspecified":      "a failure, likewise",
	}
	tests := indexTests(t)
	var told []string
	for _, r := range rows(t, "What a refusal costs", 4) {
		tests.holds(t, r.cells[0], r.cells[3])
		if slices.Contains(r.cells, "") {
			t.Errorf("%s: an empty cell", r.cells[0])
		}
		for _, detail := range quotedDetail.FindAllStringSubmatch(r.cells[0], -1) {
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
		t.Errorf("details with a budget (-code +document):\n%s", diff)
	}
}

// quotedDetail is one in a cell: two names and a dot.
var quotedDetail = regexp.MustCompile("`([a-zA-Z]+\\.[a-zA-Z]+)`")

// details are the values of the Detail constants of package auth.
func details(t *testing.T) (all []string) {
	t.Helper()
	for _, match := range detailConstant.FindAllStringSubmatch(read(t, "auth/fault.go"), -1) {
		all = append(all, match[1])
	}
	return all
}

var detailConstant = regexp.MustCompile(`(?m)^\tDetail\w+ += "(.+)"$`)

// TestUnsafeNames asks of each exported name that calls itself unsafe what it
// gives up.
func TestUnsafeNames(t *testing.T) {
	var told, unsafe []string
	for _, r := range rows(t, "What is unsafe by name", 2) {
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

// TestSTRIDE asks each mechanism all six questions, and each answer for a test.
func TestSTRIDE(t *testing.T) {
	questions := []string{"Spoofing", "Tampering", "Repudiation", "Information disclosure", "Denial of service", "Elevation of privilege"}
	tests := indexTests(t)
	asked := map[string][]string{}
	for _, r := range rows(t, "STRIDE", 4) {
		asked[r.part] = append(asked[r.part], r.cells[0])
		tests.holds(t, r.part+", "+r.cells[0], r.cells[3])
	}
	for _, mechanism := range []string{
		"STRIDE: signatures", "STRIDE: bearer tokens", "STRIDE: sessions and second factors",
		"STRIDE: paging", "STRIDE: stores", "STRIDE: keys at rest",
	} {
		if diff := godiff.Diff(questions, asked[mechanism]); diff != "" {
			t.Errorf("%s (-asked +document):\n%s", mechanism, diff)
		}
	}
}

// TestRFC8725 asks for each of the best current practices in section 3 of RFC
// 8725, and for a test.
func TestRFC8725(t *testing.T) {
	tests := indexTests(t)
	var got, want []string
	for _, r := range rows(t, "RFC 8725", 4) {
		got = append(got, r.cells[0])
		tests.holds(t, "RFC 8725, "+r.cells[0], r.cells[3])
	}
	for i := 1; i <= 12; i++ {
		want = append(want, fmt.Sprintf("3.%d", i))
	}
	if diff := godiff.Diff(want, got); diff != "" {
		t.Errorf("sections (-RFC +document):\n%s", diff)
	}
}

// TestASVS holds the table of requirements to the tests: each row names some
// that exist, leaves its answer to the application, or says that there is
// nothing to test.
func TestASVS(t *testing.T) {
	tests := indexTests(t)
	seen := map[string]bool{}
	for _, r := range rows(t, "OWASP ASVS 5.0", 4) {
		number, answer, proof := r.cells[0], r.cells[2], r.cells[3]
		if !requirement.MatchString(number) || seen[number] {
			t.Errorf("%s: is no number, or comes twice", number)
		}
		seen[number] = true
		if proof == none {
			if !strings.HasPrefix(answer, "the application's") && !strings.HasPrefix(answer, "not offered") {
				t.Errorf("%s: an answer of ours without a test", number)
			}
			continue
		}
		tests.holds(t, number, proof)
	}
}

// none stands where there is nothing to test.
const none = "–"

var requirement = regexp.MustCompile(`^V\d+\.\d+\.\d+$`)

// row is a row of a table of THREATS.md.
type row struct {
	part  string // the nearest heading
	cells []string
}

// rows reads the rows of all tables below a heading of THREATS.md, which have
// so many cells each. Headings of its parts begin with it, or it is their own.
func rows(t *testing.T, heading string, cells int) (found []row) {
	t.Helper()
	var section, part string
	body := false // behind the line of dashes of a table
	for line := range strings.Lines(read(t, "THREATS.md")) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, part = title, title
		}
		if title, ok := strings.CutPrefix(line, "### "); ok {
			part = title
		}
		if !strings.HasPrefix(line, "|") {
			body = false
			continue
		}
		if strings.HasPrefix(line, "|---") {
			body = true
			continue
		}
		if !body || section != heading && part != heading {
			continue
		}
		r := row{part, cellsOf(line)}
		if len(r.cells) != cells {
			t.Fatalf("%s: %d cells, want %d: %s", part, len(r.cells), cells, line)
		}
		found = append(found, r)
	}
	if len(found) == 0 {
		t.Fatalf("THREATS.md has no table below %q", heading)
	}
	return found
}

func cellsOf(line string) []string {
	const pipe = "\x00" // stands for one that separates nothing
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, pipe), "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, pipe, "|"))
	}
	return cells
}

// testIndex knows the functions of the test files that are built here, and the
// attack numbers that string literals in them begin with, both by folder.
type testIndex struct {
	functions map[string][]string
	labels    map[string][]label
}

type label struct {
	number   string
	function string // around it; empty for a table outside functions
}

var (
	testName = regexp.MustCompile(`^([a-z][a-z/]*)\.((?:Test|Fuzz)\w+)(?:/(\w+))?$`)
	// The name of a case: its number, and then its sentence.
	caseName = regexp.MustCompile("^[\"`]([SNTCFPMK]\\d\\d[a-z]?)(?:[\"` ,:]|$)")
)

// holds reports the entries of a cell that name no test, and returns all.
func (x testIndex) holds(t *testing.T, what, proof string) []string {
	t.Helper()
	names := strings.Split(proof, ", ")
	for _, name := range names {
		if err := x.prove(name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	return names
}

// prove checks one entry: "folder.TestName" or, for a test that labels its
// cases, "folder.TestName/S03".
func (x testIndex) prove(entry string) error {
	parts := testName.FindStringSubmatch(entry)
	if parts == nil {
		return fmt.Errorf("%q names no test", entry)
	}
	folder, function, number := parts[1], parts[2], parts[3]
	if !slices.Contains(x.functions[folder], function) {
		return fmt.Errorf("there is no %s in %s", function, folder)
	}
	labelled := slices.ContainsFunc(x.labels[folder], func(l label) bool {
		// A table in a package variable belongs to whichever test ranges over it.
		return l.number == number && (l.function == "" || l.function == function)
	})
	if number != "" && !labelled {
		return fmt.Errorf("%s has no case labelled so; there are: %s", entry, x.labelled(number))
	}
	return nil
}

// labelled lists the tests that have a case of the number.
func (x testIndex) labelled(number string) string {
	var tests []string
	for folder, labels := range x.labels {
		for _, l := range labels {
			if l.number == number {
				tests = append(tests, folder+"."+l.function+"/"+number)
			}
		}
	}
	return cmp.Or(strings.Join(slices.Compact(sorted(tests)), ", "), "none")
}

// indexTests reads all test files of the tree that are built on this system: a
// test in another never runs here. Walking it also tells the go command to run
// this package's tests again when any file has changed.
func indexTests(t *testing.T) testIndex {
	t.Helper()
	x := testIndex{map[string][]string{}, map[string][]label{}}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.Name() == ".git" && entry.IsDir() {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		if built, err := build.Default.MatchFile(filepath.Split(path)); err != nil || !built {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		x.add(filepath.ToSlash(filepath.Dir(path)), file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (x testIndex) add(folder string, file *ast.File) {
	for _, decl := range file.Decls {
		var function string
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
			function = f.Name.Name
			x.functions[folder] = append(x.functions[folder], function)
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if says(n) {
				return false
			}
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if name := caseName.FindStringSubmatch(l.Value); name != nil {
					x.labels[folder] = append(x.labels[folder], label{name[1], function})
				}
			}
			return true
		})
	}
}

// says tells a call of t.Errorf and the like: its text is that of a failure, and
// names no case.
func says(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf", "Skip", "Skipf"}, method.Sel.Name)
}
