package token

import (
	"cmp"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	defaultEntries = 16384
	defaultBytes   = 64 << 20

	// maxChances is how many used entries one eviction may skip.
	maxChances = 8
)

// Cache remembers verified tokens, so that a repeated token costs no RSA. It is
// bounded: when full, it drops entries that were not used lately.
//
// On a hit, everything that can change is checked again: the times, the key, Expect,
// Admit, and, if the token has a jti, the ledger. The zero Cache is ready. It must
// not be copied, and its fields must not change once it is used.
type Cache struct {
	Entries int // how many tokens; 0: 16384
	Bytes   int // of memory, about; 0: 64 MiB

	mu    sync.RWMutex
	found map[string]*entry // by the whole text of the token
	ring  []*entry          // the same entries, in no order
	hand  int               // the index in ring where the next eviction begins
	bytes int
}

// entry is one token that passed every check. Only used changes.
type entry struct {
	raw   string
	token *Verified
	by    *Verifier // another Verifier may have another grammar
	slot  int       // its index in ring
	used  atomic.Bool
}

// cost estimates the bytes that the entry keeps alive: the text, the claims read from
// it, and the compiled chains. A short text can hold many chains.
func (e *entry) cost() int {
	cost := 1024 + 2*len(e.raw)
	for _, chain := range e.token.claims.Scope {
		cost += 192 + 96*strings.Count(chain, ".")
	}
	return cost
}

func (c *Cache) get(raw string) *entry {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	e := c.found[raw]
	c.mu.RUnlock()
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

func (c *Cache) put(raw string, t *Verified, by *Verifier) {
	if c == nil {
		return
	}
	// The caller's text may be a part of a larger buffer, or of one that is reused.
	e := &entry{raw: strings.Clone(raw), token: t, by: by}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.found[raw]; old != nil {
		c.remove(old)
	}
	if e.cost() > c.maxBytes() {
		return
	}
	for len(c.ring) >= c.maxEntries() || c.bytes+e.cost() > c.maxBytes() {
		c.evict()
	}
	if c.found == nil {
		c.found = map[string]*entry{}
	}
	c.found[e.raw] = e
	e.slot = len(c.ring)
	c.ring = append(c.ring, e)
	c.bytes += e.cost()
}

// evict removes one entry. An entry that was used since the hand last passed is
// skipped. The number of skipped entries is limited, so that the work is bounded.
func (c *Cache) evict() {
	for range maxChances {
		c.hand %= len(c.ring)
		if !c.ring[c.hand].used.Swap(false) {
			break
		}
		c.hand++
	}
	c.hand %= len(c.ring)
	c.remove(c.ring[c.hand])
}

func (c *Cache) remove(e *entry) {
	delete(c.found, e.raw)
	last := len(c.ring) - 1
	c.ring[e.slot] = c.ring[last]
	c.ring[e.slot].slot = e.slot
	c.ring[last] = nil
	c.ring = c.ring[:last]
	c.bytes -= e.cost()
}

func (c *Cache) maxEntries() int { return orDefault(c.Entries, defaultEntries) }
func (c *Cache) maxBytes() int   { return orDefault(c.Bytes, defaultBytes) }

func orDefault(n, otherwise int) int { return cmp.Or(max(n, 0), otherwise) }
