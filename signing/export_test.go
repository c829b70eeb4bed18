package signing

import (
	"hash"
	"sync"
	"sync/atomic"
)

var (
	AppendLetters  = appendLetters
	SignatureError = signatureError
)

// CountMACs counts the MACs computed with a key from now on.
func CountMACs(k *Key) *atomic.Int64 {
	n := new(atomic.Int64)
	for i, pool := range k.macs {
		k.macs[i] = &sync.Pool{New: func() any {
			m := pool.New().(*keyedMAC)
			m.hash = counted{m.hash, n}
			return m
		}}
	}
	return n
}

// Nobody is the key that stands in for unknown ones.
func Nobody() *Key { return nobody() }

type counted struct {
	hash.Hash
	n *atomic.Int64
}

func (c counted) Sum(b []byte) []byte {
	c.n.Add(1)
	return c.Hash.Sum(b)
}
