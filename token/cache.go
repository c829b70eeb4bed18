package token

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
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

const (
	defaultStale = 2 * time.Second
	maxKeys      = 8192
)

var errNoKey = errors.New("token: Keys returned neither a key nor an error")

// CachedKeys remembers the keys that another Keys has found. Cached makes one.
type CachedKeys struct {
	keys  Keys
	now   func() time.Time // nil: time.Now
	of    recent.Groups    // by client key
	found recent.Answers[string, *PublicKey]
}

// Cached returns a Keys that remembers what k finds for the duration stale; 0 means 2
// seconds. If another process replaces or deletes a key, it may still be accepted
// here for that long. In this process, call Invalidate: then the key is refused at
// once. The end of a former key is exact, because the Verifier checks it, too, once the
// rotation is known here.
//
// Failures are never remembered, so unknown kids take no memory. At most 8192 keys
// are remembered. It is safe for concurrent use, and a hit takes no lock.
func Cached(k Keys, stale time.Duration) *CachedKeys {
	return &CachedKeys{keys: k, of: recent.Groups{Stale: cmp.Or(max(stale, 0), defaultStale), Limit: maxKeys}}
}

// Public implements Keys. Its errors are those of the Keys that it asks. If that Keys
// returns neither a key nor an error, Public returns an error other than ErrNotFound.
func (c *CachedKeys) Public(ctx context.Context, kid string) (*PublicKey, error) {
	now := clock.Now(c.now)
	if k, ok := c.found.Find(&c.of, now, kid); ok {
		return k, nil
	}
	kid = strings.Clone(kid) // it is a part of a request
	return c.found.Get(ctx, &c.of, now, kid, func() (found recent.Found[*PublicKey], err error) {
		k, err := c.keys.Public(ctx, kid)
		if err != nil || k == nil {
			return found, cmp.Or(err, errNoKey) // a missing answer must not look like a missing key
		}
		return recent.Found[*PublicKey]{Value: k, Group: k.ClientKey}, nil
	})
}

// Invalidate forgets the keys of an app. Call it after the app's pair was replaced,
// rotated or deleted. A look-up that starts after Invalidate has returned does not find the old
// key, even if other look-ups were under way. Keys of other apps stay.
func (c *CachedKeys) Invalidate(clientKey string) { c.of.Forget(clientKey) }
