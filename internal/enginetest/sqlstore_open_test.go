package enginetest

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

func TestK07InstancesThatStartAtOnce(t *testing.T) {
	for _, n := range []int{2, 8} {
		for _, h := range homes(t) {
			t.Run(fmt.Sprint("K07 ", h.name, " ", n), func(t *testing.T) {
				stores := h.instances(t, n)
				u := aUse()
				for i, s := range stores {
					want := error(signing.ErrReplayed)
					if i == 0 {
						want = nil
					}
					claims(t, fmt.Sprint("instance ", i), s, u, want)
				}
				var rows, version int
				table := prefixOf(h.prefix) + "schema"
				if err := h.open(t).QueryRow("SELECT count(*), max(version) FROM "+table).Scan(&rows, &version); err != nil || rows != 1 || version < 2 {
					t.Errorf("%d rows of versions up to %d, %v", rows, version, err)
				}
			})
		}
	}
}

func TestK04RefusedStarts(t *testing.T) {
	memory := openDB(t, "sqlite", ":memory:")
	memory.SetMaxOpenConns(1)
	file := func(name string) string { return filepath.Join(t.TempDir(), name) }
	at := durablePostgres(t)
	for name, c := range map[string]struct {
		db      *sql.DB
		dialect sqlstore.Dialect
		prefix  string
		setting string
		says    []string
		never   bool // refused even with UnsafeDurability
	}{
		"K04 PostgreSQL without fsync": {db: postgres(t), dialect: sqlstore.PostgreSQL, setting: "fsync", says: []string{"fsync is off", "set it to on"}},
		"K04 PostgreSQL with asynchronous commit": {db: openDB(t, "pgx", at+"&synchronous_commit=off"), dialect: sqlstore.PostgreSQL,
			setting: "synchronous_commit", says: []string{"synchronous_commit is off", "set it to on"}},
		"K04 PostgreSQL read only": {db: openDB(t, "pgx", at+"&default_transaction_read_only=on"), dialect: sqlstore.PostgreSQL,
			setting: "default_transaction_read_only", says: []string{"default_transaction_read_only", "set it to off"}, never: true},
		"K04 PostgreSQL at another isolation level": {db: openDB(t, "pgx", at+"&default_transaction_isolation=serializable"), dialect: sqlstore.PostgreSQL,
			setting: "default_transaction_isolation", says: []string{"default_transaction_isolation", "read committed"}, never: true},
		"K04 SQLite in memory":           {db: memory, dialect: sqlstore.SQLite, setting: "file", says: []string{"in memory", "open a file"}},
		"K04 SQLite that does not sync":  {db: openSQLite(t, file("off"), "&_pragma=synchronous(OFF)"), dialect: sqlstore.SQLite, setting: "synchronous", says: []string{"synchronous is 0", "FULL"}},
		"K04 SQLite with journal memory": {db: openDB(t, "sqlite", "file:"+file("memory")+"?_pragma=journal_mode(MEMORY)"), dialect: sqlstore.SQLite, setting: "journal_mode", says: []string{"journal_mode is memory", "WAL"}},
		"a prefix with a quote":          {db: memory, dialect: sqlstore.SQLite, prefix: `a"; --`, says: []string{"prefix"}, never: true},
		"the other dialect":              {db: memory, dialect: sqlstore.PostgreSQL, never: true},
		"no dialect":                     {db: memory, says: []string{"dialect"}, never: true},
		"no database":                    {dialect: sqlstore.SQLite, says: []string{"no database"}, never: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := sqlstore.Open(t.Context(), c.db, c.dialect, sqlstore.Options{Prefix: c.prefix})
			if s != nil || err == nil {
				t.Fatal("opened")
			}
			var wrong *sqlstore.SettingError
			if c.setting != "" && (!errors.As(err, &wrong) || wrong.Setting != c.setting || wrong.Remedy == "") {
				t.Errorf("error %v, want one about %s", err, c.setting)
			}
			for _, word := range append(c.says, "sqlstore:") {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("error %q does not say %q", err, word)
				}
			}
			prefix := c.prefix
			if prefix == "" {
				prefix = "refused_"
			}
			_, err = sqlstore.Open(t.Context(), c.db, c.dialect, sqlstore.Options{Prefix: prefix, UnsafeDurability: true})
			if (err != nil) != c.never {
				t.Fatalf("with UnsafeDurability: %v", err)
			}
		})
	}
}

// TestGuarantees opens engines whose settings keep what was confirmed, and SQLite with a setting that
// only a loss of power undoes. TestK04RefusedStarts has those that lose more.
func TestGuarantees(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) { h.store(t) })
	}
	db := openSQLite(t, filepath.Join(t.TempDir(), "normal"), "&_pragma=synchronous(NORMAL)")
	if _, err := sqlstore.Open(t.Context(), db, sqlstore.SQLite, sqlstore.Options{}); err != nil {
		t.Errorf("synchronous NORMAL: %v", err)
	}
}

// TestNewTablesAreStrict counts the tables in SQLite that accept values of any type.
func TestNewTablesAreStrict(t *testing.T) {
	h := newSQLiteHome(t)
	db := h.open(t)
	h.storeIn(t, db)
	var tables, lax int
	const query = "SELECT count(*), sum(NOT strict) FROM pragma_table_list WHERE schema = 'main' AND name LIKE $1"
	if err := db.QueryRow(query, h.prefix+"%").Scan(&tables, &lax); err != nil || tables != 9 || lax != 0 {
		t.Errorf("%d tables, of which %d are not STRICT, %v", tables, lax, err)
	}
}

// TestSchemaByHand creates the tables with another tool, twice, and opens them with a role that may
// not create any.
func TestSchemaByHand(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			db := h.open(t)
			text := sqlstore.Schema(h.dialect, prefixOf(h.prefix))
			for range 2 {
				if _, err := db.Exec(text); err != nil {
					t.Fatal(err)
				}
			}
			if h.dialect == sqlstore.PostgreSQL {
				role := h.prefix + "role"
				for _, statement := range []string{
					"CREATE ROLE " + role + " LOGIN",
					"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO " + role,
				} {
					if _, err := db.Exec(statement); err != nil {
						t.Fatal(err)
					}
				}
				db = openDB(t, "pgx", strings.Replace(durablePostgres(t), "test@", role+"@", 1))
				if _, err := db.Exec("CREATE TABLE " + role + " ()"); err == nil {
					t.Fatal("the role may make tables")
				}
			}
			claims(t, "first", h.storeIn(t, db), aUse(), nil)
		})
	}
}
