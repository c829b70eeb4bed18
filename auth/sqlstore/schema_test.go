package sqlstore_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// TestSchema compares the tables with the texts in testdata. The tables of a released
// version must not change: write a new upgrade.
func TestSchema(t *testing.T) {
	for file, dialect := range map[string]sqlstore.Dialect{"postgresql.sql": sqlstore.PostgreSQL, "sqlite.sql": sqlstore.SQLite} {
		want, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), migration(dialect, "")); diff != "" {
			t.Errorf("%s (-file +Migrations):\n%s", file, diff)
		}
	}
}

func TestSchemaPrefix(t *testing.T) {
	for prefix, valid := range map[string]bool{
		"a": true, "_": true, "acme_": true, "a9": true, strings.Repeat("a", 31): true,
		strings.Repeat("a", 32): false, "9a": false, "A": false, "a-b": false, "a b": false, `a"`: false, "a;": false, "é": false, "a\n": false,
	} {
		text := migration(sqlstore.PostgreSQL, prefix)
		if (text != "") != valid {
			t.Errorf("prefix %q: a schema of %d bytes", prefix, len(text))
		}
		if strings.ContainsAny(text, "{}$") {
			t.Errorf("prefix %q: a word is left", prefix)
		}
		// PostgreSQL cuts longer names, so two could become one.
		for _, name := range regexp.MustCompile(`\w+`).FindAllString(text, -1) {
			if len(name) > 63 {
				t.Errorf("%s is longer than 63 bytes", name)
			}
		}
	}
	if migration(0, "") != "" {
		t.Error("a schema without a dialect")
	}
}

// migration returns the one file, or "" if Migrations panics.
func migration(d sqlstore.Dialect, prefix string) string {
	defer func() { recover() }()
	text, _ := fs.ReadFile(sqlstore.Migrations(d, prefix), "00009_tables.sql")
	return string(text)
}
