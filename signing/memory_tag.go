package signing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// tag stands for a client key, or for a nonce or a signature of a client key:
// 128 bits that are random to everyone outside. If two tags were ever equal, a
// request would be refused, and none let in.
type tag struct{ a, b, c, d uint32 }

// pick, home and otherHome map a tag to one of n. Each reads other bits.
func (t tag) pick(n int) int      { return scale(t.a, n) }
func (t tag) home(n int) int      { return scale(t.b, n) }
func (t tag) otherHome(n int) int { return scale(t.c, n) }

func scale(random uint32, n int) int { return int(uint64(random) * uint64(n) >> 32) }

// tagger makes tags under keys nobody knows, as those who choose nonces must
// not be able to make two tags meet, or to crowd a table.
//
// It computes CBC-MACs with AES: of the padded client key, then of the nonce
// (one block) or the signature (two), with a cipher of its own for the last
// block of each kind. AES is a permutation, so the tags of a client key's
// nonces are as different as the nonces.
type tagger struct {
	inner, nonce, signature cipher.Block

	buffers sync.Pool // *[16]byte: what goes into a cipher.Block escapes
}

func newTagger() *tagger {
	return &tagger{
		inner:     newCipher(),
		nonce:     newCipher(),
		signature: newCipher(),
		buffers:   sync.Pool{New: func() any { return new([aes.BlockSize]byte) }},
	}
}

func newCipher() cipher.Block {
	var key [16]byte
	rand.Read(key[:])
	c, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // 16 bytes are a key
	}
	return c
}

// tags requires that the nonce is one block long.
func (t *tagger) tags(u *Use) (key, nonce, signature tag) {
	buffer := t.buffers.Get().(*[aes.BlockSize]byte)
	defer t.buffers.Put(buffer)

	var k block
	rest := u.ClientKey
	for ; len(rest) >= aes.BlockSize; rest = rest[aes.BlockSize:] {
		k = k.xor(load([]byte(rest[:aes.BlockSize]))).encrypt(t.inner, buffer)
	}
	var last [aes.BlockSize]byte
	last[copy(last[:], rest)] = 0x80 // so that no two keys pad to the same
	k = k.xor(load(last[:])).encrypt(t.inner, buffer)

	n := k.xor(load([]byte(u.Nonce))).encrypt(t.nonce, buffer)
	s := k.xor(load(u.Signature[:aes.BlockSize])).encrypt(t.inner, buffer)
	s = s.xor(load(u.Signature[aes.BlockSize:])).encrypt(t.signature, buffer)
	return k.tag(), n.tag(), s.tag()
}

// block is a block of AES.
type block struct{ lo, hi uint64 }

func load(b []byte) block {
	return block{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
}

func (b block) xor(c block) block { return block{b.lo ^ c.lo, b.hi ^ c.hi} }

func (b block) encrypt(c cipher.Block, buffer *[aes.BlockSize]byte) block {
	binary.LittleEndian.PutUint64(buffer[:8], b.lo)
	binary.LittleEndian.PutUint64(buffer[8:], b.hi)
	c.Encrypt(buffer[:], buffer[:])
	return load(buffer[:])
}

func (b block) tag() tag {
	return tag{uint32(b.lo), uint32(b.lo >> 32), uint32(b.hi), uint32(b.hi >> 32)}
}
