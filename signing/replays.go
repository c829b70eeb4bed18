package signing

import (
	"context"
	"errors"
	"time"
)

// Use is one request whose signature was verified, as a replay store records it.
type Use struct {
	ClientKey string
	Nonce     string   // 16 letters and digits; case matters
	Signature [32]byte // the decoded HMAC; of version 2 the SHA-256 of the signature

	Signed time.Time // the signed timestamp
	Seen   time.Time // when all of it had arrived, by the verifier's clock; a store may use its own clock instead
	Keep   time.Time // until when nonce and signature must be remembered

	// Siblings is how often the signature may be accepted in all. Each acceptance
	// needs a fresh nonce, and must come less than Window after the first, by clocks
	// that count milliseconds. If Siblings is one or less, or Window less than a
	// millisecond, the signature is for single use.
	//
	// Single use is final: a signature accepted in this way has no siblings
	// afterwards, whatever a later Use says. Otherwise an attacker could change a
	// header that decides on siblings and that the MAC does not cover.
	Siblings int
	Window   time.Duration
}

// Replays remembers accepted requests, so that none is accepted twice. It is called
// once per request, after the MAC was verified.
//
// Claim is one atomic step. Calls may be concurrent, in this process or in another
// that shares the store. Of all calls with the same client key and nonce, exactly one
// returns nil. Of all calls with the same signature, no more than Siblings return
// nil. A refused claim leaves nothing, neither its nonce nor its signature: it takes
// no room and refuses no later request. While it runs, it may refuse another one of the same nonce. Claims of different client keys never affect each other.
//
// A nonce and a signature are remembered until u.Keep at least. Nothing is dropped
// earlier to make room.
//
// Claim returns nil, or an error that wraps
//   - ErrReplayed: the nonce was accepted before, or the signature was accepted as
//     often as its siblings allow;
//   - ErrStale: the request was not signed after the store's own memory began, or is
//     past its retention, so that the store cannot know;
//   - ErrFull: the store is full, or the client key's share of it.
//
// Any other error means that the outcome is unknown. The caller refuses the request
// and does not try again: an ambiguous claim counts as claimed.
//
// Implementations are safe for concurrent use, and return when ctx ends.
type Replays interface {
	Claim(ctx context.Context, u Use) error
}

// UsedNonces is what a Replays may be, too. Verify then refuses a repeated request of
// version 2 before it reads a body that is long, or of unknown length. Otherwise one
// captured request makes a server hold a body for each connection of the attacker.
//
// Used reports whether Claim has accepted a nonce of a client key and still remembers
// it. It records nothing, and false promises nothing: Claim alone decides. An error
// means that the store failed. Used is called after the signature was verified.
// Implementations are safe for concurrent use, and return when ctx ends.
type UsedNonces interface {
	Used(ctx context.Context, clientKey, nonce string) (bool, error)
}

// Errors of Claim, which Verify passes on.
var (
	ErrReplayed = errors.New("signing: request was accepted before")
	ErrStale    = errors.New("signing: timestamp outside the window")
	ErrFull     = errors.New("signing: replay store is full")
)
