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
type settings map[string]string

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
	found := settings{}
	err := conn{store: s, on: s.single}.each(ctx, text, nil, func(rows *sql.Rows) error {
		var name, setting string
		err := rows.Scan(&name, &setting)
		found[name] = setting
		return err
	})
	if err != nil {
		return err
	}
	if n := found["standbys"]; cmp.Or(n, "0") != "0" && found["synchronous_standby_names"] == "" {
		slog.WarnContext(ctx, "sqlstore: a standby that takes over may lack logouts, revocations and uses: set synchronous_standby_names, unless none takes over", "standbys", n)
	}
	return errors.Join(append(found.broken(s.options.UnsafeDurability), found.tooOld(s.dialect))...)
}

// rules lists settings and the values that break a promise. By those that are lossy confirmed changes may be
// lost, and UnsafeDurability lifts them. An engine lacks the settings of the other.
var rules = []struct {
	setting string
	wrong   []string
	remedy  string
	lossy   string // "" if it is not
}{
	{"fsync", []string{"off"}, "set it to on in postgresql.conf", lossy},
	{"full_page_writes", []string{"off"}, "set it to on in postgresql.conf", lossy},
	{"synchronous_commit", []string{"off", "local"}, "set it to on in postgresql.conf, for this role or for this connection", lossy},
	// With these, what the disk has failed to keep is taken for written, or for empty.
	{"data_sync_retry", []string{"on"}, "set it to off in postgresql.conf", lossy},
	{"zero_damaged_pages", []string{"on"}, "set it to off in postgresql.conf", lossy},
	{"file", []string{""}, "the database is in memory: open a file", lossy},
	{"synchronous", []string{"0"}, "run PRAGMA synchronous = FULL on each connection, best by the data source name", lossy},
	{"journal_mode", []string{"off", "memory"}, "run PRAGMA journal_mode = WAL", lossy},
	{"recovery", []string{"true"}, "the server is a standby, which lags behind and cannot write: connect to the primary, as with target_session_attrs=read-write", ""},
	{"default_transaction_read_only", []string{"on"}, "set it to off for this role or connection", ""},
	{"default_transaction_isolation", []string{"serializable", "repeatable read", "read uncommitted"},
		"claims at once fail: set it to 'read committed' for this role or connection", ""},
}

const lossy = ", or set UnsafeDurability"

// broken returns an error for each setting that breaks a rule.
func (f settings) broken(undurable bool) (errs []error) {
	for _, r := range rules {
		if value, known := f[r.setting]; known && slices.Contains(r.wrong, strings.ToLower(value)) && !(undurable && r.lossy != "") {
			errs = append(errs, &auth.SettingError{Setting: r.setting, Value: cmp.Or(value, "empty"), Remedy: r.remedy + r.lossy})
		}
	}
	return errs
}

func (f settings) tooOld(d Dialect) error {
	var major, minor, number int
	fmt.Sscanf(f["version"], "%d.%d", &major, &minor)
	fmt.Sscan(f["server_version_num"], &number)
	switch {
	case d == SQLite && (major < 3 || major == 3 && minor < 42):
		return &auth.SettingError{Setting: "version", Value: f["version"], Remedy: "SQLite is older than 3.42"}
	case d == PostgreSQL && number < 12_00_00:
		return &auth.SettingError{Setting: "server_version_num", Value: f["server_version_num"], Remedy: "PostgreSQL is older than 12"}
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
