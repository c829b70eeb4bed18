package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// TestK27AProcessOfTheServerIsKilled gives the role asynchronous commits after Open, and kills one
// process of PostgreSQL. The server recovers by itself, without what it had not flushed.
func TestK27AProcessOfTheServerIsKilled(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	server, err := startPostgres("-c", "fsync=on", "-c", "wal_writer_delay=10s")
	skipUninstalled(t, err)
	t.Cleanup(server.stop)
	open := func() *sqlstore.Store {
		return must(sqlstore.Open(t.Context(), openDB(t, "pgx", server.source), sqlstore.PostgreSQL, sqlstore.Options{}))(t)
	}
	db := openDB(t, "pgx", server.source)
	s := must(sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{}))(t)
	run(t, server.db, "ALTER ROLE test SET synchronous_commit = off")
	db.SetMaxIdleConns(0) // connect again
	afterEpoch()
	uses := make([]signing.Use, 100)
	for i := range uses {
		uses[i] = aUse()
		claims(t, "K27 first", s, uses[i], nil)
	}

	victim, other := must(server.db.Conn(t.Context()))(t), must(server.db.Conn(t.Context()))(t)
	defer victim.Close()
	defer other.Close()
	var pid int
	if err := victim.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	if !until(func() bool { return other.PingContext(t.Context()) != nil }) {
		t.Fatal("the server does not notice")
	}
	if err := server.await(); err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, u := range uses {
		if err := s.Replays().Claim(t.Context(), u); err == nil {
			accepted++
		} else if !errors.Is(err, signing.ErrStale) && !errors.Is(err, signing.ErrReplayed) {
			t.Fatal(err)
		}
	}
	if accepted > 0 {
		t.Errorf("K27: %d of %d requests were accepted twice", accepted, len(uses))
	}
	time.Sleep(5 * time.Millisecond)
	anew := aUse()
	claims(t, "signed anew", s, anew, nil)
	run(t, server.db, "ALTER ROLE test RESET synchronous_commit")
	claims(t, "by an instance that starts now", open(), anew, signing.ErrReplayed)

	run(t, server.db, "ALTER TABLE tenantkit_v9_marks SET LOGGED")
	_, err = sqlstore.Open(t.Context(), openDB(t, "pgx", server.source), sqlstore.PostgreSQL, sqlstore.Options{UnsafeDurability: true})
	if err == nil || !strings.Contains(err.Error(), "SET UNLOGGED") {
		t.Fatalf("Open without the unlogged table = %v", err)
	}
	_, remedy, _ := strings.Cut(err.Error(), "epoch: ")
	run(t, server.db, remedy)
	open()
}

