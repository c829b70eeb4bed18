package enginetest

import (
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore/pgxtx"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// embedded is a home with a table of the application.
type embedded struct {
	home
	*sqlstore.Store
	db *sql.DB
}

func newEmbedded(t testing.TB, h home) *embedded {
	t.Helper()
	e := &embedded{home: h, db: h.open(t)}
	e.Store = h.storeIn(t, e.db)
	if h.dialect == sqlstore.SQLite {
		e.db = openDB(t, "sqlite", fileOf(t, e.db)+"?_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	}
	if _, err := e.db.Exec("CREATE TABLE IF NOT EXISTS " + h.prefix + "app (id TEXT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	return e
}

// fileOf returns the file of a SQLite database as a data source name.
func fileOf(t testing.TB, db *sql.DB) string {
	t.Helper()
	var file string
	if err := db.QueryRow("SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&file); err != nil {
		t.Fatal(err)
	}
	return "file:" + file
}

func (e *embedded) begin(t testing.TB) *sql.Tx {
	t.Helper()
	tx, err := e.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tx.Rollback() })
	return tx
}

func (e *embedded) put(t testing.TB, tx sqlstore.Tx, id string) {
	t.Helper()
	if _, err := tx.ExecContext(context.WithoutCancel(t.Context()), "INSERT INTO "+e.prefix+"app (id) VALUES ($1)", id); err != nil {
		t.Fatal(err)
	}
}

func (e *embedded) has(t testing.TB, id string) bool {
	t.Helper()
	var n int
	if err := e.db.QueryRow("SELECT count(*) FROM "+e.prefix+"app WHERE id = $1", id).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n == 1
}

// verbs are what can be done in a transaction, and whether it was done. Each begins with an
// organization of its own.
type verb struct {
	name    string
	prepare func(*testing.T, *embedded, auth.OrgKey)
	run     func(context.Context, *sqlstore.In, auth.OrgKey) error
	done    func(*testing.T, *embedded, auth.OrgKey) bool
}

func recordOf(org auth.OrgKey, id string) token.Record {
	return token.Record{ID: id, Org: org, ClientKey: "app of " + string(org), Subject: "ann", KeyID: "kid", Issued: time.Now().Truncate(time.Second)}
}

func clientKeyOf(org auth.OrgKey) string {
	return strings.Repeat("k", 22-len(org)) + string(org)
}

func credentialsOf(t *testing.T, e *embedded) *sqlstore.Credentials { return must(e.Credentials())(t) }

func annsSession(org auth.OrgKey) session.Session {
	s := sessionOf(string(org))
	s.Org, s.Account = org, "ann"
	return s
}

func verbs() []verb {
	issued := func(t *testing.T, e *embedded, org auth.OrgKey) {
		expect(t, "Issue", e.Ledger().Issue(t.Context(), recordOf(org, "one"), nil, 10), nil)
	}
	lives := func(t *testing.T, e *embedded, org auth.OrgKey) bool {
		err := spend(t.Context(), e.Ledger(), recordOf(org, "one"))
		if err != nil {
			expect(t, "Spend", err, token.ErrRevoked)
		}
		return err == nil
	}
	not := func(f func(*testing.T, *embedded, auth.OrgKey) bool) func(*testing.T, *embedded, auth.OrgKey) bool {
		return func(t *testing.T, e *embedded, org auth.OrgKey) bool { return !f(t, e, org) }
	}
	opened := func(t *testing.T, e *embedded, org auth.OrgKey) {
		expect(t, "Create", e.Sessions().Create(t.Context(), annsSession(org), 0), nil)
	}
	isOpen := func(t *testing.T, e *embedded, org auth.OrgKey) bool {
		_, err := e.Sessions().Get(t.Context(), org, annsSession(org).Hash)
		return err == nil
	}
	signs := func(t *testing.T, e *embedded, org auth.OrgKey) bool {
		_, err := credentialsOf(t, e).Credential(t.Context(), clientKeyOf(org))
		return err == nil
	}
	_, secret := signing.Generate()
	kept := func(t *testing.T, e *embedded, org auth.OrgKey) {
		expect(t, "Put", credentialsOf(t, e).Put(t.Context(), org, clientKeyOf(org), secret, signature.Credential{Account: "ann"}), nil)
	}
	enrolled := func(t *testing.T, e *embedded, org auth.OrgKey) {
		factors := must(e.Factors())(t)
		expect(t, "Save", factors.Save(t.Context(), org, "ann", session.Factor{Secret: session.FactorSecret(make([]byte, 20))}), nil)
	}
	hasFactor := func(t *testing.T, e *embedded, org auth.OrgKey) bool {
		f := must(must(e.Factors())(t).Factor(t.Context(), org, "ann"))(t)
		return f.Secret != ""
	}
	paired := func(t *testing.T, e *embedded, org auth.OrgKey) bool {
		_, err := must(e.Keys())(t).Signer(t.Context(), clientKeyOf(org))
		return err == nil
	}
	keyed := func(t *testing.T, e *embedded, org auth.OrgKey) {
		expect(t, "Add", e.APIKeys().Add(t.Context(), apiKeyOf(org, "ann"), 10), nil)
	}
	hasKey := func(t *testing.T, e *embedded, org auth.OrgKey) bool {
		_, err := e.APIKeys().Get(t.Context(), apiKeyOf(org, "ann").ID)
		return err == nil
	}
	all := func(t *testing.T, e *embedded, org auth.OrgKey) {
		issued(t, e, org)
		keyed(t, e, org)
		opened(t, e, org)
		kept(t, e, org)
		enrolled(t, e, org)
	}
	nothing := func(*testing.T, *embedded, auth.OrgKey) {}
	return []verb{
		{"issue a token", nothing, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.Ledger().Issue(ctx, recordOf(org, "one"), nil, 10)
		}, lives},
		{"revoke a token", issued, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.Ledger().Revoke(ctx, recordOf(org, "one").Holder(), "one")
		}, not(lives)},
		{"revoke a subject", issued, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			_, err := in.Ledger().RevokeSubject(ctx, token.Holder{Org: org, ClientKey: token.Any, Subject: "ann"})
			return err
		}, not(lives)},
		{"end a session", opened, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			_, err := (&session.Manager{}).Sessions().In(in.Sessions()).RevokeAll(ctx, org, "ann", "")
			return err
		}, not(isOpen)},
		{"put a credential", nothing, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			c, err := in.Credentials()
			if err != nil {
				return err
			}
			return c.Put(ctx, org, clientKeyOf(org), secret, signature.Credential{Account: "ann"})
		}, signs},
		{"delete a credential", kept, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			c, err := in.Credentials()
			if err != nil {
				return err
			}
			return c.Delete(ctx, org, clientKeyOf(org))
		}, not(signs)},
		{"make a pair", nothing, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			keys, err := in.Keys()
			if err == nil {
				_, err = keys.Ensure(ctx, org, clientKeyOf(org))
			}
			return err
		}, paired},
		{"make an API key", nothing, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.APIKeys().Add(ctx, apiKeyOf(org, "ann"), 10)
		}, hasKey},
		{"revoke an API key", keyed, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.APIKeys().Revoke(ctx, org, apiKeyOf(org, "ann").ID)
		}, not(hasKey)},
		{"replace an API key", keyed, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			before, next := apiKeyOf(org, "ann"), apiKeyOf(org, "ann")
			next.ID, next.Hash = "second of "+string(org), [32]byte{2}
			after := before
			after.Successor = next.ID
			return in.APIKeys().Swap(ctx, before, after, &next, 10)
		}, func(t *testing.T, e *embedded, org auth.OrgKey) bool {
			r := must(e.APIKeys().Get(t.Context(), apiKeyOf(org, "ann").ID))(t)
			_, err := e.APIKeys().Get(t.Context(), "second of "+string(org))
			if (r.Successor == "") != (err != nil) {
				t.Errorf("one half: successor %q, %v", r.Successor, err)
			}
			return err == nil
		}},
		{"remove a factor", enrolled, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.RemoveFactor(ctx, org, "ann")
		}, not(hasFactor)},
		{"revoke an account", all, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.RevokeAccount(ctx, org, "ann")
		}, func(t *testing.T, e *embedded, org auth.OrgKey) bool {
			left := []bool{lives(t, e, org), isOpen(t, e, org), signs(t, e, org), hasKey(t, e, org)}
			if slices.Contains(left, true) != slices.Contains(left, false) || !hasFactor(t, e, org) {
				return !slices.Contains(left, true)
			}
			t.Errorf("token, session, credential, API key: %v", left)
			return false
		}},
		{"delete an account", all, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.DeleteAccount(ctx, org, "ann")
		}, func(t *testing.T, e *embedded, org auth.OrgKey) bool {
			left := []bool{lives(t, e, org), isOpen(t, e, org), signs(t, e, org), hasFactor(t, e, org), hasKey(t, e, org)}
			if slices.Contains(left, true) && slices.Contains(left, false) {
				t.Errorf("token, session, credential, factor, API key: %v", left)
			}
			return !slices.Contains(left, true)
		}},
		{"delete an org", all, func(ctx context.Context, in *sqlstore.In, org auth.OrgKey) error {
			return in.DeleteOrg(ctx, org)
		}, func(t *testing.T, e *embedded, org auth.OrgKey) bool {
			return !lives(t, e, org) && !isOpen(t, e, org) && !signs(t, e, org) && !hasFactor(t, e, org) && !hasKey(t, e, org)
		}},
	}
}

