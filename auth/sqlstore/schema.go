package sqlstore

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing/fstest"

	"github.com/tenantkit/tenantkit/internal/sqldialect"
)

const defaultPrefix = "tenantkit_"

// validPrefix matches prefixes that need no quotes. They leave room for the longest
// name of a table or an index within PostgreSQL's 63 bytes.
var validPrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,30}$`)

var tables = []string{
	"schema", "replays", "ledger", "keys", "former_keys", "credentials", "formers", "sessions", "attempts", "factors", "wrapped", "api_keys",
	"marks", "repeats", "audit", "audit_heads", "audit_personal",
}

// version is the version of schema. The names of all tables but {schema} contain it: an instance
// of another version never finds them, also if it runs while they are replaced. Raise it with
// each change of the tables or of what their columns mean.
const version = 9

// schema creates the tables. It may run again. In SQLite they are STRICT. A Replacer writes what stands in
// braces: see substitutions.
//
//go:embed schema.sql
var schema string

// newTables creates all tables.
var newTables = schema + fmt.Sprintf(`
INSERT INTO {schema} (version) SELECT %d WHERE NOT EXISTS (SELECT 1 FROM {schema}) ON CONFLICT DO NOTHING;
`, version)

// tableName returns the name of a table of this version.
func tableName(prefix, table string) string {
	if table == "schema" {
		return prefix + table
	}
	return fmt.Sprintf("%sv%d_%s", prefix, version, table)
}

// Migrations returns the files that create the tables, for services that run them with their own tool:
// goose, atlas and psql read them. There is one for each version, named by it. It may run again. An
// empty prefix means the default of Options.Prefix. Migrations panics for a dialect or prefix that Open
// refuses.
func Migrations(d Dialect, prefix string) fs.FS {
	prefix = cmp.Or(prefix, defaultPrefix)
	if !sqldialect.Known(d) || !validPrefix.MatchString(prefix) {
		panic(fmt.Sprintf("sqlstore: no migrations for the dialect %d and the prefix %q", d, prefix))
	}
	text := "-- +goose Up\n" + newReplacer(d, prefix).Replace(newTables)
	return fstest.MapFS{migrationName: {Data: []byte(text)}}
}

var migrationName = fmt.Sprintf("%05d_tables.sql", version)

// migrate creates the tables. It writes nothing if they are there.
func (s *Store) migrate(ctx context.Context) error {
	found, err := schemaVersion(ctx, conn{store: s, on: s.db})
	if err == nil && found != 0 || s.options.NoMigrate {
		return cmp.Or(err, checkVersion(found))
	}
	// The tables are missing or unreadable: the transaction returns the error, if any.
	return s.write(ctx, func(q conn) error {
		found, err := schemaVersion(ctx, q)
		if err != nil || found != 0 {
			return cmp.Or(err, checkVersion(found))
		}
		// One by one, because some drivers accept only one statement at a time. None contains a semicolon
		// before a line break.
		for statement := range strings.SplitSeq(strings.TrimSpace(newTables), ";\n") {
			if err == nil {
				_, err = q.exec(ctx, statement)
			}
		}
		return err
	}, "schema")
}

// checkVersion refuses the tables of another version, and 0 for none. To carry them over is for a program that the
// changelog names, while no instance runs: nothing here could do it beside instances that write.
func checkVersion(found int) error {
	switch found {
	case version:
		return nil
	case 0:
		return fmt.Errorf("there are no tables: run %s of Migrations", migrationName)
	}
	return fmt.Errorf("the tables are of version %d, and this release needs those of %s of Migrations: see \"Compatibility\" in the package comment", found, migrationName)
}

// schemaVersion returns the version of the tables, or 0 if they are empty or missing. It looks for
// them first: a statement about a missing table is an ERROR in the log of PostgreSQL.
func schemaVersion(ctx context.Context, q conn) (found int, err error) {
	look := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = '{schema}')"
	if q.store.dialect == PostgreSQL {
		look = "SELECT to_regclass('{schema}') IS NOT NULL"
	}
	var exist bool
	if err = q.one(ctx, look, nil, &exist); err != nil || !exist {
		return 0, err
	}
	err = q.one(ctx, "SELECT coalesce(max(version), 0) FROM {schema}", nil, &found)
	return found, err
}
