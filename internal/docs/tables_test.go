package docs_test

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
)

// Tables prove the statements of documents. The last cell of a row names tests, or is none.

// row is a row of a table of a document.
type row struct {
	part  string // the nearest heading
	cells []string
}

// rows returns the rows, with the given number of cells, of all tables below a heading of a
// document. The headings of the tables' parts begin with that heading, or are equal to it.
func rows(t *testing.T, document, heading string, cells int) (found []row) {
	t.Helper()
	var section, part string
	body := false // after the line of dashes of a table
	for line := range strings.Lines(read(t, document)) {
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
		t.Fatalf("%s has no table below %q", document, heading)
	}
	return found
}

func cellsOf(line string) []string {
	const pipe = "\x00" // stands for a pipe that separates no cells
	cells := strings.Split(strings.Trim(strings.ReplaceAll(line, `\|`, pipe), "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, pipe, "|"))
	}
	return cells
}

// testIndex holds the functions of the test files that are built on this system. It also holds
// the numbers of attacks and sentences with which string literals in these files begin. Both are
// by folder.
type testIndex struct {
	functions map[string][]string
	labels    map[string][]label
}

type label struct {
	number   string
	function string // the function around it; empty for a table outside functions
}

var (
	testName = regexp.MustCompile(`^([a-z][a-z/]*)\.((?:Test|Fuzz)\w+)(?:/([\w.-]+))?$`)
	// The name of a case: its number, and then its sentence.
	caseName = regexp.MustCompile("^[\"`]([SVNTCFPMKOA]\\d\\d[a-z]?|\\d(?:\\.\\d)*-\\d+)(?:[\"` ,:]|$)")
)

// holds reports the names that are of no test. One is needed at least.
func (x testIndex) holds(t *testing.T, what string, names []string) {
	t.Helper()
	if len(names) == 0 {
		t.Errorf("%s: no test", what)
	}
	for _, name := range names {
		if err := x.prove(name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// prove checks one entry. It is "folder.TestName" or, for a test that labels its cases,
// "folder.TestName/S03" or "folder.TestName/2.1-4".
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
		// A table in a package variable belongs to each test that uses it.
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

// indexTests reads all test files of the tree that are built on this system. A test in any other
// file never runs here. Reading the tree also makes the go command run this package's tests again
// after any change.
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

// says reports whether n is a call of t.Errorf or the like. Its text is that of a failure, and
// names no case.
func says(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	method, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Log", "Logf", "Skip", "Skipf"}, method.Sel.Name)
}
