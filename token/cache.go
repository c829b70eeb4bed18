package token

import (
	"strings"
	"sync"
	"sync/atomic"
)

const (
	defaultEntries = 16384
	defaultBytes   = 64 << 20

	// maxChances is how many entries in use one eviction passes over.
	maxChances = 8
)

// Cache remembers tokens that were verified, so that seeing one again costs no
// RSA. It is bounded: when full, it drops entries that were not seen lately. A
// hit is checked again for everything that can change: its times, its key, what
// is expected of it, Admit, and the ledger if it has a jti. The zero Cache is
// ready; it must not be copied, and its fields not be changed, once used.
type Cache struct {
	Entries int // how many tokens; 0: 16384
	Bytes   int // of memory, about; 0: 64 MiB

	mu    sync.RWMutex
	found map[string]*entry // by the whole text of the token
	ring  []*entry          // the same, in no order
	hand  int               // where in ring the next eviction looks
	bytes int
}

// entry is one token that passed every check. Only used changes.
type entry struct {
	raw   string
	token *Verified
	by    *Verifier // another Verifier may speak another grammar
	slot  int       // in ring
	used  atomic.Bool
}

// cost is about what the entry keeps alive: the text, the claims read from it,
// and the compiled chains, of which a short text can hold many.
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
	// The caller's text may be a part of a larger buffer, or of one in use again.
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

// evict makes room. An entry that was hit since the hand last passed gets
// another chance, but only so many do, so that the work is bounded.
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

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}
