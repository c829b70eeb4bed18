package sqlstore

import (
	"cmp"
	"context"
	"crypto"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenantkit/tenantkit/internal/prepared"
	"github.com/tenantkit/tenantkit/internal/sqldialect"
	"github.com/tenantkit/tenantkit/internal/stats"
)

// Options configure a Store. The zero Options suit Replays, Ledger, Sessions and
// Attempts.
type Options struct {
	// Prefix begins the names of all tables: 1 to 31 characters of [a-z0-9_], the first
	// one no digit. "" means "tenantkit_".
	Prefix string

	// NoMigrate makes Open create no tables. If they are missing, its error names the file of
	// Migrations that creates them. The role of the database then needs no right to create any.
	NoMigrate bool

	// Sealer encrypts the secrets that Keys, Credentials and Factors keep.
	Sealer *Sealer

	// Signer returns what signs with a private key that stays in an HSM or a KMS: see
	// Keys.PutReference. It is called for each token that such a key signs, with the context of that
	// call, until whose end the result is used: keep connections. An unknown reference is an error.
	Signer func(ctx context.Context, reference string) (crypto.Signer, error)

	// Audit keeps an audit log of each org: each verb that changes something appends a row in its
	// transaction. See Store.Audit. Set it in all instances.
	Audit bool

	// UnsafeUnsealed stores those secrets unencrypted: whoever reads the database or a
	// backup can read them. Open refuses it together with a Sealer.
	UnsafeUnsealed bool

	// UnsafeDurability opens a database that may lose confirmed changes: a spent use, a
	// revoked token or a deleted session may be valid again.
	UnsafeDurability bool
}

// Store is a set of tables in a database. It is safe for concurrent use.
type Store struct {
	db      *sql.DB
	single  querier // runs statements outside of transactions
	dialect Dialect
	options Options // the Sealer has its data keys from Open on

	replacer *strings.Replacer
	texts    *sync.Map    // by the text in this package: the statement in the dialect
	place    string       // the database and its tables: see findPlace
	inside   *application // of single, if that is a transaction of the application
	calls    *stats.Calls // by In, too

	refusals *refusals // shared by In, which has none of its own

	// For SQLite only.
	opened  int64         // when Open ran, by the engine's clock, in Unix milliseconds
	begun   atomic.Bool   // whether an epoch has begun at opened or later
	writing chan struct{} // held by the goroutine that writes

	writes   atomic.Uint64
	sweeping atomic.Bool // whether a goroutine deletes expired rows
}

// Open checks the engine's settings, creates the missing tables, and returns their
// store. The error joins one *auth.SettingError for each setting that breaks a promise, with
// the remedy. An invalid prefix, an unknown dialect and tables of another version are
// errors, too. The error wraps ErrSealingKey if the Sealer lacks the key of the secrets.
func Open(ctx context.Context, db *sql.DB, dialect Dialect, o Options) (*Store, error) {
	o.Prefix = cmp.Or(o.Prefix, defaultPrefix)
	switch {
	case db == nil:
		return nil, errors.New("sqlstore: no database")
	case !sqldialect.Known(dialect):
		return nil, errors.New("sqlstore: dialect is neither PostgreSQL nor SQLite")
	case !validPrefix.MatchString(o.Prefix):
		return nil, fmt.Errorf("sqlstore: prefix %q is not 1 to 31 of [a-z0-9_], no digit first", o.Prefix)
	case o.Sealer != nil && o.UnsafeUnsealed:
		return nil, errors.New("sqlstore: Sealer and UnsafeUnsealed contradict each other")
	}
	s := &Store{
		db: db, single: db, dialect: dialect, options: o,
		replacer: newReplacer(dialect, o.Prefix), texts: new(sync.Map), refusals: new(refusals), calls: new(stats.Calls),
	}
	if dialect == SQLite {
		s.single = prepared.New(db) // drivers of PostgreSQL prepare statements themselves
		s.writing = make(chan struct{}, 1)
	}
	if err := s.open(ctx); err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	return s, nil
}

// Stats returns how long reads, writes and transactions have taken since Open.
func (s *Store) Stats() stats.Store { return s.calls.Read() }

func (s *Store) open(ctx context.Context) error {
	for _, step := range []func(context.Context) error{s.checkSettings, s.migrate, s.checkLogged, s.unwrapKeys, s.checkSealer} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	here, err := s.findPlace(ctx)
	if err != nil {
		return err
	}
	s.place = here.name
	if s.dialect == PostgreSQL {
		// With an epoch, the first claim in empty tables is not stale.
		return (&replays{s}).begin(ctx)
	}
	return s.find(ctx, "SELECT {now}", nil, &s.opened)
}

// text returns a statement of this package in the SQL of the dialect, with the names of
// the tables.
func (s *Store) text(written string) string {
	if text, ok := s.texts.Load(written); ok {
		return text.(string)
	}
	text := s.replacer.Replace(written)
	s.texts.Store(written, text)
	return text
}
