// Package kv records accepted requests in a key-value store that the library does
// not know. The store must be able to write a key only if it is absent.
//
// Look for these points in the manual of your store:
//
//   - One node decides the conditional write. A store that accepts writes on both
//     sides of a network partition lets the same request in on both.
//   - A confirmed write survives a crash.
//   - Nothing is evicted to make room. So a cache is not suitable.
//   - A key lives for the requested time.
//
// A claim writes one key at a time and takes none back. So what is refused for its nonce
// leaves its signature, a sibling over the limit leaves its nonce, and what was signed
// before the epoch leaves both. A replay of a signature leaves nothing. auth/storetest
// checks whether a store keeps the contract: see the test.
package kv

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/signing"
)

// Replays is a signing.Replays over a store. Times are those of the verifiers, whose
// clocks must agree.
type Replays struct{ Store *Client }

const used = "used" // the value of a key that only has to exist

// Claim implements signing.Replays. An error of the store means that the outcome is
// unknown: the request is refused, and the keys that were written stay.
func (s Replays) Claim(ctx context.Context, u signing.Use) error {
	switch {
	case len(u.Nonce) != 16:
		return errors.New("kv: a nonce has 16 bytes")
	case !u.Keep.After(u.Seen):
		return signing.ErrStale
	}
	seen, single := millis(u.Seen), u.Siblings <= 1 || u.Window < time.Millisecond
	signature, value := "s:"+digest(u.Signature[:], u.ClientKey), millis(u.Seen)
	if single {
		value = used
	}
	// The signature before the nonce: otherwise one captured signature could leave any
	// number of nonces.
	first, fresh, err := s.setOnce(ctx, signature, value, u.Keep)
	if err != nil {
		return err
	}
	if !fresh && (single || !follows(first, &u)) {
		return signing.ErrReplayed
	}
	_, stored, err := s.setOnce(ctx, "n:"+digest([]byte(u.Nonce), u.ClientKey), used, u.Keep)
	if err == nil && !stored {
		err = signing.ErrReplayed
	}
	// The slot after the nonce: a replay must not take that of a sibling.
	for n := 2; err == nil && !fresh; n++ {
		if n > u.Siblings {
			return signing.ErrReplayed
		}
		_, fresh, err = s.setOnce(ctx, signature+":"+strconv.Itoa(n), used, u.Keep)
	}
	if err != nil {
		return err
	}
	// The epoch last, so that it notices a store that was emptied between two steps. It
	// is the time of the first claim: what was signed before may have been recorded.
	epoch, stored, err := s.setOnce(ctx, "epoch", seen, u.Seen.AddDate(1, 0, 0))
	if stored {
		epoch = seen
	}
	begin, malformed := strconv.ParseInt(epoch, 10, 64)
	switch {
	case err != nil:
		return err
	case malformed != nil:
		return fmt.Errorf("kv: epoch %q is not a time", epoch)
	case u.Signed.UnixMilli() <= begin:
		return signing.ErrStale
	}
	return nil
}

// follows reports whether u was seen within its window of the first acceptance. It takes
// the absolute difference, because two verifiers may disagree about the order.
func follows(first string, u *signing.Use) bool {
	at, err := strconv.ParseInt(first, 10, 64)
	seen := time.UnixMilli(u.Seen.UnixMilli())
	return err == nil && seen.Sub(time.UnixMilli(at)).Abs() < u.Window.Truncate(time.Millisecond)
}

// setOnce sets a key unless it exists, and otherwise returns its value.
func (s Replays) setOnce(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error) {
	// The store counts the time from now on its own clock, in whole seconds. So
	// the time is rounded up. One more second covers the delay and the
	// difference of the clocks.
	ttl := keep.Sub(s.Store.Now()).Truncate(time.Second) + 2*time.Second
	stored, err = s.Store.PutIfAbsent(ctx, "replays:"+key, value, ttl)
	if stored || err != nil {
		return "", stored, err
	}
	// A second call reads the value. This is correct only because an existing
	// key is never written again. If the key has expired in between, Get
	// returns an error. Then nothing is known, and the request is refused.
	prior, err = s.Store.Get(ctx, "replays:"+key)
	return prior, false, err
}

// digest needs no separator: all nonces have one length, and so do all signatures.
func digest(nonceOrSignature []byte, clientKey string) string {
	sum := sha256.Sum256(append(nonceOrSignature, clientKey...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
