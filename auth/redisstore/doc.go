// Package redisstore keeps replays, the ledger of tokens, sessions and login
// attempts in Redis or Valkey, where any number of processes share them. It
// imports no client: a Do of a few lines makes one fit.
//
// # Choosing
//
// A claim takes little more than a SET, where package sqlstore waits for a
// commit. What holds secrets (key pairs, credentials, second factors) is not
// kept here: the two go together.
//
// # Clients
//
// With go-redis; both options matter:
//
//	client := redis.NewClient(&redis.Options{
//		Addr:                  addr,
//		ContextTimeoutEnabled: true, // or a deadline does not end a command
//		MaxRetries:            -1,   // what is ambiguous must not be sent again
//	})
//	do := func(ctx context.Context, args ...any) (any, error) {
//		return client.Do(ctx, args...).Result()
//	}
//
// With rueidis, and ClientOption.DisableRetry set:
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
// Each verb is one script or command, which the server runs as a whole: one
// round trip, and a second one after the server was started, to send it the
// script. Times are those of the server's clock, but for Attempts, which goes by
// its argument.
//
// # What the server must be
//
// Redis 6.2 or Valkey 7.2, or later, as a primary of its own, with
//
//	maxmemory-policy noeviction
//	appendonly yes
//	appendfsync always
//
// Or "appendfsync everysec", which is faster, and loses up to two seconds with
// the power, and some milliseconds with the process: a logout, a revocation or
// the use of a token may then come back. Replays hold all the same. Open looks at
// these settings and refuses what breaks a promise, with the setting and the
// remedy in its error; it looks once, and what is changed later is not noticed.
// The user needs EVAL, EVALSHA, INFO, TIME and CONFIG GET, and the data
// commands, on the keys under the prefix.
//
// # What is not covered
//
// Redis Cluster: the keys of one verb need not share a slot, unless a hash tag
// as the prefix puts all of them into one (see UnsafeCluster). Reads from
// replicas, which may still show what has been ended. What a server that is
// killed, loses power or fails over can lose is what Guarantee says.
//
// # Format
//
// All keys begin with Options.Prefix. PAIR is the length of its first part, a
// colon, and both parts.
//
//	epoch               of replays: when it began, the latest time seen, the server
//	n:NONCE KEY         a nonce; KEY is the client key, without the blank here
//	s:SIGNATURE KEY     a signature, 32 bytes
//	q:KEY               how many requests of the client key were accepted
//	t:PAIR              a token's record, by client key and id
//	u:PAIR              the ids of a subject's records, by client key and subject
//	h:HASH              a session, by the hash of its token, or what became of it
//	a:PAIR              an account's sessions, by org and account
//	o:ORG               the accounts of an org that have sessions
//	f:KEY               tries, by the key of Attempts
//
// It is there for operators to read, and may change with a version; the
// changelog then says what becomes of the keys that are there.
//
// # Compatibility
//
// Structs may get more fields: write literals of them with keys. Errors are to
// be told apart by errors.Is and errors.As, their texts may change.
package redisstore
