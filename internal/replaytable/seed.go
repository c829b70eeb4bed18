package replaytable

import (
	"encoding/binary"
	"hash/maphash"
)

// Tag is a keyed hash of 64 bits. It stands for a client key, or for a nonce or
// a signature of a client key.
type Tag uint64

// Seed makes tags. Each Seed has a random key, which never leaves the process. So
// clients who choose nonces cannot make two tags collide, or fill one bucket.
//
// The hash is maphash. Its documentation promises a uniform distribution, and says
// that it is not cryptographically secure. The remaining risk is on the safe side.
// Equal inputs have equal tags, so no request is accepted twice, however weak the
// hash is.
//
// If different inputs have equal tags, a good request is refused. With n entries in
// the table, a claim of two tags collides with one of them once in 2^63/n times. A
// store of a million requests in 64 tables has n = 31,250, and refuses one good claim
// in 3 * 10^14.
type Seed struct{ seed maphash.Seed }

// NewSeed returns a Seed with a new random key.
func NewSeed() Seed { return Seed{maphash.MakeSeed()} }

// Key returns the tag of a client key.
func (s Seed) Key(clientKey string) Tag {
	return Tag(maphash.String(s.seed, clientKey))
}

// Nonce returns the tag of a nonce, which is 16 bytes long, under the tag of its
// client key.
func (s Seed) Nonce(key Tag, nonce string) Tag {
	var b [8 + 16]byte
	binary.LittleEndian.PutUint64(b[:], uint64(key))
	copy(b[8:], nonce)
	return Tag(maphash.Bytes(s.seed, b[:]))
}

// Signature returns the tag of a signature under the tag of its client key. Its input
// is longer than that of any nonce, so the two inputs are never equal.
func (s Seed) Signature(key Tag, signature *[32]byte) Tag {
	var b [8 + 32]byte
	binary.LittleEndian.PutUint64(b[:], uint64(key))
	copy(b[8:], signature[:])
	return Tag(maphash.Bytes(s.seed, b[:]))
}

// Pick maps a tag to a number below n, by its highest bits.
func (t Tag) Pick(n int) int { return scale(uint32(t>>32), n) }

// part, home and otherHome map a tag to a number below n as well. Each of the three
// reads other bits, if n is at most 1<<16. Pick reads the same bits as home. It is
// for tags of client keys, which are in no table.
func (t Tag) part(n int) int      { return scale(uint32(t>>16), n) }
func (t Tag) home(n int) int      { return scale(uint32(t>>32), n) }
func (t Tag) otherHome(n int) int { return scale(uint32(t), n) }

func scale(random uint32, n int) int { return int(uint64(random) * uint64(n) >> 32) }
