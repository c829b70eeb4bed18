package token

import (
	"context"
	"errors"
	"time"

	"github.com/tenantkit/tenantkit/internal/recent"
)

const (
	defaultStale = 2 * time.Second
	maxKeys      = 8192
)

var errNoKey = errors.New("token: Keys returned neither a key nor an error")

// CachedKeys remembers the keys another Keys has found. Cached makes one.
type CachedKeys struct {
	Now func() time.Time // nil: time.Now; set before first use, for tests

	keys  Keys
	of    recent.Groups // by client key
	found recent.Answers[string, *PublicKey]
}

// Cached remembers what k finds for as long as stale; 0 means 2 seconds. That
// is the bound on how long a key that was replaced or deleted in another
// process is still taken for current here. In this process, call Invalidate
// and the bound is zero. Failures are never remembered, so that unknown kids
// take no memory; at most 8192 keys are. It is safe for concurrent use, and a
// hit takes no lock.
func Cached(k Keys, stale time.Duration) *CachedKeys {
	if stale <= 0 {
		stale = defaultStale
	}
	return &CachedKeys{keys: k, of: recent.Groups{Stale: stale, Limit: maxKeys}}
}

// Public implements Keys. Its errors are those of the Keys it asks. That these
// return neither a key nor an error is one, too, and not ErrNotFound.
func (c *CachedKeys) Public(ctx context.Context, kid string) (*PublicKey, error) {
	return c.found.Get(&c.of, current(c.Now), kid, func() (*PublicKey, string, error) {
		k, err := c.keys.Public(ctx, kid)
		if err == nil && k == nil {
			err = errNoKey // no answer: it must not read as an absence
		}
		if err != nil {
			return nil, "", err
		}
		return k, k.ClientKey, nil
	})
}

// Invalidate forgets the keys of an app. Call it after the app's pair has been
// replaced or deleted: no look-up that starts after it returns finds the old
// key, whatever look-ups were under way. Keys of other apps stay.
func (c *CachedKeys) Invalidate(clientKey string) { c.of.Forget(clientKey) }
