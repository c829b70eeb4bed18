// Package api compares the exported surface of the core with the list v0.txt, so that
// no change of it goes unnoticed.
package api_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write v0.txt from the code")

const list = "v0.txt"

// TestSurface fails if a symbol is missing from the list, or if the list has a symbol
// that does not exist. Once there is a tag, CHANGELOG.md must describe both changes.
func TestSurface(t *testing.T) {
	got := surface(t)
	if *update {
		if err := os.WriteFile(list, []byte(strings.Join(got, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	if diff := append(without("- ", want, got), without("+ ", got, want)...); len(diff) > 0 {
		said := "The exported surface has additions"
		if slices.ContainsFunc(diff, breaks) {
			said = "The exported surface has changes that break those who use it"
		}
		t.Errorf("%s (- list, + code):\n%s\n"+
			"If that is meant, run: go test ./internal/api -update. Once there is a tag, say so in CHANGELOG.md", said, strings.Join(diff, "\n"))
	}
}

// breaks reports whether a line of the difference may break users of the symbol: the symbol was removed or changed, or
// an interface has one more method.
func breaks(line string) bool {
	return strings.HasPrefix(line, "- ") || strings.Contains(line, " interface, ")
}

func TestBreaks(t *testing.T) {
	for line, want := range map[string]bool{
		"- scope: func Parse(string) (Chain, error)":         true,
		"+ auth: type Directory interface, Org(string) *Org": true,
		"+ auth: type Directory interface":                   false,
		"+ auth: type Org struct, Name string":               false,
		"+ scope: func Parse(string) (Chain, error)":         false,
	} {
		if breaks(line) != want {
			t.Errorf("breaks(%q) = %t", line, !want)
		}
	}
}

// without returns the lines of a that are not in b, each after a sign.
func without(sign string, a, b []string) (lines []string) {
	for _, line := range a {
		if !slices.Contains(b, line) {
			lines = append(lines, sign+line)
		}
	}
	return lines
}

// surface returns a line for each exported symbol of the core, in order.
func surface(t *testing.T) (lines []string) {
	t.Helper()
	const root = "../.."
	err := filepath.WalkDir(root, func(folder string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); folder != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"examples", "internal", "testdata"}, name)) {
			return filepath.SkipDir
		}
		p, err := build.ImportDir(folder, 0)
		if none := new(build.NoGoError); errors.As(err, &none) {
			return nil
		}
		if err != nil {
			return err
		}
		path, err := filepath.Rel(root, folder)
		if err != nil {
			return err
		}
		for _, name := range p.GoFiles {
			symbols, err := read(filepath.Join(folder, name))
			if err != nil {
				return err
			}
			for _, s := range symbols {
				lines = append(lines, filepath.ToSlash(path)+": "+s)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

// read returns the exported symbols of a file.
func read(name string) (symbols []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			symbols = append(symbols, function(d)...)
		case *ast.GenDecl:
			symbols = append(symbols, general(d)...)
		}
	}
	return symbols, nil
}

func function(d *ast.FuncDecl) []string {
	if !d.Name.IsExported() {
		return nil
	}
	if d.Recv == nil {
		return []string{"func " + d.Name.Name + signature(d.Type)}
	}
	receiver := text(d.Recv.List[0].Type)
	if !ast.IsExported(strings.TrimPrefix(receiver, "*")) {
		return nil
	}
	return []string{fmt.Sprintf("method (%s) %s%s", receiver, d.Name.Name, signature(d.Type))}
}

func general(d *ast.GenDecl) (symbols []string) {
	var last *ast.ValueSpec // a const without type and values repeats those of the last spec
	for i, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			symbols = append(symbols, typed(s)...)
		case *ast.ValueSpec:
			if s.Type != nil || s.Values != nil {
				last = s
			}
			for n, name := range s.Names {
				if name.IsExported() {
					symbols = append(symbols, d.Tok.String()+" "+name.Name+value(last, n, i))
				}
			}
		}
	}
	return symbols
}

// value returns the type and value of the n-th name of a spec. Of a call, it returns
// only the function: the texts of errors are not part of the surface.
func value(s *ast.ValueSpec, n, iota int) (made string) {
	if s.Type != nil {
		made = " " + text(s.Type)
	}
	if n >= len(s.Values) {
		return made
	}
	switch v := s.Values[n].(type) {
	case *ast.CallExpr:
		return made + " = " + text(v.Fun) + "(…)"
	case *ast.CompositeLit:
		return made + " = " + text(v.Type) + "{…}"
	default:
		made += " = " + text(v)
		if strings.Contains(text(v), "iota") {
			made += fmt.Sprintf(", iota %d", iota)
		}
		return made
	}
}

// typed returns a line for a type, and one for each member of it.
func typed(s *ast.TypeSpec) []string {
	if !s.Name.IsExported() {
		return nil
	}
	name := "type " + s.Name.Name
	if s.TypeParams != nil {
		name += "[" + fields(s.TypeParams, true) + "]"
	}
	var inside *ast.FieldList
	switch u := s.Type.(type) {
	case *ast.StructType:
		name, inside = name+" struct", u.Fields
	case *ast.InterfaceType:
		name, inside = name+" interface", u.Methods
	case *ast.FuncType:
		return []string{name + " func" + signature(u)}
	default:
		if s.Assign.IsValid() {
			name += " ="
		}
		return []string{name + " " + text(u)}
	}
	symbols := []string{name}
	for _, f := range inside.List {
		symbols = append(symbols, member(name, f)...)
	}
	return symbols
}

// member returns a line for each exported name of a field or a method.
func member(of string, f *ast.Field) (symbols []string) {
	if embedded := text(f.Type); f.Names == nil {
		if !ast.IsExported(strings.TrimLeft(embedded[strings.LastIndexByte(embedded, '.')+1:], "*")) {
			return nil
		}
		return []string{of + ", embeds " + embedded}
	}
	for _, name := range f.Names {
		if !name.IsExported() {
			continue
		}
		if method, ok := f.Type.(*ast.FuncType); ok && strings.HasSuffix(of, "interface") {
			symbols = append(symbols, of+", "+name.Name+signature(method))
			continue
		}
		symbols = append(symbols, strings.TrimSpace(of+", "+name.Name+" "+text(f.Type)+" "+tag(f)))
	}
	return symbols
}

func tag(f *ast.Field) string {
	if f.Tag == nil {
		return ""
	}
	return f.Tag.Value
}

// signature returns the part of a function that a caller sees, without the names of
// parameters.
func signature(f *ast.FuncType) string {
	s := "(" + fields(f.Params, false) + ")"
	if f.TypeParams != nil {
		s = "[" + fields(f.TypeParams, true) + "]" + s
	}
	if f.Results == nil {
		return s
	}
	results := fields(f.Results, false)
	if f.Results.NumFields() > 1 {
		results = "(" + results + ")"
	}
	return s + " " + results
}

func fields(list *ast.FieldList, named bool) string {
	var all []string
	for _, f := range list.List {
		if f.Names == nil {
			all = append(all, text(f.Type))
		}
		for _, name := range f.Names {
			one := text(f.Type)
			if named {
				one = name.Name + " " + one
			}
			all = append(all, one)
		}
	}
	return strings.Join(all, ", ")
}

// text prints an expression on one line, also without the names of parameters.
func text(e ast.Expr) string {
	if f, ok := e.(*ast.FuncType); ok {
		return "func" + signature(f)
	}
	var out bytes.Buffer
	if err := printer.Fprint(&out, token.NewFileSet(), e); err != nil {
		panic(err) // cannot happen: the expression was parsed before
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