// TestVerbsInATransaction runs each verb in a transaction that is committed, rolled back, and rolled
// back to a savepoint.
func TestVerbsInATransaction(t *testing.T) {
	t.Parallel()
	all := homes(t)
	// A transaction pooler that knows no prepared statements needs one of the two other modes.
	modes := map[string]string{"pgx": "cache_statement", "pgx, described": "describe_exec", "pgx, simple": "simple_protocol"}
	if h := all[len(all)-1]; h.dialect == sqlstore.PostgreSQL {
		for name := range modes {
			pgx := homeLike(t, h)
			pgx.name = name
			all = append(all, pgx)
		}
	}
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			begin := func(t *testing.T) (sqlstore.Tx, func() error) {
				tx := e.begin(t)
				return tx, tx.Rollback
			}
			if mode := modes[h.name]; mode != "" {
				pool := must(pgxpool.New(t.Context(), durablePostgres(t)+"&default_query_exec_mode="+mode))(t)
				t.Cleanup(pool.Close)
				begin = func(t *testing.T) (sqlstore.Tx, func() error) {
					tx := must(pool.Begin(t.Context()))(t)
					return pgxtx.Of(tx), func() error { return tx.Rollback(t.Context()) }
				}
			}
			e.everyVerb(t, begin)
		})
	}
}

