package signing

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"
)

// SetOnce is a Replays over any store of keys and values that has a write with
// a condition: SET with NX and GET in Redis, INSERT with ON CONFLICT in SQL, a
// conditional put elsewhere. The function sets key to value, unless the key
// exists; then it changes nothing and returns the value there is. A store that
// cannot return it from the same call may be asked afterwards, as values never
// change.
//
// # What it promises
//
// With such a store, shared by any number of processes, no nonce is accepted
// twice, and no signature more often than Use.Siblings. This takes no
// transaction over several keys, as every step of a claim is the writing of
// one key, which only one call can win: first the signature, then the nonce,
// then the place of a sibling, at last the epoch. So the store must
//   - let one of concurrent calls with the same key win, whichever node they
//     reach, and lose no write that it has confirmed;
//   - hold a key until keep at least, by the clocks of the verifiers, and evict
//     none to make room.
//
// An error means that the outcome is unknown. The claim is then refused, and
// what it has written stays: the same request may never pass, but one that is
// signed anew does.
//
// A claim takes three calls, and one more for each acceptance of the same
// signature before it. Nothing bounds the number of keys.
//
// # What a refused claim leaves
//
// No key can be taken back, so that a claim leaves what it has written before
// it is refused. A replay is refused at its signature and leaves nothing,
// whatever its nonce. There are three exceptions:
//   - Siblings beyond the last place, inside their window: the key of the nonce.
//   - A nonce that was used with another signature: the key of the signature,
//     if that is new. A request signed so can then be refused as a replay. Who
//     can send it with a used nonce can send it with a fresh one, too, which
//     has the same effect.
//   - A request that was signed before the epoch, which is read last: what an
//     accepted one leaves. So each signature does as often as it could have been
//     accepted; sent once more it is refused as a replay.
//
// # Emptied stores
//
// A store that comes back without its data would let in again what it had
// recorded. The epoch prevents that: the key holds the time of the first claim
// on an empty store, and what was not signed later is stale. Hence the first
// claim of all is stale too; clients sign again. That leaves what was signed
// ahead of the clock, as with Memory, or while the claim was under way that gave
// the epoch its time. A store that loses some keys and keeps others, as a
// replica that is promoted may, is not noticed.
//
// # Clocks
//
// Times are Use.Seen, so the clocks of verifiers must agree. What they differ by
// is added to the sibling window and to what an emptied store may let in again;
// and one that is stepped back lets in what the store has forgotten meanwhile.
// Claims of one signature must have the same Keep, as they do when all
// verifiers have one Policy.
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
// DIGEST is the SHA-256 of nonce or signature and client key, in base64 for
// URLs. A value is "used" or a time in Unix milliseconds: the epoch, or the
// first sight of a signature that may have siblings.
type SetOnce func(ctx context.Context, key, value string, keep time.Time) (prior string, stored bool, err error)

// used is the value of a key that only has to exist.
const used = "used"

// Claim implements Replays: it returns nil, ErrReplayed or ErrStale, or the
// error of ctx. What the function returns as an error is wrapped, so ErrFull is
// for it to say. A nonce that is not 16 bytes long is an error.
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
	// Before the nonce, or a captured signature could leave any number of nonces.
	sibling, err := set.claimSignature(ctx, &u)
	if err != nil {
		return err
	}
	if err := set.claimNonce(ctx, &u); err != nil {
		return err
	}
	// After the nonce: a replay must take no sibling's place.
	if sibling {
		if err := set.claimPlace(ctx, &u); err != nil {
			return err
		}
	}
	// Last: had the store been emptied between two steps, this one tells.
	return set.checkEpoch(ctx, &u)
}

func (set SetOnce) claimNonce(ctx context.Context, u *Use) error {
	_, stored, err := set.call(ctx, "n:"+digest([]byte(u.Nonce), u.ClientKey), used, u.Keep)
	if err == nil && !stored {
		return ErrReplayed
	}
	return err
}

// claimSignature reports whether the signature was accepted before, so that u
// needs a place among its siblings.
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

func (set SetOnce) claimPlace(ctx context.Context, u *Use) error {
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

// follows reports whether u was seen within its window of the first sight. Two
// verifiers may disagree about the order.
func (u *Use) follows(first string) bool {
	at, err := strconv.ParseInt(first, 10, 64)
	seen := time.UnixMilli(u.Seen.UnixMilli())
	return err == nil && seen.Sub(time.UnixMilli(at)).Abs() < u.window()
}

// digest needs no separator, as of one kind only client keys vary in length.
func digest(nonceOrSignature []byte, clientKey string) string {
	sum := sha256.Sum256(append(nonceOrSignature, clientKey...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
