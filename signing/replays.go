package signing

import (
	"context"
	"errors"
	"time"
)

// Use is one request whose signature has been verified, as a replay store
// records it.
type Use struct {
	ClientKey string
	Nonce     string   // 16 letters and digits; case matters
	Signature [32]byte // the decoded HMAC

	Signed time.Time // what the client put under the signature
	Seen   time.Time // the verifier's clock; a store with a clock of its own uses that
	Keep   time.Time // until when nonce and signature must be remembered

	// Siblings is how often the signature may be accepted in all, each time
	// with a fresh nonce, less than Window after the first time, by clocks that
	// count milliseconds. One or less, or a Window of less than a millisecond,
	// means single use, for good: a signature accepted so has no siblings
	// afterwards, whatever a later Use says. What decides on siblings, a header
	// say, need not be under the MAC.
	Siblings int
	Window   time.Duration
}

// Replays remembers what has been accepted, so that nothing is accepted
// twice. It is called once per request, after the MAC has been verified.
//
// Claim is one atomic step: of any number of concurrent calls, in this process
// or in another that shares the store, with the same client key and nonce
// exactly one returns nil, and of calls with the same signature no more than
// Siblings do. A refused claim leaves nothing, neither its nonce nor its
// signature, so that it takes no room and refuses no request later; SetOnce says
// how far it keeps to this. Claims of different client keys never meet.
//
// A nonce and a signature are remembered until u.Keep at least; nothing is
// dropped earlier to make room.
//
// Claim returns nil, or an error that wraps
//   - ErrReplayed: the nonce, or the signature beyond its siblings, was
//     accepted before;
//   - ErrStale: the request was not signed after the store's own memory began,
//     or is past its retention, so that the store cannot know;
//   - ErrFull: the store, or the client key's share of it, is full.
//
// Any other error means that the outcome is unknown. The caller refuses the
// request and does not try again: an ambiguous claim counts as claimed.
//
// Implementations are safe for concurrent use, and return when ctx ends.
type Replays interface {
	Claim(ctx context.Context, u Use) error
}

// What Claim returns, and Verify passes on.
var (
	ErrReplayed = errors.New("signing: request was accepted before")
	ErrStale    = errors.New("signing: timestamp outside the window")
	ErrFull     = errors.New("signing: replay store is full")
)