// everyVerb runs each verb in transactions that end in each way.
func (e *embedded) everyVerb(t *testing.T, begin func(*testing.T) (sqlstore.Tx, func() error)) {
	for i, v := range verbs() {
		t.Run(v.name, func(t *testing.T) {
			org := auth.OrgKey(fmt.Sprintf("o%d", i))
			v.prepare(t, e, org)
			for _, end := range []string{"ROLLBACK", "SAVEPOINT", "COMMIT"} {
				tx, rollback := begin(t)
				id := string(org) + end
				e.put(t, tx, id)
				if end == "SAVEPOINT" {
					must(tx.ExecContext(t.Context(), "SAVEPOINT mine"))(t)
				}
				in := must(e.In(t.Context(), tx))(t)
				must(e.In(t.Context(), tx))(t) // twice is allowed
				expect(t, "verb", v.run(t.Context(), in, org), nil)
				switch end {
				case "ROLLBACK":
					expect(t, end, rollback(), nil)
				case "SAVEPOINT":
					must(tx.ExecContext(t.Context(), "ROLLBACK TO SAVEPOINT mine"))(t)
					expect(t, end, tx.Commit(), nil)
				default:
					expect(t, end, tx.Commit(), nil)
				}
				if done := v.done(t, e, org); done != (end == "COMMIT") {
					t.Errorf("%s: done %v", end, done)
				}
				if e.has(t, id) != (end != "ROLLBACK") {
					t.Errorf("%s: the application's row", end)
				}
			}
		})
	}
}

// TestARefusedVerbLeavesTheTransactionAsItWas goes on after each refusal.
func TestARefusedVerbLeavesTheTransactionAsItWas(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			ctx := t.Context()
			c := credentialsOf(t, e)
			_, secret := signing.Generate()
			expect(t, "Put", c.Put(ctx, "globex", clientKeyOf("globex"), secret, signature.Credential{Account: "ann"}), nil)
			public := newClientKey()
			pub, _, _ := ed25519.GenerateKey(nil)
			expect(t, "PutPublicKey", c.PutPublicKey(ctx, "acme", public, signature.Credential{Account: "ann"}, pub), nil)
			before := e.text(t, "credentials", "version")

			tx := e.begin(t)
			in := must(e.In(ctx, tx))(t)
			c = must(in.Credentials())(t)
			expect(t, "the limit", in.Ledger().Issue(ctx, recordOf("acme", "one"), nil, 0), token.ErrTooMany)
			expect(t, "no such token", in.Ledger().Revoke(ctx, recordOf("acme", "one").Holder(), "one"), token.ErrNotFound)
			expect(t, "another org's client key", c.Put(ctx, "acme", clientKeyOf("globex"), secret, signature.Credential{Account: "ann"}), auth.ErrConflict)
			expect(t, "no such credential", c.Delete(ctx, "acme", clientKeyOf("none")), auth.ErrNotFound)
			if _, err := c.Rotate(ctx, "acme", public, time.Hour); err == nil {
				t.Error("a public key was rotated")
			}
			expect(t, "no such session", in.Sessions().DeleteID(ctx, "acme", "ann", "none"), auth.ErrNotFound)
			if err := in.RevokeAccount(ctx, "acme", ""); err == nil {
				t.Error("no account: no error")
			}
			e.put(t, tx, "row")
			expect(t, "Commit", tx.Commit(), nil)
			if after := e.text(t, "credentials", "version"); after != before {
				t.Errorf("refused verbs have changed the credentials: %q, then %q", before, after)
			}
			if !e.has(t, "row") {
				t.Error("the application's row is gone")
			}
		})
	}
}

// text returns a column of all rows.
func (e *embedded) text(t *testing.T, table, column string) (all string) {
	t.Helper()
	rows := must(e.db.Query("SELECT " + column + " FROM " + e.prefix + table + " ORDER BY 1"))(t)
	defer rows.Close()
	for rows.Next() {
		var one string
		expect(t, "Scan", rows.Scan(&one), nil)
		all += one + "\n"
	}
	expect(t, "rows", rows.Err(), nil)
	return all
}