// TestK28AHostVanishes cuts the network of a host after it has asked for a lock. The server sends
// the result, and waits for the rest of the transaction.
func TestK28AHostVanishes(t *testing.T) {
	h := newPostgresHome(t)
	near := h.store(t)
	record := func(subject string) token.Record {
		r := aToken()
		r.ClientKey, r.Subject = "app", subject
		return r
	}
	ann := aSession("ann")
	clientKey := newClientKey()
	for name, c := range map[string]struct {
		far, near func(context.Context, *sqlstore.Store) error
	}{
		"key pairs of any org": {
			func(ctx context.Context, s *sqlstore.Store) error {
				_, err := must(s.Keys())(t).Generate(ctx, "acme", newClientKey())
				return err
			},
			func(ctx context.Context, s *sqlstore.Store) error {
				err := must(s.Keys())(t).Delete(ctx, "globex", newClientKey())
				if errors.Is(err, token.ErrNotFound) {
					return nil
				}
				return err
			},
		},
		"tokens of a subject": {
			func(ctx context.Context, s *sqlstore.Store) error {
				return s.Ledger().Issue(ctx, record("ann"), nil, 10)
			},
			func(ctx context.Context, s *sqlstore.Store) error {
				return s.Ledger().Issue(ctx, record("ann"), nil, 10)
			},
		},
		"a subject's end": {
			func(ctx context.Context, s *sqlstore.Store) error {
				_, err := s.Ledger().RevokeSubject(ctx, record("bob").Holder())
				return err
			},
			func(ctx context.Context, s *sqlstore.Store) error {
				return s.Ledger().Issue(ctx, record("bob"), nil, 10)
			},
		},
		"sessions of an account": {
			func(ctx context.Context, s *sqlstore.Store) error { return s.Sessions().Create(ctx, ann, 3) },
			func(ctx context.Context, s *sqlstore.Store) error {
				return s.Sessions().Create(ctx, aSession("ann"), 3)
			},
		},
		"a credential": {
			func(ctx context.Context, s *sqlstore.Store) error {
				_, secret := signing.Generate()
				return must(s.Credentials())(t).Put(ctx, "acme", clientKey, secret, signature.Credential{})
			},
			func(ctx context.Context, s *sqlstore.Store) error {
				_, secret := signing.Generate()
				return must(s.Credentials())(t).Put(ctx, "acme", clientKey, secret, signature.Credential{})
			},
		},
		"the tables": {
			nil, // Open is the call
			func(ctx context.Context, _ *sqlstore.Store) error {
				_, err := sqlstore.Open(ctx, h.open(t), h.dialect, sqlstore.Options{Prefix: h.prefix + "new_"})
				return err
			},
		},
	} {
		t.Run("K28 "+name, func(t *testing.T) {
			t.Parallel()
			source := durablePostgres(t)
			address := strings.Split(strings.Split(source, "@")[1], "/")[0]
			p := startProxy(t, address)
			// Each statement is sent with its text, so that the proxy sees it.
			db := openDB(t, "pgx", strings.Replace(source, address, p.addr(), 1)+"&default_query_exec_mode=exec")
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			vanishes := func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				p.holeAt = []byte("pg_advisory_xact_lock")
			}
			var err error
			if name == "the tables" {
				vanishes()
				_, err = sqlstore.Open(ctx, db, h.dialect, sqlstore.Options{Prefix: h.prefix + "new_"})
			} else {
				far := h.storeIn(t, db)
				vanishes()
				err = c.far(ctx, far)
			}
			if err == nil {
				t.Fatal("the host has not vanished")
			}
			start := time.Now()
			ctx, cancel = context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if err := c.near(ctx, near); err != nil {
				t.Errorf("K28 another host, for %v: %v", time.Since(start).Round(time.Second), err)
			}
			t.Logf("another host waited for %v", time.Since(start).Round(10*time.Millisecond))
		})
	}
}

// TestK28AHostVanishesWithManyCalls has calls of a host that wait for one lock when it vanishes. Each
// of them gets the lock in its turn, unless the server ends its wait.
func TestK28AHostVanishesWithManyCalls(t *testing.T) {
	leftToTheGate(t)
	h := newPostgresHome(t)
	near, db := must(h.store(t).Keys())(t), h.open(t)
	source := durablePostgres(t)
	address := strings.Split(strings.Split(source, "@")[1], "/")[0]
	p := startProxy(t, address)
	many := openDB(t, "pgx", strings.Replace(source, address, p.addr(), 1))
	const calls = 12
	many.SetMaxOpenConns(calls)
	far := must(h.storeIn(t, many).Keys())(t)

	tx := must(db.BeginTx(t.Context(), nil))(t)
	defer tx.Rollback()
	must(tx.Exec("LOCK TABLE " + h.prefix + "keys"))(t) // one call waits for it, and the others for that call
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range calls {
		all.Go(func() { far.Delete(ctx, "acme", newClientKey()) })
	}
	const wait = "SELECT count(*) = $1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
	if !until(func() (yes bool) { return db.QueryRow(wait, calls-1).Scan(&yes) == nil && yes }) {
		t.Fatal("they do not wait")
	}
	p.set(true, 0)
	expect(t, "the one that held the table", tx.Commit(), nil)
	start := time.Now()
	within, end := context.WithTimeout(t.Context(), 15*time.Second)
	defer end()
	if err := near.Delete(within, "globex", newClientKey()); !errors.Is(err, token.ErrNotFound) {
		t.Errorf("K28 another host, for %v: %v", time.Since(start).Round(time.Second), err)
	}
	t.Logf("another host waited for %v", time.Since(start).Round(10*time.Millisecond))
}

