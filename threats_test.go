package tenantkit_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThreats holds THREATS.md to the tests: each row names tests that exist,
// or the part that has to be built first. With -v it prints who proves what.
func TestThreats(t *testing.T) {
	rows := threatRows(t)
	if len(rows) == 0 {
		t.Fatal("THREATS.md has no row")
	}
	tests := indexTests(t)
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.number] {
			t.Errorf("%s: the number is taken", row.number)
		}
		seen[row.number] = true
		for _, name := range row.tests {
			if err := tests.prove(row.number, name); err != nil {
				t.Errorf("%s: %v", row.number, err)
			}
		}
		if testing.Verbose() {
			t.Logf("%-5s %s", row.number, strings.Join(row.tests, ", "))
		}
	}
}

// threat is one row of the table: an attack's number, and the cell that says
// what proves the answer.
type threat struct {
	number string
	tests  []string
}

// Groups: signature, nonce, token, scope (chains), session and factor, paging,
// keys and stores.
var threatNumber = regexp.MustCompile(`\b[SNTCFPK]\d\d[a-z]?\b`)

// threatRows reads the rows of THREATS.md whose first cell is a number.
func threatRows(t *testing.T) []threat {
	t.Helper()
	var rows []threat
	for line := range strings.Lines(read(t, "THREATS.md")) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")
		if len(cells) < 2 {
			continue
		}
		number := strings.TrimSpace(cells[1])
		if number == "" || threatNumber.FindString(number) != number {
			continue
		}
		if len(cells) != 6 {
			t.Errorf("%s: %d cells, want 4", number, len(cells)-2)
			continue
		}
		proof := strings.TrimSpace(strings.ReplaceAll(cells[4], "`", ""))
		rows = append(rows, threat{number, strings.Split(proof, ", ")})
	}
	return rows
}

// testIndex knows the functions of the test files of the tree, and the attack
// numbers in their string literals, both by folder.
type testIndex struct {
	functions map[string][]string
	labels    map[string][]label
}

type label struct {
	number   string
	function string // around it; empty for a table outside functions
}

var (
	waiting  = regexp.MustCompile(`^waiting: [a-z]+$`)
	testName = regexp.MustCompile(`^([a-z][a-z/]*)\.((?:Test|Fuzz)\w+)(?:/(\w+))?$`)
)

// prove checks one entry of a row's last cell: "waiting: word",
// "folder.TestName" or, for a test that labels its cases, "folder.TestName/S03".
func (x testIndex) prove(number, entry string) error {
	if waiting.MatchString(entry) {
		return nil
	}
	parts := testName.FindStringSubmatch(entry)
	if parts == nil {
		return fmt.Errorf("%q names no test; cases so labelled: %s", entry, x.labelled(number))
	}
	folder, function, subtest := parts[1], parts[2], parts[3]
	if !slices.Contains(x.functions[folder], function) {
		return fmt.Errorf("there is no %s in %s", function, folder)
	}
	if subtest == "" {
		return nil
	}
	labelled := slices.ContainsFunc(x.labels[folder], func(l label) bool {
		// A table in a package variable belongs to whichever test ranges over it.
		return l.number == number && (l.function == "" || l.function == function)
	})
	if subtest != number || !labelled {
		return fmt.Errorf("%s has no case labelled %s", entry, number)
	}
	return nil
}

// labelled lists the tests that could fill the row.
func (x testIndex) labelled(number string) string {
	var tests []string
	for folder, labels := range x.labels {
		for _, l := range labels {
			if l.number == number {
				tests = append(tests, folder+"."+l.function+"/"+number)
			}
		}
	}
	if len(tests) == 0 {
		return "none"
	}
	return strings.Join(slices.Compact(sorted(tests)), ", ")
}

// indexTests reads all test files of the tree. Walking it also tells the go
// command to run this package's tests again when any file has changed.
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
		if f, ok := decl.(*ast.FuncDecl); ok {
			function = f.Name.Name
			x.functions[folder] = append(x.functions[folder], function)
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				for _, number := range threatNumber.FindAllString(l.Value, -1) {
					x.labels[folder] = append(x.labels[folder], label{number, function})
				}
			}
			return true
		})
	}
}
