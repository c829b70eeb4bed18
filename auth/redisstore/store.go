package redisstore

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Options configure a Store. The zero value is right for a server with the settings
// that the package comment requires.
//
// With an Unsafe option, Open and the stores accept a server that they otherwise
// refuse. The comment of each option tells what may be lost.
type Options struct {
	Prefix string // begins all keys; "tenantkit:" if empty

	// PerKey is how many requests of one client key are accepted within the retention of
	// a request: 200,000 if 0. Up to twice as many are recorded at once.
	PerKey int

	UnsafeEviction     bool // accepts a full server that drops records: replays pass, sessions and tokens end, uses are forgotten
	UnsafeNoAppendOnly bool // accepts a restart that ends all tokens and sessions, or restores those of a snapshot, revoked or not; right for Replays and Attempts alone
	UnsafeCluster      bool // accepts a cluster; Prefix must have a hash tag such as "{tenantkit}:"; failovers and resharding are untested
	UnsafeUnknown      bool // accepts settings that the server does not let the user read
}

// Store is a Redis or Valkey server that Open has accepted. Its stores are safe for
// concurrent use, each by itself and together.
type Store struct {
	do     Do
	prefix string
	perKey int

	versionKey any // made once
}

const (
	defaultPrefix = "tenantkit:"
	defaultPerKey = 200_000
)

// Open checks the server behind do, and begins the epoch of Replays if there is none.
// The error joins one *SettingError for each wrong setting. Any other error means that
// the check failed, that the data under the prefix is of another version of this package, or
// that UnsafeCluster has a prefix without a hash tag.
func Open(ctx context.Context, do Do, o Options) (*Store, error) {
	found, err := probe(ctx, do)
	if err != nil {
		return nil, err
	}
	s := &Store{do: do, prefix: o.Prefix, perKey: o.PerKey}
	if s.prefix == "" {
		s.prefix = defaultPrefix
	}
	if s.perKey <= 0 {
		s.perKey = defaultPerKey
	}
	s.versionKey = s.prefix + "version"
	if o.UnsafeCluster && !hasTag(s.prefix) {
		return nil, errors.New(`redisstore: UnsafeCluster needs a Prefix with a hash tag, such as "{tenantkit}:"`)
	}
	if err := found.refuse(o); err != nil {
		return nil, err
	}
	// With an epoch the first request is not stale. The call also shows that scripts
	// run, and that the data is of this version.
	if _, err := s.code(ctx, epochScript, []string{"epoch"}, millis(time.Now())); err != nil {
		return nil, err
	}
	return s, nil
}

// hasTag reports whether a prefix puts all its keys into one slot of a cluster: what is between
// the first { and the next } counts, unless it is empty.
func hasTag(prefix string) bool {
	_, after, _ := strings.Cut(prefix, "{")
	return strings.Index(after, "}") > 0
}

// Replays returns the server's record of accepted requests. It needs no append-only
// file: a server that restarts without its data begins a new epoch.
func (s *Store) Replays() *Replays { return &Replays{s} }

// Attempts returns the server's counts of tries. It needs no append-only file: a server
// that restarts without its data counts from 0 again.
func (s *Store) Attempts() *Attempts { return &Attempts{s} }

// Ledger returns the server's ledger of tokens.
func (s *Store) Ledger() *Ledger { return &Ledger{s} }

// Sessions returns the server's sessions.
func (s *Store) Sessions() *Sessions { return &Sessions{s} }
