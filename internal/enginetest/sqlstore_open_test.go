package enginetest

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	atlas "ariga.io/atlas/sql/migrate"
	atlaspostgres "ariga.io/atlas/sql/postgres"
	atlasschema "ariga.io/atlas/sql/schema"
	atlassqlite "ariga.io/atlas/sql/sqlite"
	"github.com/pressly/goose/v3"

	"github.com/tenantkit/tenantkit/auth"
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
			var wrong *auth.SettingError
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
	if err := db.QueryRow(query, h.prefix+"%").Scan(&tables, &lax); err != nil || tables < 10 || lax != 0 {
		t.Errorf("%d tables, of which %d are not STRICT, %v", tables, lax, err)
	}
}

// migration returns the file of Migrations.
func migration(d sqlstore.Dialect, prefix string) string {
	files := sqlstore.Migrations(d, prefix)
	names, _ := fs.Glob(files, "*.sql")
	text, _ := fs.ReadFile(files, names[0])
	return string(text)
}

// migrators run the files of Migrations, each in its own way.
var migrators = map[string]func(t *testing.T, h home, db *sql.DB) error{
	"by hand": func(t *testing.T, h home, db *sql.DB) error {
		_, err := db.Exec(migration(h.dialect, prefixOf(h.prefix)))
		return err
	},
	"goose": func(t *testing.T, h home, db *sql.DB) error {
		dialect := map[sqlstore.Dialect]goose.Dialect{sqlstore.SQLite: goose.DialectSQLite3, sqlstore.PostgreSQL: goose.DialectPostgres}[h.dialect]
		p, err := goose.NewProvider(dialect, db, sqlstore.Migrations(h.dialect, prefixOf(h.prefix)), goose.WithTableName(h.prefix+"goose"))
		if err == nil {
			_, err = p.Up(t.Context())
		}
		return err
	},
	"atlas": func(t *testing.T, h home, db *sql.DB) error {
		open := map[sqlstore.Dialect]func(atlasschema.ExecQuerier) (atlas.Driver, error){sqlstore.SQLite: atlassqlite.Open, sqlstore.PostgreSQL: atlaspostgres.Open}[h.dialect]
		driver, err := open(db)
		if err != nil {
			return err
		}
		dir := new(atlas.MemDir)
		files := sqlstore.Migrations(h.dialect, prefixOf(h.prefix))
		names := must(fs.Glob(files, "*"))(t)
		for _, name := range names {
			expect(t, name, dir.WriteFile(name, must(fs.ReadFile(files, name))(t)), nil)
		}
		expect(t, "atlas.sum", atlas.WriteSumFile(dir, must(dir.Checksum())(t)), nil)
		e, err := atlas.NewExecutor(driver, dir, atlas.NopRevisionReadWriter{}, atlas.WithAllowDirty(true))
		if err == nil {
			err = e.ExecuteN(t.Context(), 0)
		}
		return err
	},
}

// TestMigrations creates the tables with each tool, twice, and opens them with a role that may not
// create any.
func TestMigrations(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for name, run := range migrators {
		for _, h := range homes(t) {
			t.Run(name+" "+h.name, func(t *testing.T) {
				db := h.open(t)
				o := h.options()
				o.NoMigrate = true
				if _, err := sqlstore.Open(t.Context(), db, h.dialect, o); err == nil || !strings.Contains(err.Error(), "run 00009_tables.sql of Migrations") {
					t.Errorf("without tables: %v", err)
				}
				if n := h.tables(t, db); n != 0 {
					t.Errorf("NoMigrate has created %d tables", n)
				}
				for range 2 {
					expect(t, name, run(t, h, db), nil)
				}
				if h.dialect == sqlstore.PostgreSQL {
					db = h.as(t, db, "SELECT, INSERT, UPDATE, DELETE")
					if _, err := db.Exec("CREATE TABLE " + h.prefix + "mine ()"); err == nil {
						t.Fatal("the role may make tables")
					}
				}
				s := must(sqlstore.Open(t.Context(), db, h.dialect, o))(t)
				afterEpoch()
				claims(t, "first", s, aUse(), nil)
			})
		}
	}
	t.Run("each right is needed", func(t *testing.T) {
		h := newPostgresHome(t)
		db := h.open(t)
		h.storeIn(t, db)
		rights := []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
		for i, missing := range rights {
			others := slices.Delete(slices.Clone(rights), i, i+1)
			o := h.options()
			o.NoMigrate = true
			s, err := sqlstore.Open(t.Context(), h.as(t, db, strings.Join(others, ", ")), h.dialect, o)
			if err == nil {
				r := recordOf("acme", fmt.Sprint("token", i))
				err = errors.Join(s.Ledger().Issue(t.Context(), r, nil, 10), s.Ledger().Revoke(t.Context(), r.Holder(), r.ID),
					s.DeleteAccount(t.Context(), "acme", "ann"), s.Sessions().Touch(t.Context(), "acme", [32]byte{}, time.Now()))
			}
			if err == nil || !strings.Contains(err.Error(), "permission denied") {
				t.Errorf("without %s: %v", missing, err)
			}
		}
	})
	t.Run("of another version", func(t *testing.T) {
		h := newSQLiteHome(t)
		db := h.open(t)
		h.storeIn(t, db)
		must(db.Exec("UPDATE " + prefixOf(h.prefix) + "schema SET version = 10"))(t)
		o := h.options()
		o.NoMigrate = true
		if _, err := sqlstore.Open(t.Context(), db, h.dialect, o); err == nil || !strings.Contains(err.Error(), "version 10") || !strings.Contains(err.Error(), "00009_tables.sql") {
			t.Errorf("got %v", err)
		}
	})
}

// tables counts the tables of a home.
func (h home) tables(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	query := "SELECT count(*) FROM sqlite_master WHERE name LIKE $1"
	if h.dialect == sqlstore.PostgreSQL {
		query = "SELECT count(*) FROM pg_tables WHERE tablename LIKE $1"
	}
	expect(t, "count", db.QueryRow(query, prefixOf(h.prefix)+"%").Scan(&n), nil)
	return n
}

// as opens a home of PostgreSQL with a role that has only these rights on its tables.
func (h home) as(t *testing.T, db *sql.DB, rights string) *sql.DB {
	t.Helper()
	role := fmt.Sprint(prefixOf(h.prefix), "role", prefixes.Add(1))
	must(db.Exec("CREATE ROLE " + role + " LOGIN"))(t)
	rows := must(db.Query("SELECT tablename FROM pg_tables WHERE tablename LIKE $1", prefixOf(h.prefix)+"%"))(t)
	var grants string
	for rows.Next() {
		var table string
		expect(t, "Scan", rows.Scan(&table), nil)
		grants += "GRANT " + rights + " ON " + table + " TO " + role + ";"
	}
	expect(t, "tables", rows.Err(), nil)
	must(db.Exec(grants))(t)
	t.Cleanup(func() { db.Exec("DROP OWNED BY " + role + "; DROP ROLE " + role) })
	return openDB(t, "pgx", strings.Replace(durablePostgres(t), "test@", role+"@", 1))
}