// TestK29DeleteOrgBesideAnother runs beside a call that has deleted the first thousand rows of a table,
// and has not committed. No row is left when it returns.
func TestK29DeleteOrgBesideAnother(t *testing.T) {
	h := newPostgresHome(t)
	s, db, ctx := h.store(t), h.open(t), t.Context()
	for table, c := range map[string]struct{ insert, condition string }{
		"ledger":   {`(client_key, id, subject, key_id, uses, max_uses, issued, org) SELECT 'app', i::text, 'ann', 'kid', 0, 0, 1, 'acme'`, "true"},
		"sessions": {`(hash, id, org, account, ticket, created, authenticated, seen, expires, address, agent, remember, proof, origin, replaced) SELECT sha256(i::text::bytea), i::text, 'acme', 'ann', '', 1, 1, 1, 1 << 42, '', '', 0, '', '', i % 2`, "replaced = 0"},
		"factors":  {`(org, account, version, sealed, step, recovery) SELECT 'acme', i::text, 1, '', 0, ''`, "true"},
	} {
		t.Run("K29 "+table, func(t *testing.T) {
			run(t, db, "INSERT INTO "+h.prefix+table+" "+c.insert+" FROM generate_series(1, 5000) AS i")
			tx := must(db.BeginTx(ctx, nil))(t)
			defer tx.Rollback()
			must(tx.Exec(fmt.Sprintf("DELETE FROM %[1]s WHERE ctid IN (SELECT ctid FROM %[1]s WHERE org = 'acme' AND %s LIMIT 1500)", h.prefix+table, c.condition)))(t)
			done := make(chan error, 1)
			go func() { done <- s.DeleteOrg(ctx, "acme") }()
			waitsFor(t, db, "DELETE FROM "+h.prefix+table)
			expect(t, "the other one", tx.Commit(), nil)
			expect(t, "DeleteOrg", <-done, nil)
			if n := h.held(t, db, table); n != 0 {
				t.Errorf("K29: DeleteOrg returned nil, and %d rows are left", n)
			}
		})
	}
}

// TestOpenLogsNoError reads the server's log of the first Open, and of the next.
func TestOpenLogsNoError(t *testing.T) {
	h := newPostgresHome(t)
	before := len(logged(t))
	for range 2 {
		h.store(t)
	}
	for line := range strings.Lines(string(logged(t)[before:])) {
		if strings.Contains(line, "ERROR") && strings.Contains(line, h.prefix) {
			t.Error(line)
		}
	}
}

// TestAnEpochWhateverTheSettings has instances whose connections print numbers and times in other
// forms. They share the epoch.
func TestAnEpochWhateverTheSettings(t *testing.T) {
	h := newPostgresHome(t)
	first := h.store(t)
	afterEpoch()
	u := aUse()
	time.Sleep(5 * time.Millisecond)
	for _, setting := range []string{"extra_float_digits=-15", "extra_float_digits=3", "TimeZone=Asia/Kolkata", "DateStyle=German", "IntervalStyle=iso_8601"} {
		second := h.storeIn(t, openDB(t, "pgx", durablePostgres(t)+"&"+setting))
		other := aUse()
		other.Signed = u.Signed
		claims(t, setting, second, other, nil)
	}
	claims(t, "by the first instance", first, u, nil)
}

