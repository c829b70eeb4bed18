package enginetest

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/redisstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
)

// warned returns what a call logs by slog.
func warned(call func()) string {
	previous, log := slog.Default(), new(bytes.Buffer)
	slog.SetDefault(slog.New(slog.NewTextHandler(log, nil)))
	defer slog.SetDefault(previous)
	call()
	return log.String()
}

// TestK04OpenOfAServerWithStandbys opens a primary and its standby.
func TestK04OpenOfAServerWithStandbys(t *testing.T) {
	primary, err := startPostgres("-c", "fsync=on", "-c", "wal_level=logical")
	skipUninstalled(t, err)
	t.Cleanup(primary.stop)
	open := func(s *server, parameters string) (log string, err error) {
		log = warned(func() {
			_, err = sqlstore.Open(t.Context(), openDB(t, "pgx", s.source+parameters), sqlstore.PostgreSQL, sqlstore.Options{})
		})
		return log, err
	}
	accepts := func(what string, warns bool) {
		t.Helper()
		log, err := open(primary, "")
		expect(t, what, err, nil)
		if strings.Contains(log, "synchronous_standby_names") != warns {
			t.Errorf("K04 %s: logged %q", what, log)
		}
	}
	// shows waits until the server shows rows of replication.
	shows := func(condition string) {
		t.Helper()
		if !until(func() (yes bool) {
			return primary.db.QueryRow("SELECT count(*) > 0 FROM pg_stat_replication WHERE "+condition).Scan(&yes) == nil && yes
		}) {
			t.Fatal("nothing with " + condition)
		}
	}
	accepts("alone", false)
	run(t, primary.db, "SELECT pg_create_logical_replication_slot('subscriber', 'test_decoding')")
	subscriber := primary.command(must(unprivileged())(t), filepath.Join(must(postgresBin())(t), "pg_recvlogical"),
		"-d", primary.source, "--slot", "subscriber", "--start", "-f", filepath.Join(primary.folder, "changes"))
	expect(t, "subscriber", subscriber.Start(), nil)
	t.Cleanup(func() { subscriber.Process.Kill(); subscriber.Wait() })
	shows("state = 'streaming'")
	accepts("with a subscriber, which cannot take over", false)

	standby := newStandby(t)
	standby.follow(t, primary)
	shows("application_name = 'walreceiver'")
	accepts("with an asynchronous standby", true)
	run(t, primary.db, "CREATE ROLE application LOGIN")
	run(t, primary.db, "GRANT ALL ON SCHEMA public TO application")
	if log, _ := open(&server{source: strings.Replace(primary.source, "test@", "application@", 1)}, ""); !strings.Contains(log, "synchronous_standby_names") {
		t.Errorf("K04 by a role without rights to see it: logged %q", log)
	}
	for _, o := range []sqlstore.Options{{}, {UnsafeDurability: true}} {
		var wrong *auth.SettingError
		if _, err := sqlstore.Open(t.Context(), standby.db, sqlstore.PostgreSQL, o); !errors.As(err, &wrong) || wrong.Setting != "recovery" {
			t.Errorf("K04 the standby: %v", err)
		}
	}
	run(t, primary.db, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	run(t, primary.db, "SELECT pg_reload_conf()")
	shows("sync_state = 'sync'")
	accepts("with a synchronous standby", false)
	if _, err := open(primary, "&synchronous_commit=local"); err == nil || !strings.Contains(err.Error(), "synchronous_commit is local") {
		t.Errorf("K04 with commits that do not wait for the standby: %v", err)
	}
}

// TestK05OpenOfAServerWithReplicas opens a primary of Redis, and its replica.
func TestK05OpenOfAServerWithReplicas(t *testing.T) {
	primary := startRedis(t, "--repl-diskless-sync-delay", "0")
	accepts := func(what string, warns bool) {
		t.Helper()
		var err error
		log := warned(func() { _, err = redisstore.Open(t.Context(), dial(t, primary.addr()), redisstore.Options{}) })
		expect(t, what, err, nil)
		if strings.Contains(log, "min-replicas-to-write") != warns {
			t.Errorf("K05 %s: logged %q", what, log)
		}
	}
	accepts("alone", false)
	replica := startRedis(t, "--replicaof", "127.0.0.1 "+primary.port)
	if !until(func() bool {
		return strings.Contains(primary.command(t, "INFO", "replication").(string), "state=online")
	}) {
		t.Fatal("the replica does not connect")
	}
	accepts("with a replica", true)
	primary.command(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	accepts("with a bound", false)
	for _, o := range []redisstore.Options{{}, {UnsafeNoAppendOnly: true, UnsafeEviction: true, UnsafeUnknown: true}} {
		var wrong *auth.SettingError
		if _, err := redisstore.Open(t.Context(), dial(t, replica.addr()), o); !errors.As(err, &wrong) || wrong.Setting != "role" {
			t.Errorf("K05 the replica: %v", err)
		}
	}
}
