package redisstore

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

type replays struct{ store *Store }

var _ signing.UsedNonces = (*replays)(nil)

var (
	// Data of the time before there were versions has an epoch and no version.
	epochScript = newChecking("if redis.call('EXISTS', KEYS[1]) > redis.call('EXISTS', KEYS[#KEYS]) then fits('0') end", lua("epoch"), "return 0")
	claimScript = newChecking(lua("epoch"), lua("claim")).failing(signing.ErrReplayed, signing.ErrStale, signing.ErrFull)
	usedScript  = newScript("return redis.call('EXISTS', KEYS[1])")
)

// margin is how much longer a key lives than the record it holds. It exceeds the ten
// seconds by which claims let the server's clock step back.
const margin = time.Minute

// Claim implements signing.Replays. A nonce that is not 16 bytes long is an
// error. It returns signing.ErrFull when the client key has used up
// Options.PerKey.
func (r *replays) Claim(ctx context.Context, u signing.Use) error {
	// All nonces have one length, so a key needs no separator between nonce and client
	// key.
	if len(u.Nonce) != 16 {
		return errors.New("redisstore: nonce is not 16 bytes long")
	}
	siblings := 1 // acceptances of one signature
	if u.Window >= time.Millisecond {
		siblings = max(u.Siblings, 1)
	}
	return r.store.of(u.ClientKey).decide(ctx, claimScript,
		[]string{"epoch", "q:" + u.ClientKey, "n:" + u.Nonce + u.ClientKey, "s:" + string(u.Signature[:]) + u.ClientKey},
		millis(u.Seen), millis(u.Signed), millis(u.Keep), millis(u.Keep.Add(margin)),
		strconv.Itoa(siblings), decimal(u.Window.Milliseconds()),
		strconv.Itoa(r.store.perKey), decimal((max(u.Keep.Sub(u.Signed), 0) + margin).Milliseconds()))
}

// Used implements signing.UsedNonces, in one round trip.
func (r *replays) Used(ctx context.Context, clientKey, nonce string) (bool, error) {
	n, err := r.store.of(clientKey).code(ctx, usedScript, []string{"n:" + nonce + clientKey})
	return n == 1, err
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
