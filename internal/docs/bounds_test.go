package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBounds checks that BOUNDS.md has a row for each map, channel, pool, buffer and queue in a
// field of a struct or in a package variable, of the library and of examples/platform. What can
// outlive a request needs a bound, and whatever lives shorter or is fixed has a row that says so.
func TestBounds(t *testing.T) {
	t.Chdir(root)
	rowsOf := map[string]bool{}
	for _, r := range slices.Concat(rows(t, "internal/docs/BOUNDS.md", "What can grow", 5), rows(t, "internal/docs/BOUNDS.md", "What cannot grow", 2)) {
		for _, name := range strings.Split(r.cells[0], ", ") {
			name = strings.Trim(name, "`")
			if rowsOf[name] {
				t.Errorf("BOUNDS.md has two rows for %s", name)
			}
			rowsOf[name] = true
		}
		if slices.Contains(r.cells, "") {
			t.Errorf("BOUNDS.md: an empty cell for %s", r.cells[0])
		}
	}
	held := holders(t)
	for _, name := range slices.Sorted(maps.Keys(held)) {
		if !rowsOf[name] {
			t.Errorf("%s: %s holds a %s and has no row in BOUNDS.md", held[name].at, name, held[name].what)
		}
		delete(rowsOf, name)
	}
	for _, name := range slices.Sorted(maps.Keys(rowsOf)) {
		t.Errorf("BOUNDS.md has a row for %s, which holds nothing", name)
	}
}

type holder struct{ what, at string }

// holders returns all fields and variables that hold a collection, by name: package.Type.field.
func holders(t *testing.T) map[string]holder {
	t.Helper()
	found := map[string]holder{}
	folders := slices.Sorted(maps.Keys(corePackages(t)))
	for _, folder := range append(folders, "examples/platform") {
		sources, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			if strings.HasSuffix(source, "_test.go") {
				continue
			}
			files := token.NewFileSet()
			for _, d := range parse(t, files, source).Decls {
				if d, ok := d.(*ast.GenDecl); ok {
					listHolders(d, func(name, what string, at token.Pos) {
						found[path.Join(folder, name)] = holder{what, files.Position(at).String()}
					})
				}
			}
		}
	}
	return found
}

func listHolders(d *ast.GenDecl, add func(name, what string, at token.Pos)) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if s, ok := spec.Type.(*ast.StructType); ok {
				listFields(spec.Name.Name, s, add)
			}
		case *ast.ValueSpec:
			for i, name := range spec.Names {
				what := collection(spec.Type)
				if what == "" && i < len(spec.Values) {
					what = collectionOf(spec.Values[i])
				}
				if what != "" && d.Tok == token.VAR {
					add(name.Name, what, name.Pos())
				}
			}
		}
	}
}

// listFields lists the collections of a struct, and those of structs in it. A slice counts if the
// struct has a lock: then it is shared, and may be a queue.
func listFields(of string, s *ast.StructType, add func(name, what string, at token.Pos)) {
	shared := slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		switch text := typeText(f.Type); text {
		case "sync.Mutex", "sync.RWMutex", "sync.Cond":
			return true
		default:
			return strings.HasPrefix(text, "atomic.")
		}
	})
	for _, f := range s.Fields.List {
		what := collection(f.Type)
		if a, ok := f.Type.(*ast.ArrayType); ok && a.Len == nil && shared && what == "" {
			what = "slice beside a lock"
		}
		for _, name := range f.Names {
			if inner, ok := f.Type.(*ast.StructType); ok {
				listFields(of+"."+name.Name, inner, add)
			}
			if what != "" {
				add(of+"."+name.Name, what, name.Pos())
			}
		}
		if what != "" && f.Names == nil {
			add(of+"."+typeText(f.Type), what, f.Pos())
		}
	}
}

// collection names the collection that a type is or holds, or returns "".
func collection(e ast.Expr) (what string) {
	switch e := e.(type) {
	case *ast.MapType:
		return "map"
	case *ast.ChanType:
		return "channel"
	case *ast.StarExpr:
		return collection(e.X)
	case *ast.ArrayType:
		return collection(e.Elt)
	case *ast.IndexExpr:
		return collection(e.X)
	case *ast.IndexListExpr:
		return collection(e.X)
	case *ast.SelectorExpr:
		switch text := typeText(e); text {
		case "sync.Map", "sync.Pool", "bytes.Buffer", "list.List", "recent.Answers", "recent.Groups", "replaytable.Table":
			return text
		}
	}
	return ""
}

// collectionOf names the collection that an expression makes, or returns "".
func collectionOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return collection(e.Type)
	case *ast.UnaryExpr:
		return collectionOf(e.X)
	case *ast.CallExpr:
		if f, ok := e.Fun.(*ast.Ident); ok && (f.Name == "make" || f.Name == "new") && len(e.Args) > 0 {
			return collection(e.Args[0])
		}
		if f, ok := e.Fun.(*ast.FuncLit); ok && f.Type.Results != nil && len(f.Type.Results.List) == 1 {
			return collection(f.Type.Results.List[0].Type)
		}
	}
	return ""
}

// typeText returns a named type as in the source, without pointer and arguments.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeText(e.X)
	case *ast.IndexExpr:
		return typeText(e.X)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	case *ast.Ident:
		return e.Name
	}
	return ""
}

func parse(t *testing.T, files *token.FileSet, source string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(files, source, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