// TestWrongTransactions are refused, each with the remedy.
func TestWrongTransactions(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	refused := func(t *testing.T, e *embedded, tx sqlstore.Tx, text string) {
		t.Helper()
		in, err := e.In(t.Context(), tx)
		if in != nil || !errors.Is(err, sqlstore.ErrTx) || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want ErrTx with %q", err, text)
		}
	}
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			ended := e.begin(t)
			expect(t, "Commit", ended.Commit(), nil)
			_, err := e.In(t.Context(), ended)
			expect(t, "an ended transaction", err, sql.ErrTxDone)

			tx := e.begin(t)
			late, cancel := context.WithCancel(t.Context())
			in := must(e.In(late, tx))(t)
			cancel()
			if err := in.Ledger().Issue(late, recordOf("acme", "late"), nil, 10); !errors.Is(err, auth.ErrUnavailable) {
				t.Errorf("after the end of the context: %v", err)
			}
			tx.Rollback()
		})
	}
	t.Run("PostgreSQL alone", func(t *testing.T) {
		e := newEmbedded(t, newPostgresHome(t))
		for level, text := range map[sql.IsolationLevel]string{sql.LevelRepeatableRead: "repeatable read", sql.LevelSerializable: "serializable"} {
			tx := must(e.db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level}))(t)
			refused(t, e, tx, text)
			refused(t, e, tx, "LevelReadCommitted")
			tx.Rollback()
		}
		tx := must(e.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true}))(t)
		refused(t, e, tx, "read-only")
		tx.Rollback()
		tx = e.begin(t)
		must(tx.Exec("SET LOCAL synchronous_commit = off"))(t)
		refused(t, e, tx, "synchronous_commit is off")
		tx.Rollback()

		another := openDB(t, "pgx", newDatabase(t))
		empty := must(another.Begin())(t)
		refused(t, e, empty, "of this Store's database")
		expect(t, "and goes on", empty.Commit(), nil)
		must(sqlstore.Open(t.Context(), another, sqlstore.PostgreSQL, e.options()))(t)
		refused(t, e, must(another.Begin())(t), "of this Store's database")

		// A shard that was made in the same way has the same numbers for its databases and tables.
		clusters := [2]*sql.DB{}
		for i := range clusters {
			cluster := must(startPostgres("-c", "fsync=on"))(t)
			t.Cleanup(cluster.stop)
			clusters[i] = openDB(t, "pgx", cluster.source)
		}
		shards := [2]*sqlstore.Store{}
		for i, db := range clusters {
			shards[i] = must(sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, e.options()))(t)
		}
		must(shards[0].In(t.Context(), must(clusters[0].Begin())(t)))(t)
		refused(t, &embedded{Store: shards[0]}, must(clusters[1].Begin())(t), "of this Store's database")

		tx = e.begin(t)
		tx.Exec("SELECT 1 / 0")
		_, err := e.In(t.Context(), tx)
		var state interface{ SQLState() string }
		if !errors.As(err, &state) || state.SQLState() != "25P02" {
			t.Errorf("in an aborted transaction: %v", err)
		}
	})
	t.Run("SQLite alone", func(t *testing.T) {
		e := newEmbedded(t, newSQLiteHome(t))
		refused(t, e, newEmbedded(t, newSQLiteHome(t)).begin(t), "of this Store's database")
		deferred := openDB(t, "sqlite", fileOf(t, e.db)+"?_pragma=busy_timeout(60000)&_pragma=synchronous(FULL)")
		tx := must(deferred.Begin())(t)
		var n int
		expect(t, "a look", tx.QueryRow("SELECT count(*) FROM "+e.prefix+"ledger").Scan(&n), nil)
		expect(t, "Issue", e.Ledger().Issue(t.Context(), recordOf("acme", "one"), nil, 10), nil)
		began := time.Now()
		refused(t, e, tx, "BEGIN IMMEDIATE")
		if took := time.Since(began); took > late {
			t.Errorf("the refusal took %v", took)
		}
		tx.Rollback()
		// One that has read nothing before gets the lock, and is exact.
		tx = must(deferred.Begin())(t)
		must(e.In(t.Context(), tx))(t)
		tx.Rollback()
		weak := openDB(t, "sqlite", fileOf(t, e.db)+"?_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=synchronous(OFF)")
		tx = must(weak.Begin())(t)
		refused(t, e, tx, "synchronous is 0")
		tx.Rollback()
		readOnly := openDB(t, "sqlite", fileOf(t, e.db)+"?mode=ro")
		tx = must(readOnly.Begin())(t)
		refused(t, e, tx, "read-only")
	})
}

// TestWrongTransactionsOfPgx: the adapter hides nothing of what In looks at.
func TestWrongTransactionsOfPgx(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t, newPostgresHome(t))
	pool := must(pgxpool.New(t.Context(), durablePostgres(t)))(t)
	t.Cleanup(pool.Close)
	for _, c := range []struct {
		options pgx.TxOptions
		before  string
		text    string
	}{
		{pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, "", "repeatable read"},
		{pgx.TxOptions{IsoLevel: pgx.Serializable}, "", "serializable"},
		{pgx.TxOptions{AccessMode: pgx.ReadOnly}, "", "read-only"},
		{pgx.TxOptions{}, "SET LOCAL synchronous_commit = off", "synchronous_commit is off"},
		{pgx.TxOptions{}, "SET LOCAL search_path = pg_catalog", "of this Store's database"},
		{pgx.TxOptions{}, "SELECT 1 / 0", "25P02"},
	} {
		tx := must(pool.BeginTx(t.Context(), c.options))(t)
		tx.Exec(t.Context(), c.before)
		in, err := e.In(t.Context(), pgxtx.Of(tx))
		if in != nil || err == nil || !strings.Contains(err.Error(), c.text) || errors.Is(err, sqlstore.ErrTx) == (c.text == "25P02") {
			t.Errorf("%+v %s: %v", c.options, c.before, err)
		}
		tx.Rollback(t.Context())
	}
	ended := must(pool.Begin(t.Context()))(t)
	expect(t, "Commit", ended.Commit(t.Context()), nil)
	_, err := e.In(t.Context(), pgxtx.Of(ended))
	expect(t, "an ended transaction", err, pgx.ErrTxClosed)
}

// breathless is a transaction whose caller's context ends before a savepoint is released.
type breathless struct {
	*sql.Tx
	end context.CancelFunc
}

func (b breathless) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if strings.HasPrefix(query, "RELEASE") {
		b.end()
	}
	return b.Tx.ExecContext(ctx, query, args...)
}

// TestAVerbThatFailsAtItsEnd: who commits in spite of the error commits nothing of the verb.
func TestAVerbThatFailsAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			expect(t, "Create", e.Sessions().Create(t.Context(), annsSession("acme"), 0), nil)
			ctx, end := context.WithCancel(t.Context())
			tx := e.begin(t)
			e.put(t, tx, "row")
			in := must(e.In(ctx, breathless{tx, end}))(t)
			expect(t, "RevokeAccount", in.RevokeAccount(ctx, "acme", "ann"), context.Canceled)
			expect(t, "the next verb", in.RevokeAccount(t.Context(), "acme", "ann"), context.Canceled)
			expect(t, "Commit", tx.Commit(), nil)
			if _, err := e.Sessions().Get(t.Context(), "acme", annsSession("acme").Hash); err != nil || !e.has(t, "row") {
				t.Errorf("row %v, session %v", e.has(t, "row"), err)
			}
		})
	}
}

