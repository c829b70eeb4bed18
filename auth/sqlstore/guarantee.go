package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Guarantee is what becomes of what a store has confirmed, by the settings that
// Open has found. Settings changed afterwards are not noticed.
type Guarantee struct {
	Kill     bool // it survives the end of the engine's process
	Power    bool // it survives the loss of power
	Failover bool // it survives the promotion of a standby

	text string
}

// String returns it in a few sentences, fit for a log.
func (g Guarantee) String() string { return g.text }

// Guarantee returns what the store promises.
func (s *Store) Guarantee() Guarantee { return s.guarantee }

// settings are what an engine has answered, by name.
type settings struct {
	dialect Dialect
	is      map[string]string
}

func (s *Store) probe(ctx context.Context) (settings, error) {
	if s.dialect == PostgreSQL {
		return s.probePostgres(ctx)
	}
	return s.probeSQLite(ctx)
}

func (s *Store) probePostgres(ctx context.Context) (settings, error) {
	found := settings{PostgreSQL, map[string]string{}}
	rows, err := s.db.QueryContext(ctx, `
		SELECT name, setting FROM pg_settings WHERE name IN ('server_version_num', 'fsync', 'full_page_writes',
			'synchronous_commit', 'synchronous_standby_names', 'default_transaction_isolation', 'default_transaction_read_only')
		UNION ALL SELECT 'recovery', pg_is_in_recovery()::text`)
	if err != nil {
		return found, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, setting string
		if err := rows.Scan(&name, &setting); err != nil {
			return found, err
		}
		found.is[name] = setting
	}
	return found, rows.Err()
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
		err := s.read(ctx, func(q querier) error { return q.QueryRowContext(ctx, query).Scan(&setting) })
		if err != nil {
			return found, err
		}
		found.is[name] = strings.ToLower(setting)
	}
	return found, nil
}

// refusal says why a store may not work over an engine with the settings.
func (f settings) refusal(undurable bool) error {
	if err := f.unfit(); err != nil {
		return err
	}
	if lossy := f.lossy(); lossy != "" && !undurable {
		return fmt.Errorf("%s, or set UnsafeDurability", lossy)
	}
	return nil
}

// unfit says what no option allows.
func (f settings) unfit() error {
	if f.dialect == SQLite {
		if olderThan(f.is["version"], 3, 42) {
			return fmt.Errorf("SQLite %s is older than 3.42", f.is["version"])
		}
		return nil
	}
	version, _ := strconv.Atoi(f.is["server_version_num"])
	switch {
	case version < 12_00_00:
		return errors.New("PostgreSQL is older than 12")
	case f.is["recovery"] == "true":
		return errors.New("the server is a standby (pg_is_in_recovery), which lags behind and cannot write: connect to the primary, as with target_session_attrs=read-write")
	case f.is["default_transaction_read_only"] == "on":
		return errors.New("default_transaction_read_only is on: set it to off for this role or connection")
	case f.is["default_transaction_isolation"] != "read committed":
		return fmt.Errorf("default_transaction_isolation is %q, under which claims at once fail: set it to 'read committed' for this role or connection",
			f.is["default_transaction_isolation"])
	}
	return nil
}

// lossy says what loses what was confirmed, and how to put it right; or "".
func (f settings) lossy() string {
	if f.dialect == SQLite {
		switch {
		case f.is["file"] == "":
			return "the database is in memory: open a file"
		case f.is["synchronous"] == "0":
			return "synchronous is OFF: run PRAGMA synchronous = FULL on each connection, best by the data source name"
		case f.is["journal_mode"] == "off", f.is["journal_mode"] == "memory":
			return "journal_mode is " + strings.ToUpper(f.is["journal_mode"]) + ": run PRAGMA journal_mode = WAL"
		}
		return ""
	}
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		if f.is[setting] == "off" {
			return setting + " is off: set it to on in postgresql.conf, for this role or for this connection"
		}
	}
	return ""
}

func (f settings) guarantee(unlogged []string) Guarantee {
	if f.dialect == SQLite {
		return f.guaranteeSQLite()
	}
	commit := f.is["synchronous_commit"]
	g := Guarantee{
		// Other processes of the server end with the one that is killed, and
		// what was not written yet with their memory.
		Kill:  commit != "off" && unlogged == nil,
		Power: f.lossy() == "" && unlogged == nil,
	}
	g.Failover = g.Power && f.is["synchronous_standby_names"] != "" && (commit == "on" || commit == "remote_apply")
	g.text = fmt.Sprintf("PostgreSQL with fsync %s, full_page_writes %s, synchronous_commit %s: what was confirmed %s the end of its processes and %s the loss of power.",
		f.is["fsync"], f.is["full_page_writes"], commit, survives(g.Kill), survives(g.Power))
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
	mode, level := f.is["journal_mode"], f.is["synchronous"]
	g := Guarantee{Kill: f.is["file"] != "" && mode != "off" && mode != "memory"}
	// NORMAL does not wait for the disk in WAL mode, and leaves a small chance of
	// damage in the others.
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

// unlogged returns which of the tables a crash of PostgreSQL empties.
func (s *Store) unlogged(ctx context.Context) (names []string, err error) {
	if s.dialect != PostgreSQL {
		return nil, nil
	}
	for _, table := range tables {
		var lost bool
		err := s.db.QueryRowContext(ctx, "SELECT relpersistence <> 'p' FROM pg_class WHERE oid = $1::text::regclass", s.prefix+table).Scan(&lost)
		if err != nil {
			return nil, err
		}
		if lost {
			names = append(names, s.prefix+table)
		}
	}
	return names, nil
}

func olderThan(version string, major, minor int) bool {
	first, rest, _ := strings.Cut(version, ".")
	second, _, _ := strings.Cut(rest, ".")
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	return a < major || a == major && b < minor
}
