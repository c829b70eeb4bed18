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
// makes one.
//
// A claim is one round trip. It goes by the server's clock, so that those of
// the verifiers need not agree, and Use.Seen only helps to begin an epoch.
//
// # Epoch
//
// The store knows when its memory begins: what was signed before, or in the same
// millisecond, is stale, which a client that syncs its clock answers by signing
// again. Claims notice by themselves that a new epoch has to begin,
//
//   - when the key that holds it is gone: the server was restarted without its
//     data, or flushed;
//   - when the server's replication id (master_replid) is another: a server was
//     restarted, with or without its data, or a replica was promoted. Even an
//     append-only file may lack the last second or two. This is looked at once
//     a second, and by the first claim after a start, as a server that was
//     started does not know the script;
//   - when the server's clock was stepped back by more than ten seconds: keys
//     that expired by the earlier clock are gone.
//
// What is left: a request signed ahead of the server's clock, by at most
// Policy.FutureTolerance, and accepted just before its record was lost, can be
// replayed once within the time it was ahead. A restart that takes less than a
// second, and whose first claim fails because the disk cannot be written, is
// noticed a second late. Keys live a minute longer than they must; a clock that
// is stepped forward further than that and back again, without a claim in
// between, is not noticed. Neither is a primary that was cut off and accepts
// requests while its replica was promoted: min-replicas-to-write limits that.
//
// A new epoch begins at the later of the server's and the caller's clock, five
// minutes after the server's at most: a server that is further behind its
// verifiers may let in again what was signed meanwhile. It costs honest clients
// no more than a second signature; the claim that begins it is stale itself.
//
// # Bounds
//
// A server that reaches maxmemory refuses to record, so the claim fails and the
// request is refused; it recovers as claims expire. Each request that is
// remembered takes two keys, about 420 bytes. Options.PerKey keeps one client
// key from taking all of it. A refused claim leaves no key.
type Replays struct{ store *Store }

var _ signing.Replays = (*Replays)(nil)

//go:embed lua/epoch.lua
var epochText string

//go:embed lua/claim.lua
var claimText string

var (
	epochScript = newScript(epochText, "return 0")
	claimScript = newScript(epochText, claimText)
)

// margin is how much longer a key lives than what it protects: more than
// claims tolerate of a server's clock.
const margin = time.Minute

var errNonce = errors.New("redisstore: nonce is not 16 bytes long")

// Claim implements signing.Replays. A nonce that is not 16 bytes long is an
// error. It returns signing.ErrFull when the client key has used up
// Options.PerKey.
func (r *Replays) Claim(ctx context.Context, u signing.Use) error {
	// Nonces are of one length, so that they and client keys need no separator.
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

// siblings is one for single use.
func siblings(u *signing.Use) int {
	if u.Window < time.Millisecond {
		return 1
	}
	return max(u.Siblings, 1)
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
