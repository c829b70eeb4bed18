// Package sqlstore keeps what instances of a server must share in a database:
// what has been accepted, issued and opened, the key pairs, the secrets and the
// second factors. It works over database/sql, for PostgreSQL and SQLite, and
// imports no driver. MySQL is not covered.
//
//	store, err := sqlstore.Open(ctx, db, sqlstore.PostgreSQL, sqlstore.Options{Sealer: sealer})
//
// One Store has them all: Replays, Ledger, Keys, Credentials, Sessions,
// Attempts and Factors. It does not own the sql.DB, starts no goroutine and has
// nothing to close. Package storetest runs over each of them.
//
// # Choosing
//
// PostgreSQL is for instances on any number of machines, SQLite for processes
// on one. Each accepted signature and each use of a counted token is a commit
// that waits for the disk; where that is too slow, package redisstore takes
// Replays, Ledger, Sessions and Attempts, and what holds secrets stays here.
//
// # Tables
//
// Open makes the tables it does not find, all with one prefix. Any number of
// instances may open at once. Where the program may not do so, run the text
// that Schema returns beforehand; Open then changes nothing.
//
// # What may be lost
//
// Guarantee says what survives the end of the engine's process, the loss of
// power and a failover. Open asks the engine for its settings and refuses those
// that lose what was confirmed, and says how to put them right.
//
// PostgreSQL: a primary with fsync and synchronous_commit on, and the isolation
// level read committed. A standby that is promoted may lack the latest commits
// unless it is a synchronous one: a use that was spent or a revocation may then
// come back. Replays do not, see Replays.
//
// SQLite, 3.42 or later: a file, with synchronous FULL or better. Prefer
// journal_mode WAL, in which readers do not wait for writers, and set a
// busy_timeout of less than the Guard's deadline. Text of a driver such as
// modernc.org/sqlite:
//
//	file:service.db?_pragma=busy_timeout(250)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)
//
// # Prepared statements
//
// In SQLite the statements stay prepared, on each connection. In PostgreSQL that is
// the driver's choice: pgx does so by itself. Behind a pooler that shares
// connections between transactions and does not know prepared statements, tell the
// driver to use none: default_query_exec_mode=exec in pgx.
//
// # Clock
//
// The clock is the engine's, so that those of the instances need not agree.
// Rows that have ended are deleted by the way, some with every few writes; call
// Sweep now and then where writes are rare.
//
// # Errors
//
// Errors are the sentinels of the interfaces, or else those of the driver,
// wrapped: then the outcome is unknown, unless it says that the database is
// locked. No error holds a secret. Every call returns when its context ends,
// if those of the driver do.
//
// # What is not checked
//
// Settings that are changed after Open, or that differ between connections of
// one sql.DB; whether somebody else has altered the tables or put back a backup,
// beyond what Replays say of it; and whether the sealing key is kept apart from
// the database.
//
// # Compatibility
//
// Open brings the tables of an earlier version to its own, and refuses those of
// a later one. Structs may get more fields: write literals of them with keys.
// Errors are to be told apart by errors.Is, their texts may change.
package sqlstore
