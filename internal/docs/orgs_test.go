package docs_test

import (
	"go/ast"
	"slices"
	"testing"
)

// TestOrgsAreNoStrings checks that nothing exported takes an org, or has one in a field, as a string:
// a Code would fit there, and end or find nothing, or later what belongs to another org.
func TestOrgsAreNoStrings(t *testing.T) {
	t.Chdir(root)
	codes := []string{ // by name, these are Codes
		"auth.Address", "auth/authtest.Candidate", "auth/openapi.Document",
	}
	for folder, p := range documented(t) {
		for _, f := range p.Funcs {
			noStringIsAnOrg(t, folder+"."+f.Name, f.Decl.Type.Params)
		}
		for _, typ := range p.Types {
			for _, f := range slices.Concat(typ.Funcs, typ.Methods) {
				noStringIsAnOrg(t, folder+"."+typ.Name+"."+f.Name, f.Decl.Type.Params)
			}
			if name := folder + "." + typ.Name; !slices.Contains(codes, name) {
				ast.Inspect(typ.Decl, func(n ast.Node) bool {
					if fields, ok := n.(*ast.FieldList); ok {
						noStringIsAnOrg(t, name, fields)
					}
					return true
				})
			}
		}
	}
}

func noStringIsAnOrg(t *testing.T, of string, fields *ast.FieldList) {
	t.Helper()
	for _, f := range fields.List {
		typ, ok := f.Type.(*ast.Ident)
		if !ok || typ.Name != "string" {
			continue
		}
		for _, name := range f.Names {
			if name.Name == "org" || name.Name == "Org" {
				t.Errorf("%s: %s is a string, not an OrgKey", of, name.Name)
			}
		}
	}
}
