package token

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/internal/clock"
	"github.com/tenantkit/tenantkit/internal/recent"
)

const (
	defaultStale = 2 * time.Second
	maxKeys      = 8192
)

var errNoKey = errors.New("token: Keys returned neither a key nor an error")

// CachedKeys remembers the keys that another Keys has found. Cached makes one.
type CachedKeys struct {
	Now func() time.Time // nil: time.Now; set before first use, for tests

	keys  Keys
	of    recent.Groups // by client key
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
	now := clock.Now(c.Now)
	if k, ok := c.found.Find(&c.of, now, kid); ok {
		return k, nil
	}
	kid = strings.Clone(kid) // it is a part of a request
	return c.found.Get(ctx, &c.of, now, kid, func() (found recent.Found[*PublicKey], err error) {
		k, err := c.keys.Public(ctx, kid)
		if err == nil && k == nil {
			err = errNoKey // a missing answer must not look like a missing key
		}
		if err != nil {
			return found, err
		}
		return recent.Found[*PublicKey]{Value: k, Group: k.ClientKey}, nil
	})
}

// Invalidate forgets the keys of an app. Call it after the app's pair was replaced,
// rotated or deleted. A look-up that starts after Invalidate has returned does not find the old
// key, even if other look-ups were under way. Keys of other apps stay.
func (c *CachedKeys) Invalidate(clientKey string) { c.of.Forget(clientKey) }
