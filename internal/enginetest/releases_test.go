package enginetest

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// buildReleases builds testdata/instance twice: as it is, and as a later release, whose stores have
// other versions.
func buildReleases(t *testing.T) (now, later string) {
	t.Helper()
	folder, overlay := t.TempDir(), struct{ Replace map[string]string }{map[string]string{}}
	version := regexp.MustCompile(`const version = "?\d+`)
	for _, file := range []string{"redisstore/script.go", "sqlstore/schema.go"} {
		path := sourceOf(t, file)
		text := read(t, path)
		changed := version.ReplaceAllString(text, "${0}9")
		if changed == text {
			t.Fatalf("no version in %s", path)
		}
		overlay.Replace[path] = filepath.Join(folder, filepath.Base(file))
		if err := os.WriteFile(overlay.Replace[path], []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(list, must(json.Marshal(overlay))(t), 0o600); err != nil {
		t.Fatal(err)
	}
	now, later = filepath.Join(folder, "now"), filepath.Join(folder, "later")
	for name, flags := range map[string][]string{now: {"build"}, later: {"build", "-overlay", list}} {
		if out, err := exec.Command("go", append(flags, "-o", name, "./testdata/instance")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return now, later
}

// released is a running instance of a release.
type released struct {
	in  io.Writer
	out *bufio.Scanner
}

func startReleased(t *testing.T, program, engine, at string) released {
	t.Helper()
	process := exec.Command(program, engine, at)
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); process.Wait() })
	return released{in, bufio.NewScanner(out)}
}

// says expects the answer to a command to contain a text.
func (i released) says(t *testing.T, command, want string) {
	t.Helper()
	fmt.Fprintln(i.in, command)
	if !i.out.Scan() || !strings.Contains(i.out.Text(), want) {
		t.Errorf("%s: %q, want %q", command, i.out.Text(), want)
	}
}

// TestK35AnotherRelease has instances of two releases on one engine. They never work on the same
// data: the later one is refused, and the running earlier one gets errors once somebody has put
// away its data.
func TestK35AnotherRelease(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	now, later := buildReleases(t)
	for _, c := range []struct {
		name  string
		at    func(t *testing.T) string
		empty func(t *testing.T, at string)
		gone  string // what the earlier one says then
	}{
		{"SQLite", func(t *testing.T) string {
			return "file:" + filepath.Join(t.TempDir(), "store") + "?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
		}, func(t *testing.T, at string) { dropTables(t, openDB(t, "sqlite", at)) }, "no such table"},
		{"PostgreSQL", func(t *testing.T) string { return newDatabase(t) },
			func(t *testing.T, at string) { dropTables(t, openDB(t, "pgx", at)) }, "does not exist"},
		{"Redis", func(t *testing.T) string { return startRedis(t).addr() },
			func(t *testing.T, at string) {
				if _, err := dial(t, at)(t.Context(), "FLUSHALL"); err != nil {
					t.Fatal(err)
				}
			}, "is of version 39"},
	} {
		t.Run("K35 "+c.name, func(t *testing.T) {
			if engine := os.Getenv("ENGINE"); engine != "" && engine != c.name {
				t.Skip("another engine")
			}
			at := c.at(t)
			old := startReleased(t, now, c.name, at)
			old.says(t, "open", "ok")
			old.says(t, "issue parent", "ok")
			old.says(t, "issue child parent", "ok")

			// A deploy of the later release fails, and the way back is free.
			next := startReleased(t, later, c.name, at)
			next.says(t, "open", "version")
			next.says(t, "revoke parent", "not open")
			old.says(t, "spend child", "ok")
			again := startReleased(t, now, c.name, at)
			again.says(t, "open", "ok")
			again.says(t, "revoke parent", "ok")
			old.says(t, "spend child", "revoked")

			// The later release begins anew, and the earlier one was not stopped.
			c.empty(t, at)
			next.says(t, "open", "ok")
			next.says(t, "issue parent", "ok")
			next.says(t, "issue child parent", "ok")
			for _, i := range []released{old, again} {
				for _, command := range []string{"spend child", "spend parent", "issue another", "revoke parent"} {
					i.says(t, command, c.gone)
				}
			}
			startReleased(t, now, c.name, at).says(t, "open", "version")
			next.says(t, "revoke parent", "ok")
			for _, i := range []released{old, again} {
				i.says(t, "spend child", c.gone)
			}
			next.says(t, "spend child", "revoked")
		})
	}
}

// dropTables drops all tables of the default prefix.
func dropTables(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, table := range append([]string{"schema"}, "replays", "ledger", "keys", "former_keys", "credentials", "formers", "sessions", "attempts", "factors") {
		name := tablesOf("tenantkit_") + table
		if table == "schema" {
			name = "tenantkit_schema"
		}
		run(t, db, "DROP TABLE "+name)
	}
}
