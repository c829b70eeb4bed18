// Package start walks the pages of this folder, as a newcomer does: an empty module, the file at the end
// of the page, the commands below it.
package start

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/oauth2-proxy/mockoidc"
)

var update = flag.Bool("update", false, "write the programs into the pages")

const root = "../../.."

// walks are the pages with a program, and whose program they run.
var walks = []struct{ page, program string }{
	{"2-first-route.md", "first"},
	{"3-your-database.md", "database"},
	{"4-people.md", "people"},
	{"5-sign-in-with.md", "signin"},
	{"6-machines.md", "machines"},
	{"7-production.md", "database"}, // the program of page 3, with what is around it in production
}

func TestWalks(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	began := time.Now()
	for _, walk := range walks {
		if testing.Short() && walk.program != "first" {
			continue
		}
		t.Run(walk.page, func(t *testing.T) { walkPage(t, walk.page, walk.program, "") })
		if source := os.Getenv("DATABASE_URL"); source != "" && walk.program == "database" {
			t.Run(walk.page+" on PostgreSQL", func(t *testing.T) { walkPage(t, walk.page, walk.program, database(t, source)) })
		}
	}
	t.Logf("all pages in %.1f s", time.Since(began).Seconds())
}

// walkPage builds the program of a page in a new module, runs the page's commands, and compares what
// they print.
func walkPage(t *testing.T, name, program, db string) {
	page := read(t, name)
	folder := module(t, fileOf(t, page, program))
	script, want := "", ""
	for _, b := range fenced.FindAllStringSubmatch(page, -1) {
		switch b[1] {
		case "start":
			script += "start() {\n" + b[3] + "}\nstart >/dev/null &\nuntil curl -s localhost:8085 >nothing; do kill -0 $! && sleep 0.1; done\n"
		case "run":
			script += b[3]
		case "output":
			want += b[3]
		}
	}
	pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(want)), "…", "[^\n]*") + "$"
	if got := strings.TrimSpace(shell(t, folder, db, script)); want == "" || !regexp.MustCompile(pattern).MatchString(got) {
		t.Errorf("%s promises:\n%s\nprinted was:\n%s", name, want, got)
	}
}

// database creates an empty database, and returns its URL.
func database(t *testing.T, source string) string {
	t.Helper()
	admin, err := sql.Open("pgx", source)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("walk_%d", time.Now().UnixNano())
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		admin.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		admin.Close()
	})
	u, err := url.Parse(source)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// fenced matches a block and the comment above it.
var fenced = regexp.MustCompile("(?ms)(?:^<!-- ([^\n]*?) -->\n)?^```(\\w*)\n(.*?)^```$")

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fileOf returns the program at the end of a page. It must be all of the file that is compiled here.
// The program of another page is that file.
func fileOf(t *testing.T, page, program string) string {
	t.Helper()
	source := read(t, filepath.Join(program, "main.go"))
	name := "examples/guides/start/" + program + "/main.go"
	for _, b := range fenced.FindAllStringSubmatch(page, -1) {
		if b[1] == name && strings.HasPrefix(b[3], "// ") {
			if b[3] != source {
				t.Errorf("the page has not all of %s: run go test ./examples/guides/start -update", name)
			}
			return b[3]
		}
	}
	return source
}

// module returns a folder with a new module, in which the file is the whole program. The library is this
// tree, and other modules have the versions that are tested here.
func module(t *testing.T, file string) string {
	t.Helper()
	folder := t.TempDir()
	file = strings.ReplaceAll(file, "auth.Guard{", "auth.Guard{Timeout: 1e10,") // 10 s: a busy disk is no outage
	if err := os.WriteFile(filepath.Join(folder, "main.go"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "go", "mod", "init", "example.com/notes")
	tree, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	edit := []string{"mod", "edit", "-replace=github.com/tenantkit/tenantkit=" + tree}
	var tested struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(run(t, filepath.Join(tree, "examples"), "go", "mod", "edit", "-json"), &tested); err != nil {
		t.Fatal(err)
	}
	for _, m := range tested.Require {
		edit = append(edit, "-require="+m.Path+"@"+m.Version)
	}
	run(t, folder, "go", edit...)
	if err := os.WriteFile(filepath.Join(folder, "go.sum"), []byte(read(t, filepath.Join(root, "examples/go.sum"))), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, folder, "go", "build", "-mod=mod", "-o", "notes", ".")
	return folder
}

func run(t *testing.T, folder, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd, err, out, stderr.Bytes())
	}
	return out
}

// prelude stands for what a reader has at hand: the built program for go run, and an authenticator. All
// that was started ends with the script.
const prelude = `set -eu
trap 'kill $(jobs -p) $(cat pid) 2>/dev/null || true' EXIT; trap 'exit 1' INT
go() { [ "$1" = run ] || return 0; shift 2; ./notes ${NOTES_DB:+-db "$NOTES_DB"} "$@" & echo $! >>pid; wait $!; }
sleep() { case $1 in 1) command sleep 3 ;; *) command sleep "$1" ;; esac; } # this machine may be slower than a reader's
grep() { case $* in *' log') sleep 1 ;; esac; command grep "$@"; }            # tee writes a moment later what the server prints
oathtool() {
	key=$(printf '%s' "$3" | base32 -d | od -An -v -tx1 | tr -d ' \n')
	mac=$(printf "$(printf '%016x' $(($(date +%s) / 30)) | sed 's/../\\x&/g')" |
		openssl dgst -sha1 -mac HMAC -macopt "hexkey:$key" | sed 's/.* //')
	at=$((0x${mac:39:1} * 2))
	printf '%06d\n' $(((0x${mac:at:8} & 0x7fffffff) % 1000000))
}
`

// shell runs the commands of a page in a folder, and returns what they print.
func shell(t *testing.T, folder, db, script string) string {
	t.Helper()
	waitForPort(t)
	provider, err := mockoidc.Run()
	if err != nil {
		t.Fatal(err)
	}
	defer provider.Shutdown()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", prelude+script)
	cmd.Dir = folder
	cmd.Env = append(slices.Clone(os.Environ()), "NOTES_DB="+db, "ISSUER="+provider.Issuer(), "CLIENT_ID="+provider.ClientID, "CLIENT_SECRET="+provider.ClientSecret)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(folder, "log"))
		t.Fatalf("%v\n%s%s\n%s", err, out, stderr.Bytes(), log)
	}
	return string(out)
}

// waitForPort waits until the port of the pages is free: another clone may be walked at the same time.
func waitForPort(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		connection, err := net.Dial("tcp", "localhost:8085")
		if err != nil {
			return
		}
		connection.Close()
		if time.Now().After(deadline) {
			t.Fatal("another program listens on localhost:8085")
		}
	}
}

// TestPagesHaveTheirPrograms writes each program into its page with -update.
func TestPagesHaveTheirPrograms(t *testing.T) {
	for _, walk := range walks {
		marker := "<!-- examples/guides/start/" + walk.program + "/main.go -->\n```go\n// "
		page := read(t, walk.page)
		before, rest, found := strings.Cut(page, marker)
		if !found {
			continue // the program of another page
		}
		_, after, _ := strings.Cut(rest, "\n```\n")
		want := before + strings.TrimSuffix(marker, "// ") + read(t, filepath.Join(walk.program, "main.go")) + "```\n" + after
		if *update {
			if err := os.WriteFile(walk.page, []byte(want), 0o666); err != nil {
				t.Fatal(err)
			}
		} else if page != want {
			t.Errorf("%s has not the whole program: run go test ./examples/guides/start -update", walk.page)
		}
	}
}
