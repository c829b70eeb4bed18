package enginetest

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestStatementsUnderSabotage spoils each SQL statement and each Lua script at one point at a time,
// and logs what the suites of the stores do not notice. It takes hours, so it runs only on
// request:
//
//	SABOTAGE_STATEMENTS=. go test -v -timeout 5h -run StatementsUnderSabotage ./internal/enginetest
//
// The value is a pattern for positions, such as redisstore/lua/issue.lua:48; everyNth leaves some of
// these out. A reader must decide whether a survivor shows a missing test or changes nothing.
func TestStatementsUnderSabotage(t *testing.T) {
	wanted := os.Getenv("SABOTAGE_STATEMENTS")
	if wanted == "" {
		t.Skip("without SABOTAGE_STATEMENTS")
	}
	chosen, tests := regexp.MustCompile(wanted), buildSpoilable(t)
	var all []mutation
	for _, suite := range suitesOf {
		for _, m := range spoil(t, sourceOf(t, suite.file)) {
			m.position, m.steps = fmt.Sprint(suite.file, ":", m.Line), suite.steps
			if chosen.MatchString(m.position) {
				all = append(all, m)
			}
		}
	}
	all = everyNth(t, all)
	steps := map[step]bool{}
	for _, m := range all {
		for _, s := range m.steps {
			steps[s] = true
		}
	}
	manyAtOnce(slices.Collect(maps.Keys(steps)), func(s step) { s.vet(t, tests) })
	if t.Failed() {
		return
	}
	var survivors atomic.Int64
	manyAtOnce(all, func(m mutation) {
		if !m.noticed(t, tests) {
			survivors.Add(1)
			t.Logf("SURVIVES %s %s", m.position, m.What)
		}
	})
	t.Logf("%d mutations, %d survivors", len(all), survivors.Load())
}

// everyNth returns, with SABOTAGE_EVERY=5, each fifth mutation, beginning with SABOTAGE_FROM.
func everyNth[T any](t *testing.T, all []T) (some []T) {
	t.Helper()
	every := must(strconv.Atoi(cmp.Or(os.Getenv("SABOTAGE_EVERY"), "1")))(t)
	from := must(strconv.Atoi(cmp.Or(os.Getenv("SABOTAGE_FROM"), "0")))(t)
	for i := from % every; i < len(all); i += every {
		some = append(some, all[i])
	}
	return some
}

// manyAtOnce calls run for each element, in more goroutines than there are processors, because
// the suites mostly wait.
func manyAtOnce[T any](all []T, run func(T)) {
	var wg sync.WaitGroup
	places := make(chan struct{}, 4*runtime.GOMAXPROCS(0))
	for _, one := range all {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			run(one)
		})
	}
	wg.Wait()
}

// step is a run of tests, on one engine or on all. It runs the tests whose names begin with one of
// its names; the name of a subtest may follow.
type step struct{ engine, tests string }

