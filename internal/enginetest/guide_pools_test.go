package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/auth/sqlstore/pgxtx"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// openPool opens a pgxpool, and a *sql.DB that takes its connections from it.
func openPool(ctx context.Context, source string) (*pgxpool.Pool, *sql.DB, error) {
	config, err := pgxpool.ParseConfig(source)
	if err != nil {
		return nil, nil, err
	}
	config.MaxConns = 20
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return pool, stdlib.OpenDBFromPool(pool), nil
}

// prepareSchema runs once, as an administrator of the database. Tables that the owner
// makes in the schema, now or later, can be read and written by the server.
const prepareSchema = `
CREATE SCHEMA gate AUTHORIZATION gate_owner;
GRANT USAGE ON SCHEMA gate TO gate_server;
ALTER DEFAULT PRIVILEGES FOR ROLE gate_owner IN SCHEMA gate
	GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO gate_server;
ALTER ROLE gate_owner SET search_path = gate;
ALTER ROLE gate_server SET search_path = gate;
`

// migrate makes the tables or upgrades them. It runs as their owner, before the first
// instance of a new version starts. It needs no sealing key.
func migrate(ctx context.Context, owner *sql.DB) error {
	_, err := sqlstore.Open(ctx, owner, sqlstore.PostgreSQL, sqlstore.Options{})
	return err
}

// A server whose role may not change tables, on tables that another role has made.
func TestTablesOfAnotherRole(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	source := newDatabase(t)
	administrator := openDB(t, "pgx", source)
	for _, statement := range []string{"CREATE ROLE gate_owner LOGIN", "CREATE ROLE gate_server LOGIN", prepareSchema} {
		if _, err := administrator.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { administrator.Exec("DROP OWNED BY gate_owner, gate_server; DROP ROLE gate_owner, gate_server") })
	as := func(role string) string {
		u, err := url.Parse(source)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User(role)
		return u.String()
	}
	pool, db, err := openPool(t.Context(), as("gate_server"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)

	if _, err := sqlstore.Open(t.Context(), db, sqlstore.PostgreSQL, sqlstore.Options{}); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a server without tables: %v", err)
	}
	for range 2 { // the second run changes nothing
		if err := migrate(t.Context(), openDB(t, "pgx", as("gate_owner"))); err != nil {
			t.Fatal(err)
		}
	}
	key := sealer(t)
	usesEveryStore(t, db, key)
	// These rights suffice for all verbs in the server's own transactions, too.
	h := home{dialect: sqlstore.PostgreSQL, prefix: tablesOf("tenantkit_"), sealer: key, open: func(testing.TB) *sql.DB { return db }}
	must(openDB(t, "pgx", as("gate_owner")).Exec("CREATE TABLE " + h.prefix + "app (id TEXT PRIMARY KEY)"))(t)
	e := &embedded{home: h, db: db, Store: h.storeIn(t, db)}
	e.everyVerb(t, func(t *testing.T) (sqlstore.Tx, func() error) {
		tx := e.begin(t)
		return tx, tx.Rollback
	})
	expect(t, "Reseal", e.Reseal(t.Context()), nil)
	expect(t, "ExportAccount", e.ExportAccount(t.Context(), io.Discard, "acme", "ann"), nil)
	expect(t, "DeleteOrg", e.DeleteOrg(t.Context(), "acme"), nil)
	if _, err := db.ExecContext(t.Context(), "DROP TABLE "+tablesOf("tenantkit_")+"sessions"); err == nil {
		t.Error("the server may drop tables")
	}
}

