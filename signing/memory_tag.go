package signing

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"sync"
)

// tag stands for a client key, or for a nonce or a signature of a client key:
// 96 bits that are random to everyone outside. If two tags of one table were
// ever equal, a request would be refused, and none let in.
type tag struct{ a, b, c uint32 }

// home and otherHome map a tag to one of n. Each reads other bits.
func (t tag) home(n int) int      { return scale(t.a, n) }
func (t tag) otherHome(n int) int { return scale(t.b, n) }

func scale(random uint32, n int) int { return int(uint64(random) * uint64(n) >> 32) }

// tagger makes MACs under keys nobody knows, as those who choose nonces must
// not be able to make two tags meet, or to crowd a table.
//
// It computes CBC-MACs with AES: of the padded client key, then of the nonce
// (one block) or the signature (two), with a cipher of its own for the last
// block of each kind. AES is a permutation, so the MACs of a client key's
// nonces are as different as the nonces.
type tagger struct {
	inner, nonce, signature cipher.Block

	pool sync.Pool // *mac: what is passed to a cipher.Block escapes
}

func newTagger() *tagger {
	return &tagger{
		inner:     newCipher(),
		nonce:     newCipher(),
		signature: newCipher(),
		pool:      sync.Pool{New: func() any { return new(mac) }},
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

// macs requires that the nonce is one block long.
func (t *tagger) macs(u *Use) (key, nonce, signature mac) {
	m := t.pool.Get().(*mac)
	defer t.pool.Put(m)

	*m = mac{}
	rest := u.ClientKey
	for ; len(rest) >= len(m); rest = rest[len(m):] {
		m.add(t.inner, mac([]byte(rest[:len(m)])))
	}
	var last mac
	last[copy(last[:], rest)] = 0x80 // so that no two keys pad to the same
	m.add(t.inner, last)
	key = *m

	m.add(t.nonce, mac([]byte(u.Nonce)))
	nonce = *m

	*m = key
	m.add(t.inner, mac(u.Signature[:len(m)]))
	m.add(t.signature, mac(u.Signature[len(m):]))
	return key, nonce, *m
}

// mac is a block of AES: the state of a CBC-MAC.
type mac [aes.BlockSize]byte

func (m *mac) add(c cipher.Block, block mac) {
	subtle.XORBytes(m[:], m[:], block[:])
	c.Encrypt(m[:], m[:])
}

func (m *mac) tag() tag { return tag{m.word(0), m.word(1), m.word(2)} }

// pick maps a MAC to one of n, by the bits that its tag leaves out.
func (m *mac) pick(n int) int { return scale(m.word(3), n) }

func (m *mac) word(i int) uint32 { return binary.LittleEndian.Uint32(m[4*i:]) }
