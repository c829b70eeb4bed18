package token

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/recent"
)

const defaultBytes = 64 << 20

// Cache remembers verified tokens, so that a repeated token costs no RSA. Each org has an equal
// share of its memory, and may use room that no other org needs. An org that has used its share
// up replaces its own oldest tokens, with one of eight new ones on average. So a flood of tokens
// that are used once evicts few that are in use.
//
// On a hit, everything that can change is checked again: the times, the key, Expect,
// Admit, and, if the token has a jti, the ledger. The zero Cache is ready. It must
// not be copied, and its fields must not change once it is used.
type Cache struct {
	Bytes int // of memory, about; 0: 64 MiB

	once sync.Once
	orgs recent.Groups
	seen recent.Answers[string, seen] // by the whole text of the token
}

// seen is a token that passed every check.
type seen struct {
	token *Verified
	by    *Verifier // another Verifier may have another grammar
}

// cost estimates the KiB that an entry keeps alive: the text, the claims read from it, and the
// compiled chains. A short text can hold many chains.
func (t *Verified) cost(raw string) int {
	cost := 1024 + 2*len(raw)
	for _, chain := range t.claims.Scope {
		cost += 192 + 96*strings.Count(chain, ".")
	}
	return (cost + 1023) / 1024
}

func (c *Cache) groups() *recent.Groups {
	c.once.Do(func() {
		c.orgs.Stale = 1 // entries have no age, so the time is always the same
		c.orgs.Limit = cmp.Or(max(c.Bytes, 0), defaultBytes) / 1024
	})
	return &c.orgs
}

func (c *Cache) get(raw string) (known seen) {
	if c != nil {
		known, _ = c.seen.Find(c.groups(), time.Time{}, raw)
	}
	return known
}

func (c *Cache) put(raw string, t *Verified, by *Verifier) {
	if c == nil {
		return
	}
	// The caller's text may be a part of a larger buffer, or of one that is reused.
	c.seen.Keep(c.groups(), 0, time.Time{}, strings.Clone(raw), recent.Found[seen]{
		Value: seen{t, by}, Group: string(t.key.Org), Cost: t.cost(raw),
	})
}