// suitesOf lists the tests that must notice, the quick ones first: those of the store that has the
// statement, and no others.
var suitesOf = []struct {
	file  string
	steps []step
}{
	{"sqlstore/attempts.go", sqlSteps("TestSQLAttempts", "TestSweep|TestBudgetOfReturnedTries|TestRefusedTries")},
	{"sqlstore/replays.go", sqlSteps("TestSQLReplays", "TestClaimsEnd|TestRefusedClaims|TestRacesLeave|TestN13|TestN15Refused|TestN15Claims|TestASignature|TestAnEpoch|TestN10")},
	{"sqlstore/ledger.go", sqlSteps("TestSQLLedger",
		"TestTokensEnd|TestSpent|TestM07|TestM08|TestRecordsOf|TestIssueTakes|TestSweep|TestVerbsAre|TestInstances|TestT22|TestNamesThat|TestRowsThat|TestEachVerbHasAnEntry|TestUsesAreInTheLog")},
	{"sqlstore/apikeys.go", sqlSteps("TestSQLAPIKeys", "TestAPIKeys|TestVerbsInATransaction|TestExportAccount")},
	{"sqlstore/idempotency.go", sqlSteps("TestSQLIdempotency", "TestKeysAreSwept|TestR08Keys|TestR06Frozen")},
	{"sqlstore/keys.go", sqlSteps("TestSQLKeys|TestKeysThat|TestVerbsOfOneOrg", "TestK18|TestSecretsAre|TestT22|TestSealing|TestAltered|TestRowsThat|TestNamesThat")},
	{"sqlstore/credentials.go", sqlSteps("TestSQLCredentials|TestCredentials|TestPut|TestK17|TestVerbsOfOneOrg", "TestSecretsAre|TestT22|TestSealing|TestAltered|TestReseal|TestRowsThat|TestSweep")},
	{"sqlstore/org.go", sqlSteps("TestK23|TestVerbsOfOneOrg", "TestDeleteOrg|TestK29")},
	{"sqlstore/account.go", sqlSteps("TestRevokeAccount|TestVerbsOfOneOrg|TestDeleteAccount", "TestVerbsInATransaction")},
	{"sqlstore/in.go", sqlSteps("TestVerbsInATransaction|TestWrongTransactions", "TestTheLimitHolds|TestOthersWait")},
	{"sqlstore/audit.go", sqlSteps("TestEachVerbHasAnEntry|TestEachColumn", "TestSixteen|TestARollbackLeaves|TestRefusalsAre|TestAMillion")},
	{"sqlstore/export.go", sqlSteps("TestExportAccount", "TestSQLFactors")},
	{"sqlstore/sessions.go", sqlSteps("TestSQLSessions", "TestSessionsEnd|TestSessionsThat|TestLimitWhile|TestDeadlock|TestVerbsAre|TestK31|TestSweep|TestInstances|TestRowsThat|TestNamesThat")},
	{"sqlstore/factors.go", sqlSteps("TestSQLFactors", "TestSecretsAre|TestSealing|TestAltered|TestRowsThat")},
	{"sqlstore/sweep.go", sqlSteps("TestSweep", "TestIssueTakes|TestRecordsOf|TestWritesSweep|TestN10")},
	{"sqlstore/reseal.go", sqlSteps("TestSealing|TestK30", "TestSecretsAre|TestReseal")},
	{"redisstore/lua/apikey.lua", redisSteps("APIKeys", "TestAPIKeys")},
	{"redisstore/lua/repeat.lua", redisSteps("Idempotency", "TestR08Keys")},
	{"redisstore/lua/claim.lua", redisSteps("Replays", epochTests)},
	{"redisstore/lua/epoch.lua", redisSteps("Replays", epochTests)},
	{"redisstore/lua/issue.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/live.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/spend.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/current.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/renew.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/get.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/revoke.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/revokesubject.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/endsubject.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/revokeaccount.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/deleteapp.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/version.lua", redisSteps("Replays", epochTests)},
	{"redisstore/lua/tokens.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/apptokens.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/place.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/row.lua", redisSteps("Ledger", recordTests)},
	{"redisstore/lua/create.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/delete.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/deleteall.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/deleteid.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/deleteorg.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/endaccount.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/replace.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/session.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/sessions.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/touch.lua", redisSteps("Sessions", sessionTests)},
	{"redisstore/lua/swap.lua", redisSteps("Attempts", triesTests)},
}

// TestEachScriptIsSpoiled fails for a script that TestStatementsUnderSabotage leaves out.
func TestEachScriptIsSpoiled(t *testing.T) {
	scripts, err := filepath.Glob("../../auth/redisstore/lua/*.lua")
	if err != nil || len(scripts) == 0 {
		t.Fatal(len(scripts), err)
	}
	for _, script := range scripts {
		name := "redisstore/lua/" + filepath.Base(script)
		spoiled := false
		for _, suite := range suitesOf {
			spoiled = spoiled || suite.file == name
		}
		if !spoiled {
			t.Errorf("%s is not in suitesOf", name)
		}
	}
}