// TestATransactionThatSQLiteHasEnded: SQLite rolls back a transaction with the statement that it
// interrupts. What follows would be committed apart from what the application did before.
func TestATransactionThatSQLiteHasEnded(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t, newSQLiteHome(t))
	expect(t, "Create", e.Sessions().Create(t.Context(), annsSession("acme"), 0), nil)
	tx := e.begin(t)
	e.put(t, tx, "row")
	in := must(e.In(t.Context(), tx))(t)
	must(tx.Exec("ROLLBACK"))(t) // as an interrupt does
	for verb, err := range map[string]error{
		"a single statement": in.Sessions().DeleteID(t.Context(), "acme", "ann", annsSession("acme").ID),
		"more statements":    in.DeleteAccount(t.Context(), "acme", "ann"),
	} {
		expect(t, verb, err, sqlstore.ErrTx)
	}
	_, err := e.In(t.Context(), tx)
	expect(t, "In", err, sqlstore.ErrTx)
	must(e.Sessions().Get(t.Context(), "acme", annsSession("acme").Hash))(t)
	if tx.Commit() == nil || e.has(t, "row") {
		t.Error("the transaction has not ended: this test is for nothing")
	}
}

// TestRemoveFactorNeedsTheSealer: a row that was sealed by nobody would lock the account out.
func TestRemoveFactorNeedsTheSealer(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			factors := must(e.Factors())(t)
			expect(t, "Save", factors.Save(t.Context(), "acme", "ann", session.Factor{Secret: session.FactorSecret(make([]byte, 20))}), nil)
			without := must(sqlstore.Open(t.Context(), e.db, h.dialect, sqlstore.Options{Prefix: prefixOf(h.prefix)}))(t)
			tx := e.begin(t)
			expect(t, "RemoveFactor", must(without.In(t.Context(), tx))(t).RemoveFactor(t.Context(), "acme", "ann"), sqlstore.ErrNoSealer)
			expect(t, "Commit", tx.Commit(), nil)
			if f := must(factors.Factor(t.Context(), "acme", "ann"))(t); len(f.Secret) != 20 {
				t.Error("the factor has changed")
			}
		})
	}
}

// believed is a transaction whose isolation In cannot see.
type believed struct{ *sql.Tx }

func (b believed) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return b.Tx.QueryContext(ctx, strings.Replace(query, "current_setting('transaction_isolation')", "'read committed'", 1), args...)
}

// issueInTransactions issues tokens of one subject in 16 transactions at once, at a limit of 5, and
// returns how many are there.
func issueInTransactions(t *testing.T, e *embedded, o *sql.TxOptions, as func(*sql.Tx) sqlstore.Tx) int {
	var together, wg sync.WaitGroup
	together.Add(16)
	for i := range 16 {
		wg.Go(func() {
			tx, err := e.db.BeginTx(t.Context(), o)
			for err != nil && strings.Contains(err.Error(), "database is locked") {
				tx, err = e.db.BeginTx(t.Context(), o) // SQLite has no queue: the application repeats
			}
			if err != nil {
				t.Error(err)
				together.Done()
				return
			}
			defer tx.Rollback()
			if o.Isolation != sql.LevelDefault { // the snapshot is that of the first statement
				var n int
				tx.QueryRow("SELECT count(*) FROM " + e.prefix + "ledger").Scan(&n)
			}
			together.Done()
			if o.Isolation != sql.LevelDefault {
				together.Wait()
			}
			in, err := e.In(t.Context(), as(tx))
			if err == nil {
				err = in.Ledger().Issue(t.Context(), recordOf("acme", "t"+strconv.Itoa(i)), nil, 5)
			}
			if err == nil {
				err = tx.Commit()
			}
			if err != nil && !errors.Is(err, token.ErrTooMany) {
				t.Log(err)
			}
		})
	}
	wg.Wait()
	return e.held(t, e.db, "ledger")
}

// TestTheLimitHoldsInTransactions also shows what In's question about the isolation is for.
func TestTheLimitHoldsInTransactions(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	asItIs := func(tx *sql.Tx) sqlstore.Tx { return tx }
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			e.db.SetMaxOpenConns(20)
			if n := issueInTransactions(t, e, &sql.TxOptions{}, asItIs); n != 5 {
				t.Errorf("%d tokens at a limit of 5", n)
			}
		})
	}
	t.Run("unasked, in REPEATABLE READ", func(t *testing.T) {
		e := newEmbedded(t, newPostgresHome(t))
		e.db.SetMaxOpenConns(20)
		n := issueInTransactions(t, e, &sql.TxOptions{Isolation: sql.LevelRepeatableRead}, func(tx *sql.Tx) sqlstore.Tx { return believed{tx} })
		if n <= 5 {
			t.Errorf("%d tokens: the question seems to be for nothing", n)
		}
	})
}

