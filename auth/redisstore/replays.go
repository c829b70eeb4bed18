package redisstore

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// Replays is a signing.Replays that any number of processes share. Store.Replays
// returns it.
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
type Replays struct{ store *Store }

var (
	_ signing.Replays    = (*Replays)(nil)
	_ signing.UsedNonces = (*Replays)(nil)
)

//go:embed lua/epoch.lua
var epochText string

//go:embed lua/claim.lua
var claimText string

var (
	// Data of the time before there were versions has an epoch and no version.
	epochScript = newChecking("if redis.call('EXISTS', KEYS[1]) > redis.call('EXISTS', KEYS[#KEYS]) then fits('0') end", epochText, "return 0")
	claimScript = newChecking(epochText, claimText)
	usedScript  = newScript("return redis.call('EXISTS', KEYS[1])")
)

// margin is how much longer a key lives than the record it holds. It exceeds the ten
// seconds by which claims let the server's clock step back.
const margin = time.Minute

var errNonce = errors.New("redisstore: nonce is not 16 bytes long")

// Claim implements signing.Replays. A nonce that is not 16 bytes long is an
// error. It returns signing.ErrFull when the client key has used up
// Options.PerKey.
func (r *Replays) Claim(ctx context.Context, u signing.Use) error {
	// All nonces have one length, so a key needs no separator between nonce and client
	// key.
	if len(u.Nonce) != 16 {
		return errNonce
	}
	code, err := r.store.code(ctx, claimScript,
		[]string{"epoch", "q:" + u.ClientKey, "n:" + u.Nonce + u.ClientKey, "s:" + string(u.Signature[:]) + u.ClientKey},
		millis(u.Seen), millis(u.Signed), millis(u.Keep), millis(u.Keep.Add(margin)),
		strconv.Itoa(siblings(&u)), decimal(u.Window.Milliseconds()),
		strconv.Itoa(r.store.perKey), decimal((max(u.Keep.Sub(u.Signed), 0) + margin).Milliseconds()))
	return cmp.Or(err, codeError(code, nil, signing.ErrReplayed, signing.ErrStale, signing.ErrFull))
}

// Used implements signing.UsedNonces, in one round trip.
func (r *Replays) Used(ctx context.Context, clientKey, nonce string) (bool, error) {
	n, err := r.store.code(ctx, usedScript, []string{"n:" + nonce + clientKey})
	return n == 1, err
}

// siblings returns the number of acceptances of one signature, 1 for single use.
func siblings(u *signing.Use) int {
	if u.Window < time.Millisecond {
		return 1
	}
	return max(u.Siblings, 1)
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
