package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

// settings are the engine's settings, by name.
type settings struct {
	dialect Dialect
	values  map[string]string
}

// checkSettings joins an error for each setting that breaks a rule.
func (s *Store) checkSettings(ctx context.Context) error {
	text := `SELECT 'version', sqlite_version() UNION ALL SELECT 'synchronous', synchronous FROM pragma_synchronous UNION ALL
		SELECT 'journal_mode', journal_mode FROM pragma_journal_mode UNION ALL
		SELECT 'file', coalesce(max(file), '') FROM pragma_database_list WHERE name = 'main'`
	if s.dialect == PostgreSQL {
		text = `SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'fsync', 'full_page_writes',
				'synchronous_commit', 'synchronous_standby_names', 'data_sync_retry', 'zero_damaged_pages', 'default_transaction_isolation', 'default_transaction_read_only')
			UNION ALL SELECT 'recovery', pg_is_in_recovery()::text
			UNION ALL SELECT 'standbys', count(*)::text FROM pg_stat_replication
			WHERE pid NOT IN (SELECT active_pid FROM pg_replication_slots WHERE slot_type = 'logical' AND active_pid IS NOT NULL)`
	}
	found := settings{s.dialect, map[string]string{}}
	err := conn{store: s, on: s.single}.each(ctx, text, nil, func(rows *sql.Rows) error {
		var name, setting string
		err := rows.Scan(&name, &setting)
		found.values[name] = setting
		return err
	})
	if err != nil {
		return err
	}
	if n := found.values["standbys"]; cmp.Or(n, "0") != "0" && found.values["synchronous_standby_names"] == "" {
		slog.WarnContext(ctx, "sqlstore: a standby that takes over may lack logouts, revocations and uses: set synchronous_standby_names, unless none takes over", "standbys", n)
	}
	errs := append(found.lossy(s.options.UnsafeDurability), found.tooOld())
	for _, r := range rules {
		errs = append(errs, found.check(r, ""))
	}
	return errors.Join(errs...)
}

// rule is a setting and the values that break a promise.
type rule struct {
	setting string
	wrong   []string
	remedy  string
}

// The first rules hold always. UnsafeDurability lifts the lossy ones. An engine lacks the settings of the other.
var (
	rules = []rule{
		{"recovery", []string{"true"}, "the server is a standby, which lags behind and cannot write: connect to the primary, as with target_session_attrs=read-write"},
		{"default_transaction_read_only", []string{"on"}, "set it to off for this role or connection"},
		{"default_transaction_isolation", []string{"serializable", "repeatable read", "read uncommitted"},
			"claims at once fail: set it to 'read committed' for this role or connection"},
	}
	lossyRules = []rule{
		{"fsync", []string{"off"}, "set it to on in postgresql.conf"},
		{"full_page_writes", []string{"off"}, "set it to on in postgresql.conf"},
		{"synchronous_commit", []string{"off", "local"}, "set it to on in postgresql.conf, for this role or for this connection"},
		// With these, what the disk has failed to keep is taken for written, or for empty.
		{"data_sync_retry", []string{"on"}, "set it to off in postgresql.conf"},
		{"zero_damaged_pages", []string{"on"}, "set it to off in postgresql.conf"},
		{"file", []string{""}, "the database is in memory: open a file"},
		{"synchronous", []string{"0"}, "run PRAGMA synchronous = FULL on each connection, best by the data source name"},
		{"journal_mode", []string{"off", "memory"}, "run PRAGMA journal_mode = WAL"},
	}
)

// lossy returns an error for each setting by which confirmed changes may be lost.
func (f settings) lossy(undurable bool) (errs []error) {
	for _, r := range lossyRules {
		if !undurable {
			errs = append(errs, f.check(r, ", or set UnsafeDurability"))
		}
	}
	return errs
}

func (f settings) check(r rule, or string) error {
	if value, known := f.values[r.setting]; known && slices.Contains(r.wrong, strings.ToLower(value)) {
		return &auth.SettingError{Setting: r.setting, Value: cmp.Or(value, "empty"), Remedy: r.remedy + or}
	}
	return nil
}

func (f settings) tooOld() error {
	var major, minor, number int
	fmt.Sscanf(f.values["version"], "%d.%d", &major, &minor)
	fmt.Sscan(f.values["server_version_num"], &number)
	switch {
	case f.dialect == SQLite && (major < 3 || major == 3 && minor < 42):
		return &auth.SettingError{Setting: "version", Value: f.values["version"], Remedy: "SQLite is older than 3.42"}
	case f.dialect == PostgreSQL && number < 12_00_00:
		return &auth.SettingError{Setting: "server_version_num", Value: f.values["server_version_num"], Remedy: "PostgreSQL is older than 12"}
	}
	return nil
}

// checkLogged refuses tables that PostgreSQL empties after a crash. For {marks} that is
// what begins an epoch, so it must be one of them.
func (s *Store) checkLogged(ctx context.Context) error {
	if s.dialect != PostgreSQL {
		return nil
	}
	for _, table := range tables {
		name, unlogged := tableName(s.options.Prefix, table), false
		err := s.find(ctx, "SELECT relpersistence <> 'p' FROM pg_class WHERE oid = $1::text::regclass", []any{name}, &unlogged)
		switch {
		case err != nil:
			return err
		case table == "marks" && !unlogged:
			return &auth.SettingError{Setting: "table " + name, Value: "logged", Remedy: "a recovery would not begin an epoch: ALTER TABLE " + name + " SET UNLOGGED"}
		case table != "marks" && unlogged && !s.options.UnsafeDurability:
			return &auth.SettingError{Setting: "table " + name, Value: "UNLOGGED", Remedy: "a crash empties it: ALTER TABLE " + name + " SET LOGGED, or set UnsafeDurability"}
		}
	}
	return nil
}