// TestK31CreateBesideReplace creates a session with the hash that a concurrent Replace takes away.
// See storetest for the same on every engine; here the order is certain.
func TestK31CreateBesideReplace(t *testing.T) {
	h := newPostgresHome(t)
	s, db, ctx := h.store(t).Sessions(), h.open(t), t.Context()
	for _, limit := range []int{0, 3} {
		t.Run(fmt.Sprint("K31 limit ", limit), func(t *testing.T) {
			account := fmt.Sprint("ann", limit)
			one, next, second := aSession(account), aSession(account), aSession(account)
			second.Hash = one.Hash
			expect(t, "Create", s.Create(ctx, one, 0), nil)
			tx := must(db.BeginTx(ctx, nil))(t)
			defer tx.Rollback()
			must(tx.Exec("UPDATE "+h.prefix+"sessions SET hash = $2, previous = $1 WHERE hash = $1", one.Hash[:], next.Hash[:]))(t)
			done := make(chan error, 1)
			go func() { done <- s.Create(ctx, second, limit) }()
			time.Sleep(300 * time.Millisecond) // it waits for the transaction, or has returned
			expect(t, "Replace", tx.Commit(), nil)
			if err := <-done; err == nil {
				t.Error("K31: two sessions of one token")
			}
			var list []session.Session = must(s.List(ctx, "acme", account))(t)
			if len(list) != 1 {
				t.Errorf("%d sessions", len(list))
			}
		})
	}
}

// waitsFor returns once a statement that contains a text waits for a lock.
func waitsFor(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	const waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'"
	if !until(func() (yes bool) { return db.QueryRow(waits, text).Scan(&yes) == nil && yes }) {
		t.Fatalf("no %s waits", text)
	}
}

// TestVerbsAreOneStep holds a row that a verb needs, while another verb runs from its begin to its
// end. One order of the two must explain both.
func TestVerbsAreOneStep(t *testing.T) {
	h := newPostgresHome(t)
	s, db, ctx := h.store(t), h.open(t), t.Context()
	hold := func(t *testing.T, table, id string) (release func()) {
		t.Helper()
		tx := must(db.BeginTx(ctx, nil))(t)
		t.Cleanup(func() { tx.Rollback() })
		must(tx.Exec("SELECT 1 FROM "+h.prefix+table+" WHERE id = $1 FOR UPDATE", id))(t)
		return func() { expect(t, "Commit", tx.Commit(), nil) }
	}
	// within reports whether a call returns before the other one, which waits.
	within := func(t *testing.T, call func(context.Context) error) bool {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		err := call(ctx)
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		return err == nil
	}
	t.Run("a login while all sessions end", func(t *testing.T) {
		first, login := aSession("ann"), aSession("ann")
		first.Ticket = "code" // which makes no room for a session: the login does not wait for it
		expect(t, "Create", s.Sessions().Create(ctx, first, 9), nil)
		release := hold(t, "sessions", first.ID)
		done := make(chan error, 1)
		go func() {
			_, err := s.Sessions().DeleteAll(ctx, "acme", "ann", "")
			done <- err
		}()
		waitsFor(t, db, "DELETE FROM "+h.prefix+"sessions")
		before := within(t, func(ctx context.Context) error { return s.Sessions().Create(ctx, login, 9) })
		release()
		expect(t, "DeleteAll", <-done, nil)
		if list := must(s.Sessions().List(ctx, "acme", "ann"))(t); before && len(list) > 0 {
			t.Error("a login that began and ended during DeleteAll survives it")
		}
	})
	t.Run("a logout while a login makes room", func(t *testing.T) {
		first, second, login := aSession("bob"), aSession("bob"), aSession("bob")
		second.Created, login.Created = first.Created.Add(time.Second), first.Created.Add(2*time.Second)
		expect(t, "Create", s.Sessions().Create(ctx, first, 2), nil)
		expect(t, "Create", s.Sessions().Create(ctx, second, 2), nil)
		release := hold(t, "sessions", first.ID)
		done := make(chan error, 1)
		go func() { done <- s.Sessions().Create(ctx, login, 2) }()
		waitsFor(t, db, "SELECT count(*) FROM (SELECT 1 FROM "+h.prefix+"sessions")
		before := within(t, func(ctx context.Context) error { return s.Sessions().Delete(ctx, second.Org, second.Hash) })
		release()
		expect(t, "Create", <-done, nil)
		if _, err := s.Sessions().Get(ctx, first.Org, first.Hash); before && err != nil {
			t.Errorf("the logout had made room, and another session: %v", err)
		}
	})
	t.Run("a use while a login makes room", func(t *testing.T) {
		first, second, login := aSession("dan"), aSession("dan"), aSession("dan")
		second.Created, second.Seen = first.Created.Add(time.Second), first.Seen.Add(time.Second)
		expect(t, "Create", s.Sessions().Create(ctx, first, 2), nil)
		expect(t, "Create", s.Sessions().Create(ctx, second, 2), nil)
		tx := must(db.Begin())(t)
		defer tx.Rollback()
		must(tx.Exec("UPDATE "+h.prefix+"sessions SET seen = $2 WHERE id = $1", first.ID, second.Seen.Add(time.Second).UnixMilli()))(t)
		done := make(chan error, 1)
		go func() { done <- s.Sessions().Create(ctx, login, 2) }()
		waitsFor(t, db, "SELECT count(*) FROM (SELECT 1 FROM "+h.prefix+"sessions")
		expect(t, "commit", tx.Commit(), nil)
		expect(t, "Create", <-done, nil)
		_, err := s.Sessions().Get(ctx, first.Org, first.Hash)
		expect(t, "the session that was used last", err, nil)
		_, err = s.Sessions().Get(ctx, second.Org, second.Hash)
		expect(t, "the other one", err, session.ErrEvicted)
	})
	t.Run("the last use of a token while its subject ends", func(t *testing.T) {
		first, last := aToken(), aToken()
		first.ClientKey, first.Subject, first.ID = "app", "cay", "0"
		last.ClientKey, last.Subject, last.ID, last.MaxUses = "app", "cay", "1", 1
		expect(t, "Issue", s.Ledger().Issue(ctx, first, nil, 9), nil)
		expect(t, "Issue", s.Ledger().Issue(ctx, last, nil, 9), nil)
		release := hold(t, "ledger", first.ID)
		done := make(chan int, 1)
		go func() {
			n, err := s.Ledger().RevokeSubject(ctx, first.Holder())
			expect(t, "RevokeSubject", err, nil)
			done <- n
		}()
		waitsFor(t, db, h.prefix+"ledger")
		used := within(t, func(ctx context.Context) error { return spend(ctx, s.Ledger(), last) })
		release()
		if n := <-done; used && n != 1 {
			t.Errorf("%d were live, one of them used up before", n)
		}
	})
}

