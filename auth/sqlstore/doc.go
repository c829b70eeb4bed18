// Package sqlstore implements the stores of the other packages in a SQL database, which
// any number of server instances share. The stores hold accepted requests, issued
// tokens, sessions, key pairs, signing secrets, second factors and counts of tries. It
// works over database/sql, for PostgreSQL and SQLite, and imports no driver. It does
// not support MySQL.
//
//	store, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL, sqlstore.Options{Sealer: sealer})
//
// One Store has all of them: Replays, Ledger, Keys, Credentials, Sessions, Attempts and
// Factors. It does not own the sql.DB and needs no Close. The suites of package storetest
// test each store.
//
// # Choosing
//
// Use PostgreSQL for instances on any number of machines, and SQLite for processes on
// one machine. Each accepted signature and each use of a counted token is a commit that
// waits for the disk. If that is too slow, use package redisstore for Replays, Ledger,
// Sessions and Attempts. Secrets (Keys, Credentials and Factors) then stay here.
//
// # Keys
//
// Secrets are sealed with the key of Options.Sealer, from the configuration or guarded by a KMS: see
// NewWrappedSealer. The private keys of tokens may stay in an HSM: see Keys.PutReference.
//
// # In your transaction
//
// Store.In runs the verbs that make, change and end things in a transaction of the application, so
// that its rows and those of the Store change together:
//
//	in, err := store.In(ctx, tx)
//	err = in.DeleteAccount(ctx, org, id)
//	err = tx.Commit()
//
// What a rollback must not give back is not part of In: accepted requests, uses of tokens, attempts
// and codes.
//
// # Audit log
//
// With Options.Audit each verb that changes something leaves an entry in its transaction, also in one of the
// application: who did what, to whom, from where. See Store.Audit, and package audit for what a chain of
// entries shows and what it does not. Instances without Options.Audit leave no entries: set it in all.
//
// # Tables
//
// Open creates the tables that are missing. Their names share one prefix; all but the table
// "schema" then have the version, as in tenantkit_v9_ledger. Any number of
// instances may call Open at the same time. If the program may not create tables, run the
// file of Migrations before, and set Options.NoMigrate. Its role then needs SELECT, INSERT,
// UPDATE and DELETE on all tables.
//
// In PostgreSQL the table marks is UNLOGGED on purpose. It holds nothing to keep: each
// recovery empties it, and Replays then begin a new epoch.
//
// # What may be lost
//
// Open reads the engine's settings and refuses those that can lose confirmed changes. Its
// error says how to correct them. With the settings that it accepts, what was confirmed
// survives the end of the engine's processes and the loss of power, except in SQLite with
// synchronous NORMAL.
//
// PostgreSQL must be a primary, 12 or later, with the isolation level read committed.
// fsync, full_page_writes and synchronous_commit must not be off, nor the last one local. A
// promoted standby may lack the latest commits, unless it is a synchronous standby
// (synchronous_standby_names, and synchronous_commit on or remote_apply). A spent use or a
// revoked token may then be valid again. Open warns by slog if there are standbys and
// synchronous_standby_names is empty: it cannot see which of them takes over. Replays begin a
// new epoch instead, see Replays.
//
// SQLite must be 3.42 or later, with a database file. Set synchronous to FULL or EXTRA:
// with NORMAL, which Open accepts, a power loss may undo confirmed changes. Prefer
// journal_mode WAL, in which readers do not wait for writers. Set a busy_timeout
// shorter than the Guard's deadline. A data source name for a driver such as
// modernc.org/sqlite:
//
//	file:service.db?_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)
//
// # Prepared statements
//
// In SQLite the statements stay prepared on each connection. In PostgreSQL that is the
// driver's choice; pgx prepares them by itself. Some poolers share connections between
// transactions and do not support prepared statements. Behind such a pooler, turn
// prepared statements off in the driver: default_query_exec_mode=exec in pgx.
//
// # Clock
//
// The stores use the engine's clock, so the clocks of the instances need not agree.
// After some writes a goroutine deletes expired rows, for ten seconds at most. Where
// writes are rare, start Store.Run.
//
// # A host that vanishes
//
// A host may vanish or stop in the middle of a transaction, which holds a lock. In
// PostgreSQL the server ends it after two seconds, and the waits of the host's other
// calls after three: other hosts and other orgs wait no longer. In SQLite all writes wait for a process that is stopped.
//
// # Errors
//
// An error is either a sentinel of the interfaces or a wrapped error of the driver. An
// error of the driver also wraps auth.ErrUnavailable, which auth.Fail answers with 503.
// The outcome is then unknown, unless the error says that the database is locked. No
// error holds a secret. Every call returns when its context
// ends, if the driver's calls do.
//
// # What is not checked
//
// Open does not notice settings that change later, or that differ between connections
// of one sql.DB. If synchronous_commit is turned off for the role, a crash may undo what
// Options.UnsafeDurability names; no request is accepted twice. Nothing detects that somebody altered the tables or restored a backup,
// beyond what Replays documents. Nothing checks that the sealing key is kept apart from
// the database. Open does check that it is the key of this database: see ErrSealingKey.
//
// # Compatibility
//
// The tables have a version, and Open refuses those of any other version. So two releases with
// different versions never share tables: the first instance of the new release fails at its start,
// the old ones go on, and may restart. There is no rolling upgrade between versions. The changelog
// says which releases change the version, and how to carry the tables over: stop all instances,
// carry over, start the new ones. An old instance that was not stopped gets errors from every verb,
// because the names of the tables contain the version. No release has changed it yet.
//
// Structs may get more fields: write keyed literals. Tell errors apart by errors.Is; their texts may
// change.
package sqlstore
