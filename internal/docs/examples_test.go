package docs_test

import (
	"encoding/json"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDocComments checks that each exported function, type and method of the core has a comment.
func TestDocComments(t *testing.T) {
	t.Chdir(root)
	for folder, p := range documented(t) {
		if p.Doc == "" {
			t.Errorf("%s has no package comment", folder)
		}
		for name, text := range commentsOf(p) {
			_, method, _ := strings.Cut(name, ".")
			if text == "" && !slices.Contains(selfExplained, method) {
				t.Errorf("%s.%s has no comment", folder, name)
			}
		}
	}
}

// selfExplained lists methods whose meaning an interface of the standard library defines. The
// comment of the type says what they return.
var selfExplained = []string{
	"Error", "Unwrap", "String", "GoString", "Format", "LogValue", "MarshalJSON", "MarshalText", "MarshalBinary", "ServeHTTP",
}

// TestExamples checks that an Example shows each exported function of the core, and each type
// that has methods. The Example uses the name, a constructor or a constant of the type. Or it is
// about one of the type's methods, or about a method that returns the type.
func TestExamples(t *testing.T) {
	t.Chdir(root)
	var missing []string
	for folder, p := range documented(t) {
		for _, name := range withoutOne(p) {
			missing = append(missing, folder+"."+name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		t.Errorf("names that no Example shows:\n%s", strings.Join(missing, "\n"))
	}
}

// TestExamplesCompileAlone checks that each file with an Example compiles as a reader copies it: in
// another package, without the other tests of its folder, and so with exported names only.
func TestExamplesCompileAlone(t *testing.T) {
	t.Chdir(root)
	files := map[string][]string{} // with Examples, by folder
	tests, all := map[string]string{}, 0
	for folder := range corePackages(t) {
		names, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			tests[name] = "" // an overlay with an empty path removes the file
			if hasExample(t, name) {
				files[folder] = append(files[folder], name)
				all = max(all, len(files[folder]))
			}
		}
	}
	if all == 0 {
		t.Fatal("no Examples")
	}
	for i := range all { // the i-th file of each folder, so that one command checks many
		removed := maps.Clone(tests)
		for _, of := range files {
			if i < len(of) {
				delete(removed, of[i])
			}
		}
		overlay := filepath.Join(t.TempDir(), "overlay.json")
		text, err := json.Marshal(map[string]any{"Replace": removed})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(overlay, text, 0o600); err != nil {
			t.Fatal(err)
		}
		goCommand(t, "vet", "-overlay", overlay, "./...")
	}
}

// hasExample reports whether a file has an Example. An Example in the package itself would see
// names that are not exported.
func hasExample(t *testing.T, name string) bool {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && strings.HasPrefix(f.Name.Name, "Example")
	})
	if found && !strings.HasSuffix(file.Name.Name, "_test") {
		t.Errorf("%s: an Example inside its package", name)
	}
	return found
}

// documented returns the documentation of the core's public packages, with their Examples, by
// folder.
func documented(t *testing.T) map[string]*doc.Package {
	t.Helper()
	packages := map[string]*doc.Package{}
	for folder := range corePackages(t) {
		if strings.HasPrefix(folder, "internal/") {
			continue
		}
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range names {
			file, err := parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		if packages[folder], err = doc.NewFromFiles(fset, files, module+"/"+folder); err != nil {
			t.Fatal(err)
		}
	}
	return packages
}

// commentsOf returns the comments of functions, types and methods by name.
func commentsOf(p *doc.Package) map[string]string {
	comments := map[string]string{}
	for _, f := range functionsOf(p) {
		comments[f.Name] = f.Doc
	}
	for _, typ := range p.Types {
		comments[typ.Name] = typ.Doc
		for _, m := range typ.Methods {
			comments[typ.Name+"."+m.Name] = m.Doc
		}
	}
	return comments
}

func functionsOf(p *doc.Package) []*doc.Func {
	functions := slices.Clone(p.Funcs)
	for _, typ := range p.Types {
		functions = append(functions, typ.Funcs...)
	}
	return functions
}

// withoutOne returns the functions, and the types with methods, that no Example of the package
// shows.
func withoutOne(p *doc.Package) (names []string) {
	used := usedIn(examplesOf(p), p.Name)
	for _, f := range functionsOf(p) {
		if !used[f.Name] {
			names = append(names, f.Name)
		}
	}
	for _, typ := range p.Types {
		if len(typ.Methods) > 0 && !used[typ.Name] && !isShown(typ, used) && !isReturned(typ, p) {
			names = append(names, typ.Name)
		}
	}
	return names
}

// usedIn returns the names of a package that Examples use.
func usedIn(examples []*doc.Example, pkg string) map[string]bool {
	used := map[string]bool{}
	for _, example := range examples {
		ast.Inspect(example.Code, func(n ast.Node) bool {
			if use, ok := n.(*ast.SelectorExpr); ok {
				if of, ok := use.X.(*ast.Ident); ok && of.Name == pkg {
					used[use.Sel.Name] = true
				}
			}
			return true
		})
	}
	return used
}

// isShown reports whether an Example uses a constructor or a constant of the type, or is one of a
// method.
func isShown(typ *doc.Type, used map[string]bool) bool {
	return slices.ContainsFunc(typ.Funcs, func(f *doc.Func) bool { return used[f.Name] }) ||
		slices.ContainsFunc(typ.Methods, func(m *doc.Func) bool { return len(m.Examples) > 0 }) ||
		slices.ContainsFunc(typ.Consts, func(v *doc.Value) bool {
			return slices.ContainsFunc(v.Names, func(name string) bool { return used[name] })
		})
}

// isReturned reports whether a method that has an Example returns the type.
func isReturned(typ *doc.Type, p *doc.Package) bool {
	for _, other := range p.Types {
		for _, m := range other.Methods {
			if len(m.Examples) > 0 && slices.Contains(resultsOf(m), typ.Name) {
				return true
			}
		}
	}
	return false
}

// resultsOf returns the names of the types of the method's own package that it returns, as values
// or pointers.
func resultsOf(m *doc.Func) (names []string) {
	if m.Decl.Type.Results == nil {
		return nil
	}
	for _, result := range m.Decl.Type.Results.List {
		of := result.Type
		if star, ok := of.(*ast.StarExpr); ok {
			of = star.X
		}
		if name, ok := of.(*ast.Ident); ok {
			names = append(names, name.Name)
		}
	}
	return names
}

func examplesOf(p *doc.Package) []*doc.Example {
	examples := slices.Clone(p.Examples)
	for _, f := range functionsOf(p) {
		examples = append(examples, f.Examples...)
	}
	for _, typ := range p.Types {
		examples = append(examples, typ.Examples...)
		for _, m := range typ.Methods {
			examples = append(examples, m.Examples...)
		}
	}
	return examples
}
