// Package redisstore implements the stores of replays, tokens, API keys, idempotency keys, sessions and login
// attempts in Redis or Valkey, which any number of processes share. It imports no
// client: a Do of a few lines adapts one.
//
// # Choosing
//
// A claim costs little more than a SET, while package sqlstore waits for a commit. This
// package stores no secrets (key pairs, credentials, second factors). Use sqlstore for
// those, beside this package.
//
// # Clients
//
// With go-redis (both options matter):
//
//	client := redis.NewClient(&redis.Options{
//		Addr:                  addr,
//		ContextTimeoutEnabled: true, // else a deadline does not end a command
//		MaxRetries:            -1,   // a command without a reply must not be sent again
//	})
//	do := func(ctx context.Context, args ...any) (any, error) {
//		return client.Do(ctx, args...).Result()
//	}
//
// With rueidis and ClientOption.DisableRetry:
//
//	do := func(ctx context.Context, args ...any) (any, error) {
//		words := make([]string, len(args))
//		for i, arg := range args {
//			words[i] = arg.(string)
//		}
//		return client.Do(ctx, client.B().Arbitrary(words...).Build()).ToAny()
//	}
//
// With redigo:
//
//	do := func(ctx context.Context, args ...any) (any, error) {
//		conn, err := pool.GetContext(ctx)
//		if err != nil {
//			return nil, err
//		}
//		defer conn.Close()
//		return redis.DoContext(conn, ctx, args[0].(string), args[1:]...)
//	}
//
// Each method runs one script or command, which the server executes atomically in one
// round trip. After a restart of the server a second round trip sends it the script.
// Times are of the server's clock, except in Attempts, whose times are arguments.
//
// # What the server must be
//
// The server must be Redis 6.2 or Valkey 7.2, or later. It must be a standalone primary
// with
//
//	maxmemory-policy noeviction
//	appendonly yes
//	appendfsync always
//	no-appendfsync-on-rewrite no
//
// With these settings nothing is lost that the server has confirmed. "appendfsync
// everysec" is allowed, too, and faster. It loses up to two seconds of changes with the
// power, and some milliseconds with the process, while a sync runs. A replica that is
// promoted lacks what had not reached it, because replication is asynchronous. A logout, a
// revocation or the use of a token may then be undone. Replays hold nevertheless: no request
// is accepted twice, but for one that was signed ahead of the server's clock, or by a
// primary that was cut off. With min-replicas-to-write such a primary confirms no more than
// min-replicas-max-lag seconds that are then lost. Without it there is no bound, and Open
// warns by slog if the server that it asks has replicas.
//
// Open checks these settings and refuses those that break a promise. Its error names
// the setting and the remedy. It checks once and does not notice later changes. The
// user needs the commands EVAL, EVALSHA, INFO, TIME and CONFIG GET, and the data
// commands on the keys under the prefix.
//
// # Cluster
//
// Open finds out whether the server is part of a Redis Cluster, and then spreads the keys over 256 shards.
// A shard is a slot, by a hash tag. Requests are spread by client key, counts of attempts by their
// key, and all else by org. Each method is one round trip to one primary, except RevokeAccount and DeleteOrg.
// API keys share one shard, because a request names them by their id alone. The client is one of clusters.
// With go-redis, which otherwise sends a command again after a lost connection:
//
//	client := redis.NewClusterClient(&redis.ClusterOptions{
//		Addrs:                 addrs,
//		ContextTimeoutEnabled: true,
//		MaxRetries:            -1,
//
//		ClusterStateReloadInterval: time.Second, // else it finds a new primary after a minute
//	})
//	do := func(ctx context.Context, args ...any) (any, error) {
//		command := once{redis.NewCmd(ctx, args...)}
//		client.Process(ctx, command)
//		return command.Result()
//	}
//
//	type once struct{ *redis.Cmd } // which is redirected, but never sent again
//
//	func (once) NoRetry() bool { return true }
//
// Each primary needs the settings above. Open checks appendfsync and no-appendfsync-on-rewrite on one of
// them, and the others on all. While a slot moves to another primary, methods of its
// shard return auth.ErrUnavailable; afterwards requests signed before are stale once. A replica that
// takes over lacks what had not reached it, as without a cluster.
//
// # What is not covered
//
// Reads from replicas are not covered: they may still return records that have ended. A client must not
// read from them (ReadOnly, RouteByLatency and RouteRandomly of go-redis).
//
// # Format
//
// All keys begin with Options.Prefix, and in a cluster with the shard after it: {0} to {255}. It is the
// FNV-1a hash of the org, the client key or the key of Attempts, modulo 256. PAIR is the length of its first part, a colon,
// and both parts.
//
//	absent              no key, see script.go
//	version             of this format
//	epoch               of replays: when it began, the latest time seen, the server
//	n:NONCE KEY         a nonce; KEY is the client key, without the blank here
//	s:SIGNATURE KEY     a signature, 32 bytes
//	q:KEY               how many requests of the client key were accepted
//	t:PAIR              a token's record, by client key and id
//	u:PAIR              the ids of a subject's records, by client key and subject
//	l:KEY               the times and ids of the records of a client key
//	k:ORG               the client keys of an org that have records
//	h:HASH              a session, by the hash of its token, or what became of it
//	a:PAIR              an account's sessions, by org and account
//	o:ORG               the accounts of an org that have sessions
//	i:ID                an API key
//	g:ORG               the ids of an org's API keys; ORG is a PAIR with an empty second part
//	j:PAIR              those of an account's, by org and account
//	m:PAIR              those of an app's, by org and client key; an empty one has those without an app
//	r:ID                a request with an idempotency key
//	d:PAIR, c:PAIR      the ids and the costs of a caller's, by org and account
//	b:ORG               the callers of an org that have some
//	f:KEY               tries, by the key of Attempts
//
// The format is documented for operators. It has a version, and each call compares it with that
// of the instance. Open refuses data of another version, and so does each call of an instance
// that runs while another version begins anew on the same keys: its error is auth.ErrUnavailable.
// To change over to a release with another version, stop all instances, and give the new ones
// another Prefix, or delete the keys: all tokens and sessions are then gone, and requests signed
// before are stale. The changelog says which releases change the version.
//
// # Errors
//
// An error is either a sentinel of the interfaces or one of Do, of the context or of a
// reply that no script gives. An error of Do or of the context wraps
// auth.ErrUnavailable, which auth.Fail answers with 503.
//
// # Compatibility
//
// Structs may get more fields: write keyed literals. Tell errors apart by errors.Is and
// errors.As; their texts may change.
package redisstore
