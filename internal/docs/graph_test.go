package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/tenantkit/tenantkit"

const (
	jwt  = "github.com/golang-jwt/jwt/v5"
	jose = "github.com/go-jose/go-jose/v4"
)

// arrows lists what the non-test files of each package of the core import besides the standard
// library. Imports must be exactly these. This module's packages are named by folder. A new
// import is one more word in one line. A package that does not exist yet may already have a line.
var arrows = map[string]string{
	".": "",

	"envelope":      "internal/ascii internal/strictjson",
	"envelope/body": "auth envelope internal/jsonfields internal/strictjson",
	"scope":         "internal/ascii",
	"signing":       "internal/ascii internal/baseurl internal/clock internal/redacted internal/repeat internal/replaytable internal/urlpath internal/weakkey",
	"token":         "internal/ascii internal/baseurl internal/clock internal/compact internal/face internal/jwks internal/orgkey internal/recent internal/redacted internal/repeat internal/strictjson internal/urlpath internal/weakkey scope " + jwt + " " + jose,

	"paging":         "envelope internal/faults internal/listing internal/ascii internal/strictjson",
	"paging/mempage": "envelope internal/sizeof paging",
	"paging/sqlpage": "envelope internal/ascii internal/prepared internal/sizeof internal/sqldialect paging",
	"paging/sqllist": "envelope internal/faults internal/listing internal/ascii paging paging/sqlpage scope",
	"paging/walk":    "envelope internal/clock internal/strictjson paging",

	"auth":             "envelope internal/ascii internal/baseurl internal/clock internal/faults internal/listing internal/orgkey internal/recent internal/stats internal/urlpath internal/verbs scope",
	"auth/signature":   "auth internal/ascii internal/clock internal/face internal/listing internal/verbs scope signing",
	"auth/apikey":      "auth internal/admission internal/clock internal/compact internal/face internal/listing internal/recent internal/redacted internal/verbs",
	"auth/idempotency": "auth internal/ascii internal/clock internal/verbs scope",
	"auth/bearer":      "auth internal/admission internal/clock internal/compact internal/face internal/listing internal/verbs internal/whole scope token",
	"auth/issuer":      "auth internal/admission internal/compact internal/jwks internal/listing internal/recent internal/strictjson scope token",
	"auth/oauth":       "auth auth/bearer auth/openapi auth/signature internal/compact internal/strictjson internal/whole scope signing token",
	"auth/openapi":     "auth envelope envelope/body internal/faults internal/jsonfields internal/listing internal/whole",
	"auth/audit":       "auth",
	"auth/sqlstore":    "auth auth/apikey auth/audit auth/idempotency auth/session auth/signature internal/face internal/prepared internal/redacted internal/sqldialect internal/stats internal/verbs signing token",
	"auth/session":     "auth internal/clock internal/hotp internal/listing internal/redacted internal/verbs scope",
	"auth/redisstore":  "auth auth/apikey auth/idempotency auth/session internal/face internal/stats signing token",
	"auth/storetest":   "auth auth/apikey auth/idempotency auth/session auth/signature internal/face internal/history internal/suite signing token",
	"auth/authtest":    "auth auth/session internal/hotp internal/suite signing token",

	"internal/baseurl":     "",
	"internal/clock":       "",
	"internal/admission":   "auth scope token",
	"internal/compact":     "internal/ascii internal/strictjson",
	"internal/face":        "",
	"internal/stats":       "",
	"internal/faults":      "envelope",
	"internal/history":     "auth auth/apikey auth/idempotency auth/session signing token",
	"internal/hotp":        "",
	"internal/jsonfields":  "",
	"internal/jwks":        "internal/baseurl internal/compact internal/strictjson internal/weakkey " + jwt + " " + jose,
	"internal/listing":     "scope",
	"internal/docs":        "",
	"internal/ascii":       "",
	"internal/orgkey":      "",
	"internal/prepared":    "",
	"internal/recent":      "",
	"internal/redacted":    "",
	"internal/repeat":      "internal/clock",
	"internal/urlpath":     "internal/ascii",
	"internal/verbs":       "",
	"internal/replaytable": "",
	"internal/sizeof":      "",
	"internal/strictjson":  "",
	"internal/suite":       "auth auth/session internal/face signing token",
	"internal/weakkey":     "",
	"internal/whole":       "",
	"internal/sqldialect":  "",
	"internal/api":         "", // only tests

	// Only tests import these.
	"internal/testing/heard":   "auth",
	"internal/testing/printed": "",
	"internal/testing/rawhttp": "",
}

// stdlibOnly lists the packages that compile no third-party code, not even by indirect imports.
var stdlibOnly = []string{"scope", "signing", "envelope", "envelope/body", "paging", "auth/signature"}

// required lists all that go.mod may require, also for tests.
var required = []string{jwt, jose, "github.com/google/go-cmp"}

func TestArrows(t *testing.T) {
	t.Chdir(root)
	got := map[string]string{}
	for folder, p := range corePackages(t) {
		got[folder] = strings.Join(p.outside(p.Imports), " ")
	}
	want := map[string]string{}
	for folder, imports := range arrows {
		if _, built := got[folder]; built {
			want[folder] = strings.Join(sorted(strings.Fields(imports)), " ")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("imports differ from the table in graph_test.go (-table +code):\n%s", diff)
	}
}

func TestLeavesCompileNoThirdPartyCode(t *testing.T) {
	t.Chdir(root)
	packages := corePackages(t)
	for _, folder := range stdlibOnly {
		p := packages[folder]
		foreign := slices.DeleteFunc(p.outside(p.Deps), func(dep string) bool {
			_, ours := packages[dep]
			return ours
		})
		if len(foreign) > 0 {
			t.Errorf("%s compiles %s", folder, strings.Join(foreign, " "))
		}
	}
}

func TestRequirements(t *testing.T) {
	t.Chdir(root)
	var mod struct{ Require []struct{ Path string } }
	if err := json.Unmarshal(goCommand(t, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if !slices.Contains(required, r.Path) {
			t.Errorf("go.mod requires %s", r.Path)
		}
	}
}

// listed is the part of `go list -json` that shows the imports of a package.
type listed struct {
	ImportPath    string
	Standard      bool
	Imports, Deps []string

	std map[string]bool
}

// outside returns the imports outside the standard library, sorted. This module's packages are
// named by folder.
func (p listed) outside(imports []string) []string {
	var out []string
	for _, path := range imports {
		if !p.std[path] {
			out = append(out, folderOf(path))
		}
	}
	return sorted(out)
}

// corePackages returns the packages of the core module by folder.
func corePackages(t *testing.T) map[string]listed {
	t.Helper()
	packages, std := map[string]listed{}, map[string]bool{"C": true}
	list := json.NewDecoder(bytes.NewReader(
		goCommand(t, "list", "-deps", "-json=ImportPath,Standard,Imports,Deps", "./...")))
	for list.More() {
		p := listed{std: std}
		if err := list.Decode(&p); err != nil {
			t.Fatal(err)
		}
		folder := folderOf(p.ImportPath)
		switch {
		case p.Standard:
			std[p.ImportPath] = true
		case folder != p.ImportPath:
			packages[folder] = p
		}
	}
	if len(packages) == 0 {
		t.Fatal("go list found no package of " + module)
	}
	return packages
}

// folderOf returns the folder of a package of this module. It returns any other import path
// unchanged.
func folderOf(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// goCommand runs the go command on the core module only.
func goCommand(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

func sorted(words []string) []string {
	return slices.Sorted(slices.Values(words))
}
