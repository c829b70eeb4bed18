package redisstore

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/internal/stats"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
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
	UnsafeUnknown      bool // accepts settings that the server does not let the user read
}

// Store is a Redis or Valkey server that Open has accepted. Its stores are safe for
// concurrent use, each by itself and together.
type Store struct {
	shards []shard
	perKey int

	calls stats.Calls
}

const (
	defaultPrefix = "tenantkit:"
	defaultPerKey = 200_000
)

// Open checks the server behind do, and begins the epoch of Replays if there is none.
// The error joins one *auth.SettingError for each wrong setting. Any other error means that
// the check failed, that the data under the prefix is of another version of this package, or
// that a cluster cannot have the prefix.
func Open(ctx context.Context, do Do, o Options) (*Store, error) {
	found, err := probe(ctx, do)
	if err = cmp.Or(err, found.refuse(o)); err != nil {
		return nil, err
	}
	s := &Store{perKey: cmp.Or(max(o.PerKey, 0), defaultPerKey)}
	timed := func(ctx context.Context, args ...any) (any, error) {
		defer s.calls.End(time.Now())
		return do(ctx, args...)
	}
	if s.shards, err = shardsOf(timed, cmp.Or(o.Prefix, defaultPrefix), found["cluster-enabled"] == "yes"); err != nil {
		return nil, err
	}
	for i := range s.shards {
		if err := s.shards[i].begin(ctx, o); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// clusterShards is how many groups of keys a cluster's servers share. Each org and each client key has
// one. It is part of the format.
const clusterShards = 256

// shardsOf returns the shards of a cluster, or the only one of a server.
func shardsOf(do Do, prefix string, cluster bool) ([]shard, error) {
	if !cluster {
		return []shard{{do: do, prefix: prefix, version: prefix + "version"}}, nil
	}
	if _, tag, _ := strings.Cut(prefix, "{"); strings.HasPrefix(tag, "}") {
		return nil, errors.New(`redisstore: "{}" in the Prefix keeps a cluster from putting related keys into one slot`)
	}
	all := make([]shard, clusterShards)
	for i := range all {
		of := prefix + "{" + strconv.Itoa(i) + "}"
		all[i] = shard{do: do, prefix: of, version: of + "version", absent: of + "absent"}
	}
	return all, nil
}

var infoScript = newChecking("return redis.call('INFO')")

// begin begins the epoch of a shard, so that the first request is not stale. That also shows that
// scripts run, and that the data is of this version. In a cluster it checks what INFO tells of the server
// that has the shard before: of all that a client may reach, only one has answered the probe of all settings.
func (s *shard) begin(ctx context.Context, o Options) error {
	if s.absent != nil {
		reply, err := s.run(ctx, infoScript, nil)
		if err != nil {
			return err
		}
		found, err := told(reply)
		if err = cmp.Or(err, found.refuse(o)); err != nil {
			return err
		}
	}
	_, err := s.code(ctx, epochScript, []string{"epoch"}, millis(time.Now()))
	return err
}

// of returns the shard of an org or of a client key. The hash is FNV-1a.
func (s *Store) of(name string) *shard {
	if len(s.shards) == 1 {
		return &s.shards[0]
	}
	hash := uint32(2166136261)
	for i := range len(name) {
		hash = (hash ^ uint32(name[i])) * 16777619
	}
	return &s.shards[hash%clusterShards]
}

// Stats returns how long commands have taken since Open.
func (s *Store) Stats() stats.Store { return s.calls.Read() }

// Replays returns the server's record of accepted requests. It needs no append-only
// file: a server that restarts without its data begins a new epoch.
//
// A claim is one round trip. It uses the server's clock, so the clocks of the verifiers
// need not agree. Use.Seen serves only to begin an epoch.
//
// # Epoch
//
// The store knows when its epoch began: since then it has recorded every accepted
// request. A request signed earlier, or in the same millisecond, is stale; a client
// with a synchronized clock signs again. A claim itself detects that a new epoch must
// begin:
//
//   - The key of the epoch is missing: the server was restarted without its data, or
//     flushed.
//   - The server's replication id (master_replid) has changed: a server was restarted,
//     with or without its data, or a replica was promoted. Even an append-only file may
//     lack the last second or two. Each claim compares the id.
//   - The server's clock was stepped back by more than ten seconds: keys that expired
//     by the earlier clock are gone.
//
// These cases remain:
//
//   - A request can be signed ahead of the server's clock, by at most
//     Policy.FutureTolerance. If its record is lost right after its acceptance, it can
//     be replayed once within the time it was ahead.
//   - Keys live a minute longer than needed. A clock that is stepped forward by more
//     than that, and back again without a claim in between, is not detected.
//   - A primary that was cut off, and accepts requests after the promotion of its
//     replica, is not detected: min-replicas-to-write limits that.
//
// A new epoch begins at the later of the server's and the caller's clock, but at most
// five minutes after the server's clock. A server that is further behind its verifiers
// may accept again what was signed meanwhile. The claim that begins the epoch is itself stale.
//
// A new epoch costs honest clients a second signature. If the clock of the instance that begins
// it is ahead, all requests are stale until the other clocks have come to the same time: five
// seconds if it is five seconds ahead, and never more than five minutes. The store cannot tell
// such a clock from a server that is behind, where the earlier time would accept requests twice.
//
// # Bounds
//
// A server that reaches maxmemory refuses to record, so the claim fails and the request
// is refused. The server recovers as recorded requests expire. Each recorded request
// takes two keys, about 420 bytes. Options.PerKey keeps one client key from filling the
// memory. A refused claim leaves no key.
func (s *Store) Replays() signing.Replays { return &replays{s} }

// Attempts returns the server's counts of tries. It needs no append-only file: a server
// that restarts without its data counts from 0 again.
//
// Delays follow the times passed to Try, so differences between the
// processes' clocks lengthen or shorten them. A key takes about 200 bytes until a day
// after its latest try.
func (s *Store) Attempts() session.Attempts { return &attempts{s} }

// Ledger returns the server's ledger of tokens. It uses the server's clock.
//
// A record takes about 550 bytes until it or its parent expires, or until a day after
// its last use was spent. Issue also deletes dead records of its subject, and those of
// keys that it does not name and that were issued more than an hour before. A record that
// never expires stays until it is revoked or Issue deletes it. A record whose parent is
// revoked is dead at once, but keeps its memory until then.
func (s *Store) Ledger() token.Ledger { return &ledger{s} }

// Sessions returns the server's sessions. They end by the server's clock.
//
// A session takes about 700 bytes. Get reads one key. The methods for an account visit
// each of its sessions, and DeleteOrg visits each session of the org. Each takes ten to
// twenty microseconds, in which the server does nothing else. With a hundred thousand
// sessions DeleteOrg takes more than a second. Give it a longer deadline; other calls
// may fail meanwhile.
func (s *Store) Sessions() session.Store { return &sessions{s} }
