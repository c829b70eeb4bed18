package signing

import (
	"crypto/ed25519"
	"hash"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenantkit/tenantkit/internal/baseurl"
)

var SignatureError = signatureError

// CountMACs counts the MACs computed with a key from now on.
func CountMACs(k *Key) *atomic.Int64 {
	n := new(atomic.Int64)
	for i, p := range k.proofs {
		pool := p.macs
		if pool == nil {
			continue
		}
		k.proofs[i].macs = &sync.Pool{New: func() any {
			m := pool.New().(*keyedMAC)
			m.hash = counted{m.hash, n}
			return m
		}}
	}
	return n
}

// Nobody returns the key that is used for unknown client keys.
func Nobody() *Key { return nobody() }

type counted struct {
	hash.Hash
	n *atomic.Int64
}

func (c counted) Sum(b []byte) []byte {
	c.n.Add(1)
	return c.Hash.Sum(b)
}

// Hosts returns how many hosts a Clock knows.
func Hosts(c *Clock) int { return len(c.hosts) }

// SharesClock reports whether two Transports take their timestamps from one clock.
func SharesClock(a, b *Transport) bool {
	return clockOf(a) == clockOf(b)
}

func clockOf(t *Transport) *hostClock {
	base, ok := baseurl.Parse(t.BaseURL)
	if !ok {
		panic("no base URL: " + t.BaseURL)
	}
	return t.clock(baseurl.Origin(base))
}

// Elapse lets time pass on the store's clock. It must not run concurrently with
// Claim.
func (m *Memory) Elapse(d time.Duration) { m.start = m.start.Add(-d) }

// Entries returns for how many entries a store has memory. A request needs two, and a
// client key one.
func (m *Memory) Entries() int {
	entries := 0
	for i := range m.shards {
		s := &m.shards[i]
		entries += len(s.keys)
		if s.table != nil {
			entries += s.table.Room()
		}
	}
	return entries
}

// BaseOf returns the signature base of a request of version 2.
func BaseOf(v *Verifier, r *http.Request) string {
	c := &credential{method: r.Method}
	if err := v.parse(r, c); err != nil {
		return err.Error()
	}
	return string(c.appendMessage(nil))
}

// Matches reports whether a signature belongs to a base. The secret is the MAC key.
func Matches(alg string, secret []byte, public ed25519.PublicKey, text string, signature []byte) bool {
	if alg == algEd25519 {
		return (&Key{proofs: []proof{{public: public}}}).matching([]byte(text), signature, true) != nil
	}
	mac := newMACs("", Secret(secret)).Get().(*keyedMAC)
	return mac.makes([]byte(text), signature)
}
