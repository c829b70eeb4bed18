package signing

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
)

// SetOnce is a Replays over any key-value store that has a conditional write.
// Examples are SET with NX and GET in Redis, INSERT with ON CONFLICT in SQL, and a
// conditional put elsewhere. If the key does not exist, the function sets it to
// value. If the key exists, the function changes nothing and returns the existing
// value. If a store cannot return it from the same call, the function may read it
// afterwards, because values never change.
//
// # What it promises
//
// With such a store, no nonce is accepted twice, and no signature more often than
// Use.Siblings. Any number of processes may share the store. No transaction over
// several keys is needed: each step of a claim writes one key, which only one call
// can win. The steps are, in this order: the signature, the nonce, the slot of a
// sibling, the epoch. So the store must
//   - let one of concurrent calls with the same key win, whichever node they reach,
//     and lose no write that it has confirmed;
//   - hold a key until keep at least, by the clocks of the verifiers, and evict none
//     to make room.
//
// An error means that the outcome is unknown. The claim is then refused, and the keys
// that it has written stay. The same request may never pass, but one that is signed
// anew passes.
//
// A claim takes three calls, and one more for each earlier acceptance of the same
// signature. The number of keys is not bounded.
//
// # What a refused claim leaves
//
// A claim never removes a key. So a refused claim leaves the keys that it wrote
// before it was refused. A replay is refused at its signature and leaves nothing,
// whatever its nonce. Other refused claims leave keys in three cases:
//   - A sibling after the last slot, inside the window, leaves the key of its nonce.
//   - A nonce that was used with another signature leaves the key of the signature,
//     if that is new. A request with this signature can then be refused as a replay.
//     But a client that can send it with a used nonce can also send it with a fresh
//     one, which has the same effect.
//   - A request that was signed before the epoch leaves the same keys as an accepted
//     one, because the epoch is read last. It can do so as often as its signature
//     could have been accepted. After that it is refused as a replay.
//
// # Emptied stores
//
// A store that lost all its data would accept again what it had recorded. The epoch
// prevents that. Its key holds the time of the first claim on an empty store, and a
// request that was not signed later is stale. Hence the very first claim is stale
// too, and its client signs again.
//
// Two kinds of requests can still be replayed: those signed ahead of the clock, as
// with Memory, and those signed during the claim that set the epoch. A store that
// loses some keys and keeps others is not noticed. A replica that is promoted may do
// that.
//
// # Clocks
//
// Times are Use.Seen, so the clocks of verifiers must agree. Their difference is
// added to the sibling window, and to what an emptied store may accept again. A clock
// that is set back accepts requests that the store has forgotten meanwhile. Claims of
// one signature must have the same Keep, as they do when all verifiers have one
// Policy.
//
// # Format
//
// A key is at most 64 bytes of ASCII letters, digits and "-_:":
//
//	n:DIGEST       a nonce
//	s:DIGEST       a signature, at its first acceptance
//	s:DIGEST:2     a signature, at its second acceptance, and so on
//	epoch          asked to be kept for a year; for ever is better
//
// DIGEST is the SHA-256 of the nonce or signature followed by the client key, in
// base64 for URLs. A value is "used" or a time in Unix milliseconds. The time is the
// epoch, or the first acceptance of a signature that may have siblings.
type SetOnce func(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error)

// used is the value of a key that only has to exist.
const used = "used"

// Claim implements Replays. It returns nil, ErrReplayed or ErrStale, or the error of
// ctx. An error of the function is wrapped, so only the function can return ErrFull.
// A nonce that is not 16 bytes long is an error.
func (set SetOnce) Claim(ctx context.Context, u Use) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(u.Nonce) != nonceLength {
		return errNonce
	}
	if !u.Keep.After(u.Seen) {
		return ErrStale
	}
	// Before the nonce: otherwise one captured signature could leave any number of
	// nonces.
	sibling, err := set.claimSignature(ctx, &u)
	if err != nil {
		return err
	}
	if err := set.claimNonce(ctx, &u); err != nil {
		return err
	}
	// After the nonce: a replay must not take the slot of a sibling.
	if sibling {
		if err := set.claimSlot(ctx, &u); err != nil {
			return err
		}
	}
	// Last, so that it notices a store that was emptied between two steps.
	return set.checkEpoch(ctx, &u)
}

func (set SetOnce) claimNonce(ctx context.Context, u *Use) error {
	_, stored, err := set.call(ctx, "n:"+digest([]byte(u.Nonce), u.ClientKey), used, u.Keep)
	if err == nil && !stored {
		return ErrReplayed
	}
	return err
}

// claimSignature reports whether the signature was accepted before, so that u needs a
// sibling slot.
func (set SetOnce) claimSignature(ctx context.Context, u *Use) (sibling bool, err error) {
	value := used
	if !u.single() {
		value = millis(u.Seen)
	}
	first, stored, err := set.call(ctx, signatureKey(u), value, u.Keep)
	switch {
	case err != nil || stored:
		return false, err
	case u.single() || !u.follows(first):
		return false, ErrReplayed
	}
	return true, nil
}

func (set SetOnce) claimSlot(ctx context.Context, u *Use) error {
	for n := 2; n <= u.Siblings; n++ {
		_, stored, err := set.call(ctx, signatureKey(u)+":"+strconv.Itoa(n), used, u.Keep)
		if stored || err != nil {
			return err
		}
	}
	return ErrReplayed
}

func signatureKey(u *Use) string { return "s:" + digest(u.Signature[:], u.ClientKey) }

func (set SetOnce) checkEpoch(ctx context.Context, u *Use) error {
	epoch := millis(u.Seen)
	prior, stored, err := set.call(ctx, "epoch", epoch, u.Seen.AddDate(1, 0, 0))
	if err != nil {
		return err
	}
	if !stored {
		epoch = prior
	}
	begin, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("signing: replay store: epoch %q is no time", epoch)
	}
	if u.Signed.UnixMilli() <= begin {
		return ErrStale
	}
	return nil
}

func (set SetOnce) call(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error) {
	prior, stored, err = set(ctx, key, value, keep)
	if err != nil {
		return "", false, fmt.Errorf("signing: replay store: %w", err)
	}
	return prior, stored, nil
}

// follows reports whether u was seen within its window of the first acceptance. It
// takes the absolute difference, because two verifiers may disagree about the order.
func (u *Use) follows(first string) bool {
	at, err := strconv.ParseInt(first, 10, 64)
	seen := time.UnixMilli(u.Seen.UnixMilli())
	return err == nil && seen.Sub(time.UnixMilli(at)).Abs() < u.window()
}

// digest needs no separator: all nonces have one length, and so do all signatures.
// Only client keys vary in length.
func digest(nonceOrSignature []byte, clientKey string) string {
	sum := sha256.Sum256(append(nonceOrSignature, clientKey...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