const (
	epochTests   = "TestClaimsEnd|TestRedisReplays|TestRedisTheMillisecond|TestRedisKeepsASignature|TestRedisClockSteps|TestRedisEpoch|TestRefusedClaims|TestRacesLeave|TestRedisKeysOutlive|TestRedisForgets|TestOneWrongClock|TestRedisVerbs"
	recordTests  = "TestTokensEnd|TestSpent|TestRedisKeepsWhat|TestRedisLedger|TestRedisForgetsDescendants|TestRedisForgetsWhat|TestRedisAnApp|TestRecordsOf|TestM07|TestM08|TestRedisRevocation|TestRedisIndexes|TestRedisKeysOutlive|TestRedisEndsMany|TestRevokeAccount"
	sessionTests = "TestSessionsEnd|TestSessionsThat|TestRedisAnOrg|TestRedisForgetsWhat|TestRedisIndexes|TestRedisLogout|TestRedisKeysOutlive|TestRedisEndsMany"
	triesTests   = "TestBudgetOfReturnedTries|TestRefusedTries|TestRedisForgetsWhat|TestRedisKeysOutlive"
)

func sqlSteps(suite, more string) []step {
	return []step{{"SQLite", suite}, {"PostgreSQL", suite}, {"SQLite", more}, {"PostgreSQL", more}}
}

func redisSteps(suite, more string) []step {
	return []step{{"Redis", "TestRedisStores/^" + suite + "$"}, {"Redis", more}}
}

// mutation is a literal or a script that was spoiled at one point.
type mutation struct {
	Line     int
	What     string
	From, To string // the whole text
	postgres bool   // only for PostgreSQL
	position string // its file and line
	steps    []step // the steps that must notice
}

// noticed reports whether tests fail with the mutation.
func (m mutation) noticed(t *testing.T, tests string) bool {
	file := filepath.Join(t.TempDir(), "mutation")
	text, err := json.Marshal(m)
	if err := cmp.Or(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Error(err)
		return false
	}
	for _, s := range m.steps {
		// Only PostgreSQL has casts of this form.
		if s.engine == "SQLite" && m.postgres {
			continue
		}
		if !s.passes(t, tests, file) {
			return true
		}
	}
	return false
}

// passes runs the tests of a step with the mutation of a file.
func (s step) passes(t *testing.T, tests, file string) bool {
	t.Helper()
	// A statement that waits for ever is noticed, too.
	run := exec.CommandContext(t.Context(), tests, "-test.failfast", "-test.timeout", "5m", "-test.run", s.tests)
	run.Env = append(os.Environ(), "SABOTAGE_STATEMENTS=", "REQUIRE_ENGINES=1", "GATE=1", "ENGINE="+s.engine, "SPOILED="+file)
	if s.engine == "PostgreSQL" {
		// So the tests need not start their own PostgreSQL, which takes longer than most of them.
		run.Env = append(run.Env, "STORES_POSTGRES="+newDatabase(t))
	}
	return run.Run() == nil
}

// newDatabase creates a database. The server may be another program's: see durablePostgres.
func newDatabase(t *testing.T) (source string) {
	t.Helper()
	at, err := url.Parse(durablePostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	name := "own" + strings.ToLower(rand.Text())
	run(t, openDB(t, "pgx", at.String()), "CREATE DATABASE "+name)
	at.Path = "/" + name
	return at.String()
}

// vet fails unless each name of a step is the name of a test, and these tests pass without a
// mutation.
func (s step) vet(t *testing.T, tests string) {
	t.Helper()
	for name := range strings.SplitSeq(s.tests, "|") {
		name, _, _ = strings.Cut(name, "/")
		out, err := exec.Command(tests, "-test.list", "^"+name).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), name) {
			t.Errorf("no test is called %s: %v", name, err)
		}
	}
	if !s.passes(t, tests, "") {
		t.Errorf("on %s %s fails unspoiled", s.engine, s.tests)
	}
}