// usesEveryStore writes to each table and reads it.
func usesEveryStore(t *testing.T, db *sql.DB, sealer *sqlstore.Sealer) {
	t.Helper()
	ctx := t.Context()
	store, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL, sqlstore.Options{Sealer: sealer})
	if err != nil {
		t.Fatal(err)
	}
	credentials, keys, factors := must(store.Credentials())(t), must(store.Keys())(t), must(store.Factors())(t)
	clientKey, _, err := credentials.Create(ctx, "acme", signature.Credential{Account: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	_, found := credentials.Credential(ctx, clientKey)
	_, generated := keys.Generate(ctx, "acme", clientKey)
	now := time.Now()
	hour := now.Add(time.Hour)
	_, tried := countUp(ctx, store.Attempts(), "ann")
	minter := token.Minter{Signers: keys, Ledger: store.Ledger()}
	_, _, minted := minter.Permanent(ctx, token.Claims{Issuer: clientKey, Subject: "ann", Audience: "https://api.example.com/acme/v2"})
	_, others := store.Sessions().List(ctx, "acme", "ann")
	err = errors.Join(found, generated, tried, minted, others,
		factors.Save(ctx, "acme", "ann", session.Factor{Secret: session.FactorSecret(make([]byte, 20))}),
		store.Sessions().Create(ctx, session.Session{Hash: [32]byte{1}, ID: "1", Org: "acme", Account: "ann", Expires: hour, Created: now, Seen: now}, 5),
		store.Sweep(ctx))
	if err != nil {
		t.Fatal(err)
	}
	use := signing.Use{ClientKey: clientKey, Nonce: freshNonce(), Signed: now.Add(2 * time.Second), Seen: now.Add(2 * time.Second), Keep: hour}
	if err := store.Replays().Claim(ctx, use); err != nil {
		t.Errorf("a request: %v", err)
	}
	if err := store.Replays().Claim(ctx, use); !errors.Is(err, signing.ErrReplayed) {
		t.Errorf("its replay: %v", err)
	}
	if _, err := credentials.Credential(ctx, "unknown"); !errors.Is(err, auth.ErrNotFound) {
		t.Errorf("an unknown key: %v", err)
	}
}

// behindBouncer opens a *sql.DB behind PgBouncer with pools of transactions: two statements of
// one *sql.DB may run in different sessions. Its servers keep no prepared statements.
func behindBouncer(source string) (*sql.DB, error) {
	config, err := pgx.ParseConfig(source)
	if err != nil {
		return nil, err
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return stdlib.OpenDB(*config), nil
}

// startBouncer starts a PgBouncer with pools of transactions, and returns the source through it.
func startBouncer(t *testing.T, at string) *url.URL {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil && os.Getenv("REQUIRE_ENGINES") != "1" {
		t.Skip("PgBouncer is not installed: no pgbouncer in the path")
	}
	if err != nil {
		t.Fatal(err)
	}
	source, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	account, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "bouncer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	settings := filepath.Join(folder, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%s user=test\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\n"+
		"auth_type = any\npool_mode = transaction\ndefault_pool_size = 4\nunix_socket_dir =\n", source.Port(), port)
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	bouncer := (&server{folder: folder}).command(account, program, settings)
	if err := bouncer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bouncer.Process.Kill(); bouncer.Wait() })
	source.Host = "127.0.0.1:" + port
	return source
}

func TestBehindABouncer(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	source := startBouncer(t, newDatabase(t))
	db, err := behindBouncer(source.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if !until(func() bool { return db.PingContext(t.Context()) == nil }) {
		t.Fatal("PgBouncer does not answer")
	}
	usesEveryStore(t, db, sealer(t))

	// A transaction keeps its server, so the verbs work in it, also over pgx.
	e := newEmbedded(t, home{dialect: sqlstore.PostgreSQL, prefix: tablesOf("inside_"), sealer: sealer(t), open: func(testing.TB) *sql.DB { return db }})
	config := must(pgxpool.ParseConfig(source.String()))(t)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec
	pool := must(pgxpool.NewWithConfig(t.Context(), config))(t)
	t.Cleanup(pool.Close)
	e.everyVerb(t, func(t *testing.T) (sqlstore.Tx, func() error) {
		tx := must(pool.Begin(t.Context()))(t)
		return pgxtx.Of(tx), func() error { return tx.Rollback(t.Context()) }
	})
}
