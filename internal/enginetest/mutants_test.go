package enginetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestCodeUnderSabotage spoils the Go code of some packages at one point at a time, and logs what no
// test of the core notices. It takes hours, so it runs only on request:
//
//	SABOTAGE_CODE=token/memory SABOTAGE_EVERY=5 go test -v -timeout 5h -run CodeUnderSabotage ./internal/enginetest
//
// The value is a pattern for positions, such as paging/cursor.go:48; everyNth leaves some of these
// out. A reader must decide whether a survivor shows a missing test or changes nothing.
func TestCodeUnderSabotage(t *testing.T) {
	wanted := os.Getenv("SABOTAGE_CODE")
	if wanted == "" {
		t.Skip("without SABOTAGE_CODE")
	}
	chosen := regexp.MustCompile(wanted)
	root := must(filepath.Abs("../.."))(t)
	var all []mutant
	for _, p := range packagesOf(t, root) {
		for _, file := range p.GoFiles {
			all = append(all, mutantsOf(t, root, p, file)...)
		}
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !chosen.MatchString(m.position) })

	var survivors, stillborn atomic.Int64
	var wg sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	some := everyNth(t, all)
	for _, m := range some {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			switch compiles, noticed := m.noticed(t, root); {
			case !compiles:
				stillborn.Add(1)
			case !noticed:
				survivors.Add(1)
				t.Logf("SURVIVES %s %s", m.position, m.what)
			}
		})
	}
	wg.Wait()
	t.Logf("%d mutations of %d, %d of them do not compile, %d survivors", len(some), len(all), stillborn.Load(), survivors.Load())
}

// spoiledPackages are the packages of the core whose code is spoiled.
var spoiledPackages = []string{"./auth/...", "./token", "./signing", "./paging/..."}

// tested is a package, and the packages whose tests use it.
type tested struct {
	ImportPath, Dir string
	GoFiles         []string
	by              []string
}

func packagesOf(t *testing.T, root string) (all []tested) {
	t.Helper()
	list := func(args ...string) *json.Decoder {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Dir,GoFiles,Deps,ForTest"}, args...)...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOWORK=off")
		return json.NewDecoder(strings.NewReader(string(must(cmd.Output())(t))))
	}
	by := map[string][]string{}
	for d := list(append([]string{"-test"}, spoiledPackages...)...); d.More(); {
		var p struct {
			ImportPath string
			Deps       []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		name, test := strings.CutSuffix(p.ImportPath, ".test")
		for _, dep := range p.Deps {
			dep, _, _ = strings.Cut(dep, " ") // a package that is compiled for a test has its name behind
			if test && !slices.Contains(by[dep], name) {
				by[dep] = append(by[dep], name)
			}
		}
	}
	for d := list(spoiledPackages...); d.More(); {
		var p tested
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(p.ImportPath, "test") { // it is what tests
			continue
		}
		p.by = slices.DeleteFunc(by[p.ImportPath], func(name string) bool { return name == p.ImportPath })
		all = append(all, p)
	}
	return all
}

// mutant is a file that is spoiled at one point.
type mutant struct {
	of             tested
	path, text     string
	position, what string
}

// mutantsOf returns the mutants of one file. Each compiles, if the spoiled operand may be unused.
func mutantsOf(t *testing.T, root string, p tested, name string) (all []mutant) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	text, set := read(t, path), token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	short := must(filepath.Rel(root, path))(t)
	at := func(p token.Pos) int { return set.Position(p).Offset }
	of := func(n ast.Node) string { return text[at(n.Pos()):at(n.End())] }
	add := func(n ast.Node, what, by string) {
		all = append(all, mutant{
			of: p, path: path, text: text[:at(n.Pos())] + by + text[at(n.End()):],
			position: fmt.Sprint(short, ":", set.Position(n.Pos()).Line), what: fmt.Sprintf("%s: %q becomes %q", what, of(n), by),
		})
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			x, y := of(n.X), of(n.Y)
			switch n.Op {
			case token.LAND:
				add(n, "condition dropped", "(true || ("+x+")) && ("+y+")")
				add(n, "condition dropped", "("+x+") && (true || ("+y+"))")
			case token.LOR:
				add(n, "alternative dropped", "(false && ("+x+")) || ("+y+")")
				add(n, "alternative dropped", "("+x+") || (false && ("+y+"))")
			default:
				if op, ok := flipped[n.Op]; ok {
					add(n, "comparison", x+" "+op+" "+y)
				}
			}
		case *ast.IfStmt:
			add(n.Cond, "condition never", "false && ("+of(n.Cond)+")")
		case *ast.AssignStmt:
			if n.Tok == token.ASSIGN && len(n.Lhs) == 1 && of(n.Lhs[0]) != "_" {
				add(n, "assignment skipped", "_ = "+of(n.Rhs[0]))
			}
		}
		return true
	})
	return all
}

var flipped = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
}

// noticed reports whether the mutant compiles, and whether a test fails with it: one of its package,
// or else one of another package, or for a store and for paging the suites on each engine, for a
// store also its transactions, log and keys, or for a store in memory the suites of package suites.
func (m mutant) noticed(t *testing.T, root string) (compiles, noticed bool) {
	folder := t.TempDir()
	file, overlay := filepath.Join(folder, "spoiled.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{m.path: file}})
	if err := cmp.Or(err, os.WriteFile(file, []byte(m.text), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		t.Error(err)
		return false, false
	}
	steps := [][]string{{m.of.ImportPath}, m.of.by}
	switch {
	case strings.HasSuffix(m.of.ImportPath, "store"):
		steps = append(steps, []string{"-run", "^Test(SQL[A-Z][a-z]+|RedisStores|RevokeAccount|EachVerbHasAnEntry|EachColumnOfTheLog|VerbsInATransaction|WrongTransactions|SecretsAreSealed|K5[23].*)$", "./internal/enginetest"})
	case slices.Contains([]string{"token", "signing", "session"}, filepath.Base(m.of.ImportPath)):
		steps = append(steps, []string{"-run", "^TestMemory(Replays|Ledger|Keys|Sessions)$", "./internal/enginetest"})
	case strings.Contains(m.of.ImportPath, "/paging"):
		steps = append(steps, []string{"-run", "^Test(SamePage|SameCount|MixedTypes|NoQueryReachesAnotherTenant|AdoptedPages|WalkOfMixedTypes|LongDecimals|CheckFinds|CheckOfAGoodTable)$", "./internal/enginetest"})
	}
	for i, packages := range steps {
		if len(packages) == 0 {
			continue
		}
		work := "GOWORK=off"
		if i == 2 {
			work = "GOWORK=" // enginetest is another module
		}
		// A mutant that waits for ever, or takes all memory, is noticed, too.
		run := exec.CommandContext(t.Context(), "go", append([]string{"test", "-p", "1", "-vet=off", "-short", "-failfast", "-timeout", "3m", "-overlay", overlay}, packages...)...)
		run.Dir, run.Env = root, append(os.Environ(), work, "GOMEMLIMIT=2GiB", "GATE=1")
		if out, err := run.CombinedOutput(); err != nil {
			return !strings.Contains(string(out), "[build failed]"), true
		}
	}
	return true, false
}