// buildSpoilable compiles these tests with stores that call spoiled for each statement and script.
// So no mutation needs a new build.
func buildSpoilable(t *testing.T) (tests string) {
	t.Helper()
	folder, overlay := t.TempDir(), struct{ Replace map[string]string }{map[string]string{}}
	put := func(path, text string) {
		file := filepath.Join(folder, fmt.Sprint(len(overlay.Replace), ".go"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = file
	}
	for _, suite := range suitesOf {
		if path := sourceOf(t, suite.file); strings.HasSuffix(path, ".go") {
			put(path, asking(t, path))
		}
	}
	put(sourceOf(t, "sqlstore/spoiled.go"), "package sqlstore\n"+spoiledText)
	put(sourceOf(t, "redisstore/spoiled.go"), "package redisstore\n"+spoiledText)
	path := sourceOf(t, "redisstore/script.go")
	const before = "\ttext := strings.Join(parts"
	put(path, strings.Replace(read(t, path), before, "\tfor i := range parts { parts[i] = spoiled(parts[i]) }\n"+before, 1))

	list, tests := filepath.Join(folder, "overlay.json"), filepath.Join(folder, "tests")
	text, err := json.Marshal(overlay)
	if err := cmp.Or(err, os.WriteFile(list, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", tests, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return tests
}

const spoiledText = `
import (
	"encoding/json"
	"os"
)

func spoiled(text string) string {
	var m struct{ From, To string }
	if b, err := os.ReadFile(os.Getenv("SPOILED")); err == nil && json.Unmarshal(b, &m) == nil && text == m.From {
		return m.To
	}
	return text
}
`

func sourceOf(t *testing.T, file string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../auth", file))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asking returns a source file whose statements go through spoiled.
func asking(t *testing.T, path string) string {
	t.Helper()
	text := read(t, path)
	for _, n := range slices.Backward(statements(t, path, text)) {
		switch n := n.(type) {
		case *ast.BasicLit:
			text = text[:n.Pos()-1] + "spoiled(" + n.Value + ")" + text[n.End()-1:]
		case *ast.GenDecl: // a declaration that calls a function is no constant
			text = text[:n.Pos()-1] + "var" + text[n.Pos()-1+token.Pos(len("const")):]
		}
	}
	return text
}

// statements returns the SQL literals of a file, and the declarations of constants that contain
// such literals.
func statements(t *testing.T, path, text string) (all []ast.Node) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.FuncDecl:
			declared = nil
		case *ast.GenDecl:
			declared = nil
			if n.Tok == token.CONST {
				declared = n
			}
		case *ast.BasicLit:
			if n.Kind != token.STRING || !isStatement.MatchString(n.Value) {
				return true
			}
			if declared != nil {
				all = append(all, declared)
				declared = nil
			}
			all = append(all, n)
		}
		return true
	})
	return all
}

// spoil returns the mutations of a file.
func spoil(t *testing.T, path string) (all []mutation) {
	t.Helper()
	text := read(t, path)
	if strings.HasSuffix(path, ".lua") {
		return spoilText(text, 1, luaRules)
	}
	for _, n := range statements(t, path, text) {
		if literal, ok := n.(*ast.BasicLit); ok {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, spoilText(value, 1+strings.Count(text[:literal.Pos()], "\n"), sqlRules)...)
		}
	}
	return all
}

// spoilText returns the mutations of a text. line is the line where the text begins.
func spoilText(text string, line int, rules []rule) (all []mutation) {
	for _, r := range rules {
		last := -1
		for begin := 0; begin < len(text); { // matches may overlap
			at := r.of.FindStringSubmatchIndex(text[begin:])
			if at == nil {
				break
			}
			from, to := begin+at[2], begin+at[3]
			begin += at[0] + 1
			to = from + len(strings.TrimRight(text[from:to], " \n\t"))
			old := text[from:to]
			by := r.by(old)
			comment := strings.Contains(text[strings.LastIndexByte(text[:from], '\n')+1:to], "--")
			call := strings.HasPrefix(by, "1 = ") && strings.HasPrefix(strings.TrimSpace(text[to:]), "(")
			if from == last || old == "" || old == "true" || comment || call {
				continue
			}
			last = from
			all = append(all, mutation{
				Line: line + strings.Count(text[:from], "\n"), What: fmt.Sprintf("%s: %q becomes %q", r.what, old, by),
				From: text, To: text[:from] + by + text[to:],
				postgres: strings.Contains(text, "::"),
			})
		}
	}
	return all
}

// A part of a statement may consist of one comparison.
var isStatement = regexp.MustCompile("\\b(SELECT|INSERT|UPDATE|DELETE|WHERE|AND|OR|ELSE)\\b|[a-z_]+ = \\$|^`.* (=|<=?|>=?|<>) [a-z$'0-9{]")

