package redisstore

import (
	"context"
	"time"
)

// Options say how a Store is used; the zero value is right for a server that
// is set up as this package wants it.
//
// The Unsafe ones have Open and the stores accept a server that it refuses
// without. What is lost thereby is beside each.
type Options struct {
	Prefix string // of all keys; "tenantkit:" if empty

	// PerKey is how many requests of one client key are accepted within the
	// time for which each is remembered: 200,000 if 0. Up to twice as many are
	// remembered at once.
	PerKey int

	UnsafeEviction     bool // a full server drops records: replays pass, sessions and tokens end, uses are forgotten
	UnsafeNoAppendOnly bool // a restart ends all tokens and sessions, or brings back those of a snapshot, revoked or not
	UnsafeCluster      bool // for a cluster, with a hash tag as Prefix, "{tenantkit}:" say; failovers and resharding are untested
	UnsafeUnknown      bool // what the server does not let be read is taken for right
}

// Store is a Redis or Valkey that Open has found fit. Its stores may be used
// side by side, and by any number of goroutines.
type Store struct {
	do       Do
	prefix   string
	perKey   int
	settings settings
	options  Options
}

const (
	defaultPrefix = "tenantkit:"
	defaultPerKey = 200_000
)

// Open looks at the server behind do, and begins the epoch of Replays if there
// is none. The error joins one *SettingError for each thing that is wrong with
// the server; any other error means that it could not be asked.
func Open(ctx context.Context, do Do, o Options) (*Store, error) {
	found, err := probe(ctx, do)
	if err != nil {
		return nil, err
	}
	s := &Store{do: do, prefix: o.Prefix, perKey: o.PerKey, settings: found, options: o}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	if s.perKey <= 0 {
		s.perKey = defaultPerKey
	}
	if err := s.refuse(forAll); err != nil {
		return nil, err
	}
	// So that the first request of all is not stale, and the scripts are seen to
	// run.
	if _, err := s.code(ctx, epochScript, []string{"epoch"}, millis(time.Now()), look); err != nil {
		return nil, err
	}
	return s, nil
}

// Replays returns the server's record of requests. It needs no append-only
// file: a server that comes back without its data begins a new epoch.
func (s *Store) Replays() *Replays { return &Replays{s} }

// Attempts returns the server's count of tries. It needs no append-only file: a
// server that comes back without its data begins to count anew.
func (s *Store) Attempts() *Attempts { return &Attempts{s} }

// Ledger returns the server's list of tokens. The error joins one *SettingError
// for each setting of the append-only file that is wrong.
func (s *Store) Ledger() (*Ledger, error) {
	if err := s.refuse(forRecords); err != nil {
		return nil, err
	}
	return &Ledger{s}, nil
}

// Sessions returns the server's sessions. The error is as for Ledger.
func (s *Store) Sessions() (*Sessions, error) {
	if err := s.refuse(forRecords); err != nil {
		return nil, err
	}
	return &Sessions{s}, nil
}
