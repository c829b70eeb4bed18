package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// TestPostgresThatFails kills its own server, and makes a standby of it.
func TestPostgresThatFails(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	server, err := startPostgres("-c", "fsync=on", "-c", "wal_sender_timeout=1s")
	skipUninstalled(t, err)
	t.Cleanup(server.stop)
	s, err := sqlstore.Open(t.Context(), server.db, sqlstore.PostgreSQL, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := aToken()
	r.MaxUses = 2
	restart := func(signal syscall.Signal) {
		t.Helper()
		server.process.Process.Signal(signal)
		server.process.Wait()
		// The children notice the end of their parent a moment later.
		until(func() bool { return s.Replays().Claim(t.Context(), aUse()) != nil })
		server.awaitEnd(t)
		if err := s.Replays().Claim(t.Context(), aUse()); !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, signing.ErrStale) {
			t.Errorf("Claim while the server is down = %v", err)
		}
		if err := spend(t.Context(), s.Ledger(), r); !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, token.ErrRevoked) || errors.Is(err, token.ErrExhausted) {
			t.Errorf("Spend while the server is down = %v", err)
		}
		if err := server.again(); err != nil {
			t.Fatal(err)
		}
	}
	// staleOnce expects that no request signed before is accepted.
	staleOnce := func(t *testing.T, captured, unseen signing.Use) {
		t.Helper()
		claims(t, "captured", s, captured, signing.ErrStale)
		claims(t, "signed before", s, unseen, signing.ErrStale)
		time.Sleep(5 * time.Millisecond)
		claims(t, "signed anew", s, aUse(), nil)
	}
	if err := s.Ledger().Issue(t.Context(), r, nil, 10); err != nil {
		t.Fatal(err)
	}

	t.Run("K04 a process of the server that is stopped", func(t *testing.T) {
		db := openDB(t, "pgx", server.source)
		db.SetMaxOpenConns(1)
		var pid int
		if err := db.QueryRow("SELECT pg_backend_pid()").Scan(&pid); err != nil {
			t.Fatal(err)
		}
		s, err := sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		u := aUse()
		syscall.Kill(pid, syscall.SIGSTOP)
		unknownWithin(t, s, u)
		syscall.Kill(pid, syscall.SIGCONT)
		// The claim may have been recorded: the client signs again.
		claims(t, "signed anew", s, aUse(), nil)
	})
	t.Run("K04 an exhausted pool", func(t *testing.T) {
		db := openDB(t, "pgx", server.source)
		s, err := sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(2)
		var held []*sql.Conn
		for range 2 {
			conn, err := db.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, conn)
		}
		time.Sleep(5 * time.Millisecond)
		u := aUse()
		unknownWithin(t, s, u)
		for _, conn := range held {
			conn.Close()
		}
		claims(t, "the same, which never came to the server", s, u, nil)
	})
	t.Run("N13 K04 killed and started again", func(t *testing.T) {
		captured := aUse()
		claims(t, "first", s, captured, nil)
		if err := spend(t.Context(), s.Ledger(), r); err != nil {
			t.Fatal(err)
		}
		unseen := aUse()
		restart(syscall.SIGKILL)
		staleOnce(t, captured, unseen)
		if err := spend(t.Context(), s.Ledger(), r); err != nil {
			t.Errorf("second use = %v", err)
		}
		if err := spend(t.Context(), s.Ledger(), r); !errors.Is(err, token.ErrExhausted) {
			t.Errorf("third use = %v, want ErrExhausted", err)
		}
	})
	t.Run("N13 an unlogged table emptied by a crash", func(t *testing.T) {
		if _, err := server.db.Exec("ALTER TABLE " + tablesOf("tenantkit_") + "replays SET UNLOGGED"); err != nil {
			t.Fatal(err)
		}
		_, err := sqlstore.Open(t.Context(), server.db, sqlstore.PostgreSQL, sqlstore.Options{})
		if err == nil || !strings.Contains(err.Error(), "SET LOGGED") {
			t.Errorf("K04 Open over an unlogged table = %v", err)
		}
		if _, err := sqlstore.Open(t.Context(), server.db, sqlstore.PostgreSQL, sqlstore.Options{UnsafeDurability: true}); err != nil {
			t.Errorf("Open asked by the Unsafe name = %v", err)
		}
		time.Sleep(5 * time.Millisecond)
		captured := aUse()
		claims(t, "first", s, captured, nil)
		restart(syscall.SIGKILL)
		var rows int
		if err := server.db.QueryRow("SELECT count(*) FROM " + tablesOf("tenantkit_") + "replays").Scan(&rows); err != nil || rows != 0 {
			t.Fatalf("%d rows are left, %v", rows, err)
		}
		staleOnce(t, captured, aUseBefore(captured))
		if _, err := server.db.Exec("ALTER TABLE " + tablesOf("tenantkit_") + "replays SET LOGGED"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("N13 K04 a standby, and its promotion", func(t *testing.T) {
		time.Sleep(5 * time.Millisecond)
		captured := aUse()
		claims(t, "first", s, captured, nil)
		if err := os.WriteFile(filepath.Join(server.folder, "data", "standby.signal"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		restart(syscall.SIGINT)
		for _, undurable := range []bool{false, true} {
			_, err := sqlstore.Open(t.Context(), server.db, sqlstore.PostgreSQL, sqlstore.Options{UnsafeDurability: undurable})
			if err == nil || !strings.Contains(err.Error(), "standby") {
				t.Errorf("Open over a standby = %v", err)
			}
		}
		if err := s.Replays().Claim(t.Context(), aUse()); err == nil || errors.Is(err, signing.ErrStale) {
			t.Errorf("Claim on a standby = %v", err)
		}
		if _, err := server.db.Exec("SELECT pg_promote()"); err != nil {
			t.Fatal(err)
		}
		staleOnce(t, captured, aUseBefore(captured))
	})
}

// unknownWithin expects that a claim ends with its context, and neither accepts nor refuses.
func unknownWithin(t *testing.T, s *sqlstore.Store, u signing.Use) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := s.Replays().Claim(ctx, u)
	if err == nil || errors.Is(err, signing.ErrReplayed) || errors.Is(err, signing.ErrStale) {
		t.Errorf("Claim = %v, want that of the context", err)
	}
	if took := time.Since(start); took > late {
		t.Errorf("returned after %v", took)
	}
}

// awaitEnd returns once no child of a killed server uses its shared memory any more. Until then no
// new server can start.
func (s *server) awaitEnd(t testing.TB) {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(s.folder, "data", "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return // The server has shut down normally.
	}
	memory := regexp.MustCompile(`(?m)^ *\d+ +(\d+)$`).FindSubmatch(lines)
	if err != nil || memory == nil {
		t.Fatalf("postmaster.pid: %q, %v", lines, err)
	}
	// Key, id, permissions, size, two processes, number of attached processes.
	attached := regexp.MustCompile(`(?m)^ *-?\d+ +` + string(memory[1]) + ` +\d+ +\d+ +\d+ +\d+ +[1-9]`)
	if !until(func() bool {
		segments, err := os.ReadFile("/proc/sysvipc/shm")
		return err != nil || !attached.Match(segments)
	}) {
		t.Fatal("children of the server do not end")
	}
}

// TestCallsEndWithTheirContext lets another client hold the lock.
func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run("N11 "+h.name, func(t *testing.T) {
			s := h.store(t)
			other, err := h.open(t).Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			lock := "BEGIN IMMEDIATE"
			if h.dialect == sqlstore.PostgreSQL {
				lock = "BEGIN; LOCK TABLE " + h.prefix + "replays, " + h.prefix + "ledger, " + h.prefix + "sessions, " + h.prefix + "attempts"
			}
			if _, err := other.ExecContext(t.Context(), lock); err != nil {
				t.Fatal(err)
			}
			u, r := aUse(), aToken()
			for name, call := range map[string]func(context.Context) error{
				"Claim":  func(ctx context.Context) error { return s.Replays().Claim(ctx, u) },
				"Issue":  func(ctx context.Context) error { return s.Ledger().Issue(ctx, r, nil, 1) },
				"Revoke": func(ctx context.Context) error { return s.Ledger().Revoke(ctx, r.Holder(), r.ID) },
				"Swap": func(ctx context.Context) error {
					_, err := s.Attempts().Swap(ctx, "acme", "key", "", "1")
					return err
				},
				"Sweep": s.Sweep,
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				start := time.Now()
				err := call(ctx)
				cancel()
				if took := time.Since(start); took > late {
					t.Errorf("%s returned after %v", name, took)
				}
				for _, sentinel := range []error{nil, signing.ErrReplayed, signing.ErrStale, token.ErrTooMany, token.ErrNotFound} {
					if errors.Is(err, sentinel) {
						t.Errorf("%s = %v", name, err)
					}
				}
			}
			if _, err := other.ExecContext(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
			// A call that the lock refused has changed nothing.
			claims(t, "afterwards", s, u, nil)
			if err := s.Ledger().Issue(t.Context(), r, nil, 1); err != nil {
				t.Errorf("Issue afterwards = %v", err)
			}
		})
	}
}

// TestPostgresStandbyIsPromoted has a standby that runs beside its primary and then takes its place. The
// epoch's row is replicated.
func TestPostgresStandbyIsPromoted(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	primary, err := startPostgres("-c", "fsync=on")
	skipUninstalled(t, err)
	t.Cleanup(primary.stop)
	standby := newStandby(t)
	db := openDB(t, "pgx", bothOf(primary, standby))
	db.SetMaxIdleConns(0)
	s := must(sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{}))(t)
	afterEpoch()
	captured := aUse()
	claims(t, "first", s, captured, nil)
	standby.follow(t, primary)
	later := aUse()
	claims(t, "beside the standby", s, later, nil)
	if !until(func() (replicated bool) {
		return standby.db.QueryRow("SELECT count(*) = 5 FROM tenantkit_v9_replays").Scan(&replicated) == nil && replicated
	}) {
		t.Fatal("not replicated")
	}
	primary.halt()
	if _, err := standby.db.Exec("SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	claims(t, "captured", s, captured, signing.ErrStale)
	claims(t, "captured later", s, later, signing.ErrStale)
	time.Sleep(5 * time.Millisecond)
	anew := aUse()
	claims(t, "signed anew", s, anew, nil)
	claims(t, "replayed", s, anew, signing.ErrReplayed)
}

// newStandby returns a server that has a port and is not started yet.
func newStandby(t *testing.T) *server {
	t.Helper()
	s := &server{folder: t.TempDir(), source: "postgres://test@127.0.0.1:" + must(freePort())(t) + "/postgres?sslmode=disable"}
	account := must(unprivileged())(t)
	for folder := s.folder; account != nil && len(folder) > len(os.TempDir()); folder = filepath.Dir(folder) {
		os.Chown(folder, int(account.Uid), int(account.Gid))
	}
	return s
}

// bothOf is the source of whichever of two servers takes writes.
func bothOf(one, other *server) string {
	_, at, _ := strings.Cut(other.source, "@")
	at, _, _ = strings.Cut(at, "/")
	return strings.Replace(one.source, "/postgres?", ","+at+"/postgres?", 1) + "&target_session_attrs=read-write"
}

// follow copies a primary, and starts the standby.
func (s *server) follow(t *testing.T, primary *server, flags ...string) {
	t.Helper()
	bin, account, data := must(postgresBin())(t), must(unprivileged())(t), filepath.Join(s.folder, "data")
	copied := s.command(account, filepath.Join(bin, "pg_basebackup"), "-D", data, "-d", primary.source, "-R", "--checkpoint=fast")
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Cleanup(s.halt)
	_, port, _ := strings.Cut(s.source, "127.0.0.1:")
	port, _, _ = strings.Cut(port, "/")
	if err := s.launch(s.command(account, filepath.Join(bin, "postgres"), append([]string{"-D", data, "-p", port, "-k", s.folder, "-c", "listen_addresses=127.0.0.1"}, flags...)...)); err != nil {
		t.Fatal(err)
	}
}
