package docs_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const eventsDocument = "internal/docs/EVENTS.md"

// later are verbs of which an audit log has entries, and no observer hears.
var later = []string{"audit.erased", "audit.sealed", "org.deleted", "request.refused", "account.deleted", "keypair.exposed"}

// TestGeneratedEvents generates the table of verbs: which packages emit each, and the first test that drives it. A test with Verbs in its
// name drives the verbs that its strings begin with.
func TestGeneratedEvents(t *testing.T) {
	t.Chdir(root)
	emitters, tests := map[string][]string{}, map[string][]string{}
	names := verbConstants(t)
	for _, folder := range append(slices.Sorted(maps.Keys(corePackages(t))), "examples/platform") {
		sources, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		emits := slices.ContainsFunc(sources, func(source string) bool {
			return !strings.HasSuffix(source, "_test.go") && strings.Contains(read(t, source), "auth.Emit(")
		})
		for _, source := range sources {
			for _, d := range parse(t, token.NewFileSet(), source).Decls {
				f, isFunc := d.(*ast.FuncDecl)
				switch {
				case strings.HasSuffix(source, "_test.go"):
					if isFunc && strings.HasPrefix(f.Name.Name, "TestVerbs") {
						eachVerb(f, names, func(verb string) { note(tests, verb, path.Join(folder, f.Name.Name)) })
					}
				case emits:
					eachVerb(d, names, func(verb string) { note(emitters, verb, folder) })
				}
			}
		}
	}
	var table strings.Builder
	table.WriteString("| verb | which is | emitted by | driven by |\n|---|---|---|---|\n")
	for _, c := range names {
		if tests[c.verb] == nil && !slices.Contains(later, c.verb) {
			t.Errorf("no test drives %s", c.verb)
		}
		driver := ""
		if found := tests[c.verb]; found != nil {
			driver = "`" + found[0] + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", c.verb, c.comment, strings.Join(emitters[c.verb], ", "), driver)
	}
	document := read(t, eventsDocument)
	before, rest, ok := strings.Cut(document, "| verb |")
	if !ok {
		t.Fatal("no table")
	}
	after := ""
	if i := strings.Index(rest, "\n\n"); i >= 0 {
		after = rest[i+1:]
	}
	if want := before + table.String() + after; want != document {
		if !*update {
			t.Fatal("the table is not as the code: go test -run TestGenerated ./internal/docs ./examples/platform -update")
		}
		if err := os.WriteFile(eventsDocument, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

type verbConstant struct{ name, verb, comment string }

// verbConstants returns the vocabulary, in its order.
func verbConstants(t *testing.T) (all []verbConstant) {
	t.Helper()
	files := token.NewFileSet()
	source := "internal/verbs/verbs.go"
	lines := strings.Split(read(t, source), "\n")
	for _, d := range parse(t, files, source).Decls {
		d, ok := d.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR || !d.Lparen.IsValid() {
			continue
		}
		for _, spec := range d.Specs {
			spec := spec.(*ast.ValueSpec)
			verb, err := strconv.Unquote(spec.Values[0].(*ast.CallExpr).Args[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			_, comment, _ := strings.Cut(lines[files.Position(spec.Pos()).Line-1], "// ")
			all = append(all, verbConstant{spec.Names[0].Name, verb, comment})
		}
	}
	return all
}

// eachVerb calls found for each verb in a declaration: as verbs.Name, or as what a string begins with.
func eachVerb(d ast.Decl, names []verbConstant, found func(verb string)) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "verbs" {
				for _, c := range names {
					if c.name == n.Sel.Name {
						found(c.verb)
					}
				}
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				break
			}
			text, _ := strconv.Unquote(n.Value)
			first, _, _ := strings.Cut(text, " ")
			for _, c := range names {
				if c.verb == first {
					found(c.verb)
				}
			}
		}
		return true
	})
}

// note adds a value once.
func note(m map[string][]string, key, value string) {
	if !slices.Contains(m[key], value) {
		m[key] = append(m[key], value)
	}
}
