package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Guarantee tells which failures the confirmed changes of a store survive. It follows
// from the settings that Open has read. It does not notice settings that change later.
type Guarantee struct {
	Kill     bool // they survive the end of the engine's process
	Power    bool // they survive the loss of power
	Failover bool // they survive the promotion of a standby

	text string
}

// String describes the guarantee in a few sentences, fit for a log.
func (g Guarantee) String() string { return g.text }

// Guarantee returns the guarantee that Open has determined.
func (s *Store) Guarantee() Guarantee { return s.guarantee }

// settings are the engine's settings, by name.
type settings struct {
	dialect Dialect
	values  map[string]string
}

func (s *Store) probe(ctx context.Context) (settings, error) {
	if s.dialect == PostgreSQL {
		return s.probePostgres(ctx)
	}
	return s.probeSQLite(ctx)
}

func (s *Store) probePostgres(ctx context.Context) (settings, error) {
	found := settings{PostgreSQL, map[string]string{}}
	err := conn{s, s.single}.each(ctx, `
		SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'fsync', 'full_page_writes',
			'synchronous_commit', 'data_sync_retry', 'zero_damaged_pages', 'synchronous_standby_names', 'default_transaction_isolation', 'default_transaction_read_only')
		UNION ALL SELECT 'recovery', pg_is_in_recovery()::text`, nil, func(rows *sql.Rows) error {
		var name, setting string
		err := rows.Scan(&name, &setting)
		found.values[name] = setting
		return err
	})
	return found, err
}

func (s *Store) probeSQLite(ctx context.Context) (settings, error) {
	found := settings{SQLite, map[string]string{}}
	for name, query := range map[string]string{
		"version":      "SELECT sqlite_version()",
		"synchronous":  "PRAGMA synchronous",
		"journal_mode": "PRAGMA journal_mode",
		"file":         "SELECT coalesce(max(file), '') FROM pragma_database_list WHERE name = 'main'",
	} {
		var setting string
		if err := s.find(ctx, query, nil, &setting); err != nil {
			return found, err
		}
		found.values[name] = strings.ToLower(setting)
	}
	return found, nil
}

// refusal returns an error if a store must not use an engine with these settings.
func (f settings) refusal(undurable bool) error {
	if err := f.unfit(); err != nil {
		return err
	}
	if lossy := f.lossy(); lossy != "" && !undurable {
		return fmt.Errorf("%s, or set UnsafeDurability", lossy)
	}
	return nil
}

// unfit returns an error for a setting that no option accepts.
func (f settings) unfit() error {
	if f.dialect == SQLite {
		if olderThan(f.values["version"], 3, 42) {
			return fmt.Errorf("SQLite %s is older than 3.42", f.values["version"])
		}
		return nil
	}
	version, _ := strconv.Atoi(f.values["server_version_num"])
	switch {
	case version < 12_00_00:
		return errors.New("PostgreSQL is older than 12")
	case f.values["recovery"] == "true":
		return errors.New("the server is a standby (pg_is_in_recovery), which lags behind and cannot write: connect to the primary, as with target_session_attrs=read-write")
	case f.values["default_transaction_read_only"] == "on":
		return errors.New("default_transaction_read_only is on: set it to off for this role or connection")
	case f.values["default_transaction_isolation"] != "read committed":
		return fmt.Errorf("default_transaction_isolation is %q, under which claims at once fail: set it to 'read committed' for this role or connection",
			f.values["default_transaction_isolation"])
	}
	return nil
}

// lossy returns which setting can lose confirmed changes and how to correct it, or ""
// if none can.
func (f settings) lossy() string {
	if f.dialect == SQLite {
		switch {
		case f.values["file"] == "":
			return "the database is in memory: open a file"
		case f.values["synchronous"] == "0":
			return "synchronous is OFF: run PRAGMA synchronous = FULL on each connection, best by the data source name"
		case f.values["journal_mode"] == "off", f.values["journal_mode"] == "memory":
			return "journal_mode is " + strings.ToUpper(f.values["journal_mode"]) + ": run PRAGMA journal_mode = WAL"
		}
		return ""
	}
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		if f.values[setting] == "off" {
			return setting + " is off: set it to on in postgresql.conf, for this role or for this connection"
		}
	}
	// With these, what the disk has failed to keep is taken for written, or for empty.
	for _, setting := range []string{"data_sync_retry", "zero_damaged_pages"} {
		if f.values[setting] == "on" {
			return setting + " is on: set it to off in postgresql.conf"
		}
	}
	return ""
}

func (f settings) guarantee(unlogged []string) Guarantee {
	if f.dialect == SQLite {
		return f.guaranteeSQLite()
	}
	commit := f.values["synchronous_commit"]
	g := Guarantee{
		// When one process of the server is killed, its other processes end, too. Changes
		// that are only in their memory are lost.
		Kill:  commit != "off" && unlogged == nil,
		Power: f.lossy() == "" && unlogged == nil,
	}
	g.Failover = g.Power && f.values["synchronous_standby_names"] != "" && (commit == "on" || commit == "remote_apply")
	g.text = fmt.Sprintf("PostgreSQL with fsync %s, full_page_writes %s, synchronous_commit %s: what was confirmed %s the end of its processes and %s the loss of power.",
		f.values["fsync"], f.values["full_page_writes"], commit, survives(g.Kill), survives(g.Power))
	if unlogged != nil {
		g.text += " Unlogged tables: " + strings.Join(unlogged, ", ") + "."
	}
	if g.Failover {
		g.text += " It survives the promotion of a synchronous standby."
	} else {
		g.text += " A standby that is promoted may lack the latest: uses that were spent and revocations may come back. Requests signed before the promotion are stale."
	}
	return g
}

func (f settings) guaranteeSQLite() Guarantee {
	mode, level := f.values["journal_mode"], f.values["synchronous"]
	g := Guarantee{Kill: f.values["file"] != "" && mode != "off" && mode != "memory"}
	// In WAL mode NORMAL does not wait for the disk. In the other modes it leaves a
	// small risk of a damaged file.
	g.Power = g.Kill && (level == "2" || level == "3")
	g.text = fmt.Sprintf("SQLite with journal_mode %s, synchronous %s: what was confirmed %s the end of the process and %s the loss of power. There is no failover: a copy put in place of the file brings back what it has.",
		mode, level, survives(g.Kill), survives(g.Power))
	return g
}

func survives(yes bool) string {
	if yes {
		return "survives"
	}
	return "may not survive"
}

// unlogged returns the names of the tables that PostgreSQL empties after a crash, beside
// {marks}, of which that is expected.
func (s *Store) unlogged(ctx context.Context) (names []string, err error) {
	if s.dialect != PostgreSQL {
		return nil, nil
	}
	for _, table := range tables {
		if table == "marks" {
			continue
		}
		name, lost := tableName(s.prefix, table), false
		err := s.find(ctx, "SELECT relpersistence <> 'p' FROM pg_class WHERE oid = $1::text::regclass", []any{name}, &lost)
		if err != nil {
			return nil, err
		}
		if lost {
			names = append(names, name)
		}
	}
	var logged bool
	err = s.find(ctx, "SELECT relpersistence = 'p' FROM pg_class WHERE oid = '{marks}'::regclass", nil, &logged)
	if err == nil && logged {
		err = fmt.Errorf("table %[1]s is not UNLOGGED, so a recovery would not begin an epoch: ALTER TABLE %[1]s SET UNLOGGED", tableName(s.prefix, "marks"))
	}
	return names, err
}

func olderThan(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	return a < major || a == major && b < minor
}
