package docs_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// root is where the documents name files from. Each test changes to it by itself: go remembers which
// files a result depends on only for what happens inside of a test.
const root = "../.."

// documents returns the paths of all documents. It is no variable, because the guides are looked for in
// the root, where only TestMain goes.
func documents() []string {
	return append([]string{"README.md", "INTERFACE.md", "internal/docs/ATTACKS.md", "internal/docs/STANDARDS.md", "internal/docs/CONFORMANCE.md", "internal/docs/BOUNDS.md", eventsDocument, "CONTRIBUTING.md", "SECURITY.md", "THREATS.md", "CHANGELOG.md", "internal/docs/RELEASE.md", "internal/docs/TESTING.md",
		"examples/platform/VISIT.md", "internal/interop/README.md", "internal/interop/conformance/v1/README.md"}, guides()...)
}

// guides returns the pages about one subject each.
func guides() []string {
	pages, _ := filepath.Glob("examples/guides/*.md")   // the patterns are well-formed
	below, _ := filepath.Glob("examples/guides/*/*.md") // start and reference
	return append(pages, below...)
}

func TestGuidesAreChecked(t *testing.T) {
	t.Chdir(root)
	if len(guides()) == 0 {
		t.Error("no guide is found: have they moved?")
	}
}

// block is a fenced block of a document. The comment on the line above its fence marks it:
// <!-- examples/quickstart/main.go -->, <!-- run -->, <!-- output -->.
type block struct {
	language, comment, text string
}

var fenced = regexp.MustCompile("(?ms)(?:^<!-- ([^\n]*?) -->\n)?^```(\\w*)\n(.*?)^```$")

func blocks(t *testing.T, document string) []block {
	t.Helper()
	var all []block
	for _, m := range fenced.FindAllStringSubmatch(read(t, document), -1) {
		all = append(all, block{m[2], m[1], m[3]})
	}
	return all
}

func read(t *testing.T, document string) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDocumentedCode compares each Go block, and each other block that names a file, with the
// file named above it. The block must be a part of that file, word for word, except for
// indentation, and for lines that it leaves out where it has the line "// …". Each file is compiled or
// run. File names are relative to the root.
func TestDocumentedCode(t *testing.T) {
	t.Chdir(root)
	for _, document := range documents() {
		for _, b := range blocks(t, document) {
			if b.language != "go" && !strings.Contains(b.comment, "/") {
				continue
			}
			source, err := os.ReadFile(b.comment)
			if err != nil {
				t.Errorf("%s: a block of code needs a comment that names its file: %v", document, err)
				continue
			}
			if !quotes(b.text, string(source)) {
				t.Errorf("%s: not to be found in %s:\n%s", document, b.comment, b.text)
			}
		}
	}
}

// quotes reports whether the parts of a block follow each other in a file.
func quotes(block, source string) bool {
	rest := unindented(source)
	for part := range strings.SplitSeq(unindented(block), "\n// …\n") {
		part = "\n" + strings.Trim(part, "\n") + "\n"
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = "\n" + after
	}
	return true
}

func TestQuotes(t *testing.T) {
	const source = "a\n\tb\nc\nd\ne\n"
	for block, want := range map[string]bool{
		"b\nc":             true,
		"a\n// …\nd\ne":    true,
		"a\n// …\nb":       true,
		"\ta\n\t// …\n\te": true,
		"d\n// …\nb":       false, // another order
		"a\nc":             false, // left out without saying so
		"a\n// …\nf":       false,
		"a\n// …\na":       false,
	} {
		if quotes(block, source) != want {
			t.Errorf("%q: want %t", block, want)
		}
	}
}

// TestGuidesNameTheirImports checks that each guide with Go code says which packages it needs.
func TestGuidesNameTheirImports(t *testing.T) {
	t.Chdir(root)
	for _, guide := range guides() {
		found := blocks(t, guide)
		isGo := func(b block) bool { return b.language == "go" }
		if slices.ContainsFunc(found, isGo) && !slices.ContainsFunc(found, func(b block) bool {
			return isGo(b) && strings.Contains(b.text, "import (\n") && strings.Contains(b.text, module)
		}) {
			t.Errorf("%s has no import", guide)
		}
	}
}

// unindented cuts the spaces around each line, and puts each line between line ends.
func unindented(text string) string {
	out := "\n"
	for line := range strings.Lines(strings.TrimSpace(text)) {
		out += strings.TrimSpace(line) + "\n"
	}
	return out
}

var relativeLink = regexp.MustCompile(`\]\(([^):#]+)[)#]`)

func TestDocumentedLinks(t *testing.T) {
	t.Chdir(root)
	for _, document := range documents() {
		for _, m := range relativeLink.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, document), ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(document), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", document, m[1], err)
			}
		}
	}
}

var anchoredLink = regexp.MustCompile(`\]\(([^):#]*)#([^)]+)\)`)

// TestDocumentedAnchors checks that the part of a page exists that a link names: a heading as a code host
// names it, or an id.
func TestDocumentedAnchors(t *testing.T) {
	t.Chdir(root)
	for _, document := range documents() {
		for _, m := range anchoredLink.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, document), ""), -1) {
			target := document
			if m[1] != "" {
				target = filepath.Join(filepath.Dir(document), m[1])
			}
			if filepath.Ext(target) == ".md" && !slices.Contains(anchors(read(t, target)), m[2]) {
				t.Errorf("%s links to %s#%s, which is not there", document, m[1], m[2])
			}
		}
	}
}

