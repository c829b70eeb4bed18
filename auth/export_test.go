package auth

import "time"

// CachedOf is Cached with another number of answers of each kind.
func CachedOf(d Directory, stale time.Duration, entries int) *CachedDirectory {
	c := Cached(d, stale)
	c.of.Limit = entries
	return c
}
