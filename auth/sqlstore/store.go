package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tenantkit/tenantkit/internal/prepared"
)

// Options say how a Store is opened. The zero Options suit Replays, Ledger,
// Sessions and Attempts.
type Options struct {
	// Prefix is what the names of all tables begin with: 1 to 31 of [a-z0-9_],
	// no digit first. "" means "tenantkit_".
	Prefix string

	// Sealer encrypts the secrets that Keys, Credentials and Factors keep.
	Sealer *Sealer

	// UnsafeUnsealed keeps those secrets readable for whoever reads the database
	// or a backup of it. It is not to be set with a Sealer.
	UnsafeUnsealed bool

	// UnsafeDurability opens a database that may lose what it has confirmed: a
	// use that was spent, a revocation or a logout may come back. Guarantee still
	// says so.
	UnsafeDurability bool
}

// Store is a set of tables in a database. It is safe for concurrent use.
type Store struct {
	db      *sql.DB
	single  querier // runs statements outside of transactions
	dialect Dialect
	prefix  string

	sealer   *Sealer
	unsealed bool

	words     *strings.Replacer
	texts     sync.Map // of statements, by what they are written as here
	guarantee Guarantee

	// Of SQLite only.
	opened  int64         // by the engine's clock, Unix milliseconds
	begun   atomic.Bool   // whether the epoch is not before that
	writing chan struct{} // who writes

	writes atomic.Uint64
}

// Open looks at the engine's settings, makes the tables that are not there, and
// returns the store in them. It returns an error that says what is wrong and
// how to put it right for settings that break a promise, and for a prefix or a
// dialect there is none.
func Open(ctx context.Context, db *sql.DB, dialect Dialect, o Options) (*Store, error) {
	s, err := newStore(db, dialect, o)
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx, o.UnsafeDurability); err != nil {
		return nil, fmt.Errorf("sqlstore: open: %w", err)
	}
	return s, nil
}

func newStore(db *sql.DB, dialect Dialect, o Options) (*Store, error) {
	if o.Prefix == "" {
		o.Prefix = defaultPrefix
	}
	switch {
	case db == nil:
		return nil, errors.New("sqlstore: no database")
	case !dialect.valid():
		return nil, errors.New("sqlstore: dialect is neither PostgreSQL nor SQLite")
	case !validPrefix.MatchString(o.Prefix):
		return nil, fmt.Errorf("sqlstore: prefix %q is not 1 to 31 of [a-z0-9_], no digit first", o.Prefix)
	case o.Sealer != nil && o.UnsafeUnsealed:
		return nil, errors.New("sqlstore: Sealer and UnsafeUnsealed contradict each other")
	}
	s := &Store{
		db: db, single: db, dialect: dialect, prefix: o.Prefix,
		sealer: o.Sealer, unsealed: o.UnsafeUnsealed,
		words: dialect.replacer(o.Prefix),
	}
	if dialect == SQLite {
		s.single = prepared.New(db) // the drivers of PostgreSQL do that themselves
		s.writing = make(chan struct{}, 1)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, undurable bool) error {
	settings, err := s.probe(ctx)
	if err != nil {
		return err
	}
	if err := settings.refusal(undurable); err != nil {
		return err
	}
	if err := s.migrate(ctx); err != nil {
		return err
	}
	lost, err := s.unlogged(ctx)
	if err != nil {
		return err
	}
	if lost != nil && !undurable {
		return fmt.Errorf("tables %s are UNLOGGED and emptied by a crash: ALTER TABLE … SET LOGGED, or set UnsafeDurability",
			strings.Join(lost, ", "))
	}
	s.guarantee = settings.guarantee(lost)
	if s.dialect == PostgreSQL {
		// Of empty tables the first claim need not be stale.
		return s.Replays().begin(ctx)
	}
	return s.read(ctx, func(q querier) error {
		return q.QueryRowContext(ctx, s.text("SELECT {now}")).Scan(&s.opened)
	})
}

// text returns a statement in the dialect, with the names of the tables.
func (s *Store) text(written string) string {
	if text, ok := s.texts.Load(written); ok {
		return text.(string)
	}
	text := s.words.Replace(written)
	s.texts.Store(written, text)
	return text
}