// TestOthersWaitForATransaction states who waits for a transaction that has issued a token, and how
// long: the same app and subject, until the commit or the end of their own context; nobody else.
func TestOthersWaitForATransaction(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t, newPostgresHome(t))
	tx := e.begin(t)
	in := must(e.In(t.Context(), tx))(t)
	expect(t, "Issue", in.Ledger().Issue(t.Context(), recordOf("acme", "one"), nil, 10), nil)

	other := recordOf("acme", "other")
	other.Subject = "bob"
	expect(t, "another subject", e.Ledger().Issue(t.Context(), other, nil, 10), nil)
	expect(t, "another org", e.Ledger().Issue(t.Context(), recordOf("globex", "one"), nil, 10), nil)
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := e.Ledger().Issue(short, recordOf("acme", "two"), nil, 10); !errors.Is(err, auth.ErrUnavailable) {
		t.Errorf("the same subject, within its own time: %v", err)
	}
	waited := make(chan error)
	began := time.Now()
	go func() { waited <- e.Ledger().Issue(t.Context(), recordOf("acme", "three"), nil, 10) }()
	select {
	case err := <-waited:
		t.Errorf("did not wait: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	expect(t, "Commit", tx.Commit(), nil)
	committed := time.Now()
	expect(t, "after the commit", <-waited, nil)
	t.Logf("waited %v, %v of it after the commit", time.Since(began), time.Since(committed))
}

// TestTwoAccountsThatMadeTokensForEachOther are deleted at the same time, and none of the transactions is ended.
func TestTwoAccountsThatMadeTokensForEachOther(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	e := newEmbedded(t, newPostgresHome(t))
	pair := []string{"ann", "bob"}
	for round := range 20 {
		for i := range 20 {
			r := recordOf("acme", fmt.Sprint("token", round, "-", i))
			r.Subject, r.Maker = pair[i%2], pair[1-i%2]
			expect(t, "Issue", e.Ledger().Issue(t.Context(), r, nil, 20), nil)
		}
		succeed(t, 2, func(i int) error {
			tx, err := e.db.Begin()
			if err != nil {
				return err
			}
			defer tx.Rollback()
			in, err := e.In(t.Context(), tx)
			if err == nil {
				err = in.DeleteAccount(t.Context(), "acme", pair[i])
			}
			return errors.Join(err, tx.Commit())
		})
	}
	if n := e.held(t, e.db, "ledger"); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
}

// TestAConnectionLostAtTheCommit: nothing is there, and the whole transaction may be repeated.
func TestAConnectionLostAtTheCommit(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t, newPostgresHome(t))
	expect(t, "Create", e.Sessions().Create(t.Context(), annsSession("acme"), 0), nil)
	for _, lost := range []bool{true, false} {
		tx := e.begin(t)
		e.put(t, tx, "row")
		in := must(e.In(t.Context(), tx))(t)
		expect(t, "RevokeAccount", in.RevokeAccount(t.Context(), "acme", "ann"), nil)
		if lost {
			var backend int
			expect(t, "pid", tx.QueryRow("SELECT pg_backend_pid()").Scan(&backend), nil)
			must(e.db.Exec("SELECT pg_terminate_backend($1, 5000)", backend))(t)
		}
		if err := tx.Commit(); (err != nil) != lost {
			t.Errorf("Commit = %v", err)
		}
		_, err := e.Sessions().Get(t.Context(), "acme", annsSession("acme").Hash)
		if e.has(t, "row") == lost || auth.IsNotFound(err) == lost {
			t.Errorf("lost %v: row %v, session %v", lost, e.has(t, "row"), err)
		}
	}
}

// TestTwoTransactionsThatWaitForEachOther: the engine's error reaches one of them as it is, and all
// further verbs of it return that error.
func TestTwoTransactionsThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	e := newEmbedded(t, newPostgresHome(t))
	var first, second sync.WaitGroup
	first.Add(2)
	errs, again := make([]error, 2), make([]error, 2)
	for i, orgs := range [][]auth.OrgKey{{"acme", "globex"}, {"globex", "acme"}} {
		second.Go(func() {
			tx := must(e.db.BeginTx(t.Context(), nil))(t)
			defer tx.Rollback()
			in := must(e.In(t.Context(), tx))(t)
			expect(t, "Issue", in.Ledger().Issue(t.Context(), recordOf(orgs[0], strconv.Itoa(i)), nil, 10), nil)
			first.Done()
			first.Wait()
			errs[i] = in.Ledger().Issue(t.Context(), recordOf(orgs[1], strconv.Itoa(i)), nil, 10)
			again[i] = in.Sessions().DeleteID(t.Context(), "acme", "ann", "none")
		})
	}
	second.Wait()
	var state interface{ SQLState() string }
	refused := slices.IndexFunc(errs, func(err error) bool { return errors.As(err, &state) && state.SQLState() == "40P01" })
	if refused < 0 || errs[1-refused] != nil {
		t.Fatalf("%v", errs)
	}
	if !errors.As(again[refused], &state) || !errors.Is(again[1-refused], auth.ErrNotFound) {
		t.Errorf("afterwards: %v", again)
	}
}

// TestDeleteAccountForgetsWhatTheAccountMade: a later account of the same ID gets no tokens to life.
func TestDeleteAccountForgetsWhatTheAccountMade(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			s := h.store(t)
			made := recordOf("acme", "made")
			made.Subject, made.Maker = "bob", "ann"
			own := recordOf("acme", "own")
			own.Subject = "bob"
			elsewhere := recordOf("globex", "made")
			elsewhere.Subject, elsewhere.Maker = "bob", "ann"
			for _, r := range []token.Record{made, own, elsewhere} {
				expect(t, "Issue", s.Ledger().Issue(t.Context(), r, nil, 10), nil)
			}
			for range 2 {
				expect(t, "DeleteAccount", s.DeleteAccount(t.Context(), "acme", "ann"), nil)
			}
			expect(t, "what ann made", spend(t.Context(), s.Ledger(), made), token.ErrRevoked)
			expect(t, "bob's own", spend(t.Context(), s.Ledger(), own), nil)
			expect(t, "another org's", spend(t.Context(), s.Ledger(), elsewhere), nil)
			if s.DeleteAccount(t.Context(), "acme", "") == nil || s.DeleteAccount(t.Context(), "", "ann") == nil {
				t.Error("nobody: no error")
			}
		})
	}
}