var (
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$|<a id="([^"]+)">`)
	notInSlug = regexp.MustCompile(`[^a-z0-9 _-]`)
)

func anchors(text string) (all []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		all = append(all, m[2], strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

var citedTest = regexp.MustCompile("`(Test\\w+)`\\s+in\\s+\\[[^\\]]*\\]\\(([^)]+)\\)")

// TestDocumentedTests checks that each test exists that a document cites, as `TestX` in a folder
// that is linked.
func TestDocumentedTests(t *testing.T) {
	t.Chdir(root)
	for _, document := range documents() {
		for _, m := range citedTest.FindAllStringSubmatch(read(t, document), -1) {
			files, _ := filepath.Glob(filepath.Join(filepath.Dir(document), m[2], "*_test.go")) // the pattern is well-formed
			if !slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), "func "+m[1]+"(") }) {
				t.Errorf("%s cites %s, which is not in %s", document, m[1], m[2])
			}
		}
	}
}

// TestTranscript runs the blocks of a document that are marked "run" in one shell, in order. It
// compares their output with the blocks marked "output", where … stands for any text within a line.
func TestTranscript(t *testing.T) {
	t.Chdir(root)
	for _, tool := range []string{"bash", "curl", "openssl", "sqlite3"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	const quickstart = `go build -o "$TMPDIR/quickstart" ./examples/quickstart
cd "$TMPDIR"
./quickstart 2>log &
until curl -s localhost:8081 >nothing; do kill -0 $! && sleep 0.1; done
KEY=$(sed 's/.*key=//' log)
`
	for document, before := range map[string]string{"README.md": quickstart, "examples/guides/client.md": "", "examples/guides/audit.md": ""} {
		script, output := before, ""
		for _, b := range blocks(t, document) {
			switch b.comment {
			case "run":
				script += strings.ReplaceAll(b.text, "-db sqlite:data", "-db sqlite:data -store-timeout 10s") // a busy disk is no outage
			case "output":
				output += b.text
			}
		}
		if script == before || output == "" {
			t.Fatalf("%s has no transcript", document)
		}
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(output)), "…", "[^\n]*") + "$"
		if got := strings.TrimSpace(shell(t, script)); !regexp.MustCompile(pattern).MatchString(got) {
			t.Errorf("%s promises:\n%s\nprinted was:\n%s", document, output, got)
		}
	}
}

// TestInterfaceByHand runs INTERFACE.md's shell blocks. A comment in a block is the end of the line
// that the command above it prints.
func TestInterfaceByHand(t *testing.T) {
	t.Chdir(root)
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip(err)
	}
	made := 0
	for _, b := range blocks(t, "INTERFACE.md") {
		if b.language != "sh" || !strings.Contains(b.text, "\n# ") {
			continue
		}
		made++
		printed := strings.Split(strings.TrimSpace(shell(t, b.text)), "\n")
		for line := range strings.Lines(b.text) {
			if want, ok := strings.CutPrefix(strings.TrimSpace(line), "# "); ok {
				if len(printed) == 0 || !strings.HasSuffix(printed[0], want) {
					t.Fatalf("INTERFACE.md promises %s, printed was %q", want, printed)
				}
				printed = printed[1:]
			}
		}
	}
	if made < 2 {
		t.Errorf("%d blocks were found, want 2: have they moved?", made)
	}
}

// shell runs a script in the workspace, as a new user would, and returns its output. It stops
// what the script started in the background.
func shell(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const prelude = "set -eu; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT; trap 'exit 1' INT\n"
	cmd := exec.CommandContext(ctx, "bash", "-c", prelude+script)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOWORK=") })
	cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir())
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.Bytes())
	}
	return string(out)
}

// TestDocumentsAreShort keeps what is written by hand to what is read in one go, in bytes.
func TestDocumentsAreShort(t *testing.T) {
	t.Chdir(root)
	for document, most := range map[string]int{
		"THREATS.md":   30_000,
		"CHANGELOG.md": 3_000, // until there is a release
		"README.md":    6_000,

		"examples/guides/concepts.md": 10_000,
	} {
		if size := len(read(t, document)); size > most {
			t.Errorf("%s has %d bytes, and %d at most: what its data can generate belongs into a generated page", document, size, most)
		}
	}
}

// member matches `Type.Member` in a line of prose, perhaps below a package.
var member = regexp.MustCompile("`(?:[a-z]\\w*\\.)?([A-Z]\\w*)\\.([A-Z]\\w*)[^`\n]*`")

// TestMembersExist checks that a field or method that a document names is one of a type of that name. A
// document outlives what it names otherwise.
func TestMembersExist(t *testing.T) {
	t.Chdir(root)
	// Of other modules, or promoted by an embedded type.
	foreign := []string{"Cookie.Name", "Cookie.Persist", "URL.Query", "Verified.Extra", "Ledger.Revoke", "Flags.UserVerified", "Bcrypt.Cost", "Time.Truncate", "X.Auth"}
	surface := read(t, "internal/api/v0.txt")
	for _, document := range documents() {
		for _, m := range member.FindAllStringSubmatch(read(t, document), -1) {
			named := m[1] + "." + m[2]
			exists := regexp.MustCompile(`\b` + m[1] + `\b[^\n]*\b` + m[2] + `\b`).MatchString(surface)
			if !exists && !slices.Contains(foreign, named) {
				t.Errorf("%s names %s, which is not there", document, named)
			}
		}
	}
}
