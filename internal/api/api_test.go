// Package api holds the exported surface of the core to a list, v0.txt, so that
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

// TestSurface fails when a symbol is there that the list does not have, or the
// reverse. Both are changes that CHANGELOG.md has to tell of.
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
		t.Errorf("the exported surface has changed (- list, + code):\n%s\n"+
			"If that is meant, say so in CHANGELOG.md and run: go test ./internal/api -update", strings.Join(diff, "\n"))
	}
}

// without returns the lines of a that b has not, each behind a sign.
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
	var last *ast.ValueSpec // whose type and values a const without any repeats
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

// value is the type and value of the n-th name of a spec. Of values that are
// made, only what makes them: texts of errors are not part of the surface.
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

// typed is a line for a type, and one for each thing in it.
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

// member is a line for each exported name of a field or a method.
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

// signature is what a caller sees of a function: names of parameters are not.
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

// text prints an expression on one line. Functions in it lose the names of
// their parameters as well.
func text(e ast.Expr) string {
	if f, ok := e.(*ast.FuncType); ok {
		return "func" + signature(f)
	}
	var out bytes.Buffer
	if err := printer.Fprint(&out, token.NewFileSet(), e); err != nil {
		panic(err) // of what was parsed a moment ago
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