// TestExportAccount compares the lines with what was put in, and looks for secrets.
func TestExportAccount(t *testing.T) {
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			ctx := t.Context()
			for _, v := range verbs() {
				if v.name == "delete an account" { // with everything there is
					v.prepare(t, e, "acme")
					v.prepare(t, e, "globex")
				}
			}
			made := recordOf("acme", "made")
			made.Subject, made.Maker = "bob", "ann"
			made.Issued = made.Issued.Add(-time.Minute) // before the other one
			made.Expires = made.Issued.Add(time.Hour)
			expect(t, "Issue", e.Ledger().Issue(ctx, made, nil, 10), nil)
			keyMade := apiKeyOf("acme", "bob")
			keyMade.ID, keyMade.Maker = "made by ann", "ann"
			expect(t, "Add", e.APIKeys().Add(ctx, keyMade, 10), nil)
			c := credentialsOf(t, e)
			_, secret := signing.Generate()
			expect(t, "for ann, too", c.Put(ctx, "acme", clientKeyOf("too"), secret, signature.Credential{Account: "bob", Accounts: []string{"ann"}}), nil)
			expect(t, "her name", c.Put(ctx, "acme", clientKeyOf("name"), secret, signature.Credential{Account: "bob", Scope: []string{"object.read.ann"}}), nil)

			var out strings.Builder
			expect(t, "ExportAccount", e.ExportAccount(ctx, &out, "acme", "ann"), nil)
			s, one := annsSession("acme"), recordOf("acme", "one")
			stamp := func(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
			want := fmt.Sprintf(`{"address":"192.0.2.1","agent":"test","created":%q,"expires":%q,"id":%q,"kind":"session","seen":%q}
{"app":"app of acme","expires":%q,"id":"made","issued":%q,"kind":"token","maker":"ann","maxUses":0,"subject":"bob","uses":0}
{"app":"app of acme","id":"one","issued":%q,"kind":"token","maxUses":0,"subject":"ann","uses":0}
{"clientKey":%q,"kind":"credential","restrictions":{"account":"ann","accounts":null,"scope":null,"networks":null,"created":"2026Z"}}
{"clientKey":%q,"kind":"credential","restrictions":{"account":"bob","accounts":["ann"],"scope":null,"networks":null,"created":"2026Z"}}
{"account":"bob","created":"2026Z","id":"made by ann","kind":"apiKey","maker":"ann","maxUses":0,"scope":null,"uses":0}
{"account":"ann","created":"2026Z","id":"of ann in acme","kind":"apiKey","maker":"ann","maxUses":0,"scope":null,"uses":0}
{"active":true,"kind":"secondFactor","recoveryCodes":0}
`, stamp(s.Created), stamp(s.Expires), s.ID, stamp(s.Seen), stamp(made.Expires), stamp(made.Issued), stamp(one.Issued), clientKeyOf("acme"), clientKeyOf("too"))
			times := regexp.MustCompile(`"20[^"]*Z"`)
			if diff := cmp.Diff(times.ReplaceAllString(want, "T"), times.ReplaceAllString(out.String(), "T")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(out.String(), string(secret)) {
				t.Error("a secret was exported")
			}
			if e.ExportAccount(ctx, &out, "", "ann") == nil || e.ExportAccount(ctx, &out, "acme", "") == nil {
				t.Error("nobody: no error")
			}
		})
	}
}

// TestExportAccountKeepsNoRows: however much an account has made, memory does not grow with it.
func TestExportAccountKeepsNoRows(t *testing.T) {
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			e := newEmbedded(t, h)
			const made = 50_000
			numbers := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) "
			must(e.db.Exec("INSERT INTO " + e.prefix + "ledger (client_key, id, subject, key_id, uses, max_uses, issued, maker, org) " + numbers +
				"SELECT 'app', '0123456789abcdef-' || i, 'bob', 'kid', 0, 0, i, 'ann', 'acme' FROM n"))(t)
			lines := &meter{}
			expect(t, "ExportAccount", e.ExportAccount(t.Context(), lines, "acme", "ann"), nil)
			if lines.n != made || lines.grown > 4<<20 {
				t.Errorf("%d lines, %d KiB", lines.n, lines.grown>>10)
			}
			full := errors.New("the disk is full")
			expect(t, "an error of w", e.ExportAccount(t.Context(), &meter{full: full}, "acme", "ann"), full)
			expect(t, "and the connection is free", e.Sweep(t.Context()), nil)
		})
	}
}

// meter counts lines, and how far the heap grows meanwhile. Its error comes with the hundredth line.
type meter struct {
	n            int
	first, grown uint64
	full         error
}

func (m *meter) Write(line []byte) (int, error) {
	if m.n++; m.n == 100 && m.full != nil {
		return 0, m.full
	}
	if m.n%10_000 == 1 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		if m.first == 0 {
			m.first = stats.HeapAlloc
		}
		if stats.HeapAlloc > m.first {
			m.grown = max(m.grown, stats.HeapAlloc-m.first)
		}
	}
	return len(line), nil
}