// rule tells what replaces the group of a match.
type rule struct {
	what string
	of   *regexp.Regexp
	by   func(old string) string
}

func swap(pairs ...string) func(string) string {
	return func(old string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == old {
				return pairs[i+1]
			}
		}
		return old
	}
}

func always(by string) func(string) string { return func(string) string { return by } }

// operand matches a condition without AND and OR, with one level of parentheses.
const operand = `(?:[^()\s]+|\((?:[^()]|\([^()]*\))*\)|[ ](?:=|<>|<=|>=|<|>|IS|NOT|NULL|EXISTS|IN|\+|-|/|\*)[ ]?)+`

var sqlRules = []rule{
	{"comparison", regexp.MustCompile(` (<=|>=|<>|<|>) `), swap("<", "<=", "<=", "<", ">", ">=", ">=", ">", "<>", "=")},
	{"equality", regexp.MustCompile(`(?:WHERE|AND|OR|\() ?[a-z_.]+ (=) `), always("<>")},
	{"condition dropped", regexp.MustCompile(`(?:\bWHERE|\bAND)\s+(` + operand + `)`), always("1 = 1")},
	{"alternative dropped", regexp.MustCompile(`\bOR\s+(` + operand + `)`), always("1 = 0")},
	{"alternative dropped", regexp.MustCompile(`[(\s](` + operand + `) OR\b`), always("1 = 0")},
	{"negation dropped", regexp.MustCompile(`\b(NOT )(?:\(|EXISTS|IN)`), always("")},
	{"assignment skipped", regexp.MustCompile(`(?:\bSET|,)\s+([a-z_]+ = [^,\n` + "`" + `]+?)(?:,|\n|` + "`" + `| WHERE| RETURNING)`),
		func(old string) string {
			name, _, _ := strings.Cut(old, " = ")
			return name + " = " + name
		}},
	{"case never", regexp.MustCompile(`\b(WHEN)\b`), always("WHEN 1 = 0 AND")},
	{"case always", regexp.MustCompile(`\b(WHEN)\b`), always("WHEN 1 = 1 OR")},
	{"extreme", regexp.MustCompile(`(\bmax\(|\bgreatest\()`), swap("max(", "min(", "greatest(", "least(")},
	{"count", regexp.MustCompile(`( [+-] 1)\b`), always("")},
	{"order", regexp.MustCompile(`( DESC)\b`), always("")},
	{"limit dropped", regexp.MustCompile(`( LIMIT \$\d+)`), always("")},
}

// luaOperand matches a character, or parentheses with one more level inside.
const luaOperand = `(?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))`

var luaRules = []rule{
	{"comparison", regexp.MustCompile(`\s(<=|>=|==|~=|<|>)\s`), swap("<", "<=", "<=", "<", ">", ">=", ">=", ">", "==", "~=", "~=", "==")},
	{"condition dropped", regexp.MustCompile(`\b(?:if|elseif)\s+(.+? and )`), always("")},
	{"condition dropped", regexp.MustCompile(`( and ` + luaOperand + `+?)(?: then| or |\n)`), always("")},
	{"alternative dropped", regexp.MustCompile(`( or ` + luaOperand + `+?)(?: then|,|\)| or |\n)`), always("")},
	{"alternative dropped", regexp.MustCompile(`\b(?:if|elseif)\s+(.+? or )`), always("")},
	{"negation dropped", regexp.MustCompile(`\b(not )`), always("")},
	{"write skipped", regexp.MustCompile(`(?m)^\s*((?:redis\.)?call\((?:[^()\n]|\n\s+|\([^()]*\))*\))$`), always("")},
	{"extreme", regexp.MustCompile(`(math\.max|math\.min)`), swap("math.max", "math.min", "math.min", "math.max")},
	{"count", regexp.MustCompile(`( [+-] 1)\b`), always("")},
	{"reply", regexp.MustCompile(`\breturn (\d)\b`), func(old string) string { return map[bool]string{true: "0", false: "1"}[old == "1"] }},
}