// TestWritesSweepUnderLoad has an engine that deletes slowly, and requests that end at once. Rows of
// each kind are deleted nevertheless.
func TestWritesSweepUnderLoad(t *testing.T) {
	h := newPostgresHome(t)
	s, db := h.store(t), h.open(t)
	run(t, db, "INSERT INTO "+h.prefix+"replays (id, keep, uses, began, engine) SELECT sha256(i::text::bytea), 1, 1, 1, '' FROM generate_series(1, 3000) AS i")
	run(t, db, "INSERT INTO "+h.prefix+"former_keys (key_id, client_key, present, public, ends) SELECT i::text, '', '', '', 1 FROM generate_series(1, 300) AS i")
	run(t, db, "CREATE FUNCTION "+h.prefix+"slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.0003); RETURN old; END'")
	run(t, db, "CREATE TRIGGER slow BEFORE DELETE ON "+h.prefix+"replays FOR EACH ROW EXECUTE FUNCTION "+h.prefix+"slow()")
	expired := func() (replays, keys int) {
		query := fmt.Sprintf("SELECT (SELECT count(*) FROM %[1]sreplays WHERE keep = 1), (SELECT count(*) FROM %[1]sformer_keys)", h.prefix)
		if err := db.QueryRow(query).Scan(&replays, &keys); err != nil {
			t.Fatal(err)
		}
		return replays, keys
	}
	claim := func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		expect(t, "Claim", s.Replays().Claim(ctx, aUse()), nil)
	}
	for range 2 * 256 {
		claim()
	}
	more := 0
	deleted := until(func() bool {
		if more++; more <= 256 { // on a slow machine, the time of the first sweep may end too soon
			claim()
		}
		replays, keys := expired()
		return replays <= 2000 && keys == 0
	})
	if !deleted {
		replays, keys := expired()
		t.Errorf("after 768 writes, %d of 3000 replays and %d of 300 former keys are left", replays, keys)
	}
	nothingRuns(t, "auth/sqlstore")
}