// TestNothingToGiveBack: no verb whose undoing would give back a nonce, a use, a guess or a code can
// be reached from In. A new verb of these types belongs here only if a rollback may undo it.
func TestNothingToGiveBack(t *testing.T) {
	e := newEmbedded(t, newSQLiteHome(t))
	in := must(e.In(t.Context(), e.begin(t)))(t)
	for _, c := range []struct {
		reachable any
		verbs     string
	}{
		{in, "APIKeys Audit Credentials DeleteAccount DeleteOrg Keys Ledger RemoveFactor RevokeAccount Sessions"},
		{in.Ledger(), "Get Issue List Revoke RevokeSubject"},
		{in.APIKeys(), "Add Get List Revoke Swap"},
		{in.Sessions(), "DeleteAll DeleteID DeleteOrg List"},
		{must(in.Credentials())(t), "Create Credential Delete List Put PutPublicKey Restrict Rotate See"},
		{must(in.Keys())(t), "Delete Ensure Expose Exposed Generate Public Put PutReference Rotate RotateToReference Signer"},
	} {
		methods := reflect.TypeOf(c.reachable)
		var names []string
		for i := range methods.NumMethod() {
			names = append(names, methods.Method(i).Name)
		}
		if got := strings.Join(names, " "); got != c.verbs {
			t.Errorf("%v has %s, want %s", methods, got, c.verbs)
		}
	}
}

// mortal is a transaction whose process dies before a statement.
type mortal struct {
	*sql.Tx
	left *int
}

func (m mortal) step() {
	if *m.left--; *m.left < 0 {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (m mortal) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	m.step()
	return m.Tx.ExecContext(ctx, query, args...)
}

func (m mortal) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	m.step()
	return m.Tx.QueryContext(ctx, query, args...)
}

func (m mortal) Commit() error {
	m.step()
	return m.Tx.Commit()
}

// dying is what a process does that dies after some statements.
type dying struct {
	Driver, Source, Prefix string
	Dialect                sqlstore.Dialect
	Round                  int // of the first of Orgs
	Left                   int
}

// TestDyingProcess is the process of TestKilledInTransactions.
func TestDyingProcess(t *testing.T) {
	text := os.Getenv("ENGINETEST_DYING")
	if text == "" {
		t.Skip("not a process that dies")
	}
	var d dying
	expect(t, "Unmarshal", json.Unmarshal([]byte(text), &d), nil)
	db := openDB(t, d.Driver, d.Source)
	store := must(sqlstore.Open(t.Context(), db, d.Dialect, sqlstore.Options{Prefix: d.Prefix, UnsafeUnsealed: true}))(t)
	tx := mortal{must(db.Begin())(t), &d.Left}
	org := auth.OrgKey("r" + strconv.Itoa(d.Round))
	in := must(store.In(t.Context(), tx))(t)
	must(tx.ExecContext(t.Context(), "INSERT INTO "+tablesOf(d.Prefix)+"app (id) VALUES ($1)", string(org)))(t)
	expect(t, "RevokeAccount", in.RevokeAccount(t.Context(), org, "ann"), nil)
	expect(t, "Issue", in.Ledger().Issue(t.Context(), recordOf(org, "two"), nil, 10), nil)
	expect(t, "Commit", tx.Commit(), nil)
	if d.Left > 0 {
		fmt.Println("ENDED")
	}
}

// TestKilledInTransactions kills a process before each of the statements between In and the commit:
// there is its row and the verbs' effect, or neither. With LONG=1, ten thousand are killed.
func TestKilledInTransactions(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	kills := 80
	if os.Getenv("LONG") == "1" {
		kills = 10_000
	}
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			h.unsealed = true
			e := newEmbedded(t, h)
			d := dying{Dialect: h.dialect, Prefix: prefixOf(h.prefix), Driver: "pgx"}
			if h.dialect == sqlstore.SQLite {
				d.Driver, d.Source = "sqlite", fileOf(t, e.db)+"?_txlock=immediate&_pragma=busy_timeout(2000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
			} else {
				d.Source = durablePostgres(t)
			}
			both, neither := 0, 0
			for ; d.Round < kills/2; d.Round++ {
				org := auth.OrgKey("r" + strconv.Itoa(d.Round))
				expect(t, "Issue", e.Ledger().Issue(t.Context(), recordOf(org, "one"), nil, 10), nil)
				expect(t, "Create", e.Sessions().Create(t.Context(), annsSession(org), 0), nil)
				cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDyingProcess$")
				cmd.Env = append(os.Environ(), "ENGINETEST_DYING="+string(must(json.Marshal(d))(t)))
				out, err := cmd.CombinedOutput()
				if err != nil && !strings.Contains(err.Error(), "killed") {
					t.Fatalf("%v\n%s", err, out)
				}
				if d.Left++; strings.Contains(string(out), "ENDED") {
					d.Left = 0 // all statements were tried: from the first one again
				}
				_, open := e.Sessions().Get(t.Context(), org, annsSession(org).Hash)
				effects := []bool{e.has(t, string(org)), open != nil,
					spend(t.Context(), e.Ledger(), recordOf(org, "one")) != nil, spend(t.Context(), e.Ledger(), recordOf(org, "two")) == nil}
				switch {
				case !slices.Contains(effects, false):
					both++
				case !slices.Contains(effects, true):
					neither++
				default:
					t.Fatalf("killed before statement %d: row, session, old and new token: %v", d.Left, effects)
				}
			}
			if both == 0 || neither == 0 {
				t.Errorf("%d times both, %d times neither", both, neither)
			}
		})
	}
}
