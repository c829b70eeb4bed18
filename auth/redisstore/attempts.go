package redisstore

import (
	"context"

	"github.com/tenantkit/tenantkit/auth"
)

type attempts struct{ store *Store }

var swapScript = newScript(lua("swap"))

func attemptKey(org auth.OrgKey, key string) string { return "f:" + pair(string(org), key) }

// Load implements session.Attempts.
func (a *attempts) Load(ctx context.Context, org auth.OrgKey, key string) (string, error) {
	return a.store.of(attemptKey(org, key)).get(ctx, attemptKey(org, key))
}

// Swap implements session.Attempts.
func (a *attempts) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	code, err := a.store.of(attemptKey(org, key)).code(ctx, swapScript, []string{attemptKey(org, key)}, old, record)
	if code < 0 || code > 1 {
		err = errReply
	}
	return code == 0 && err == nil, err
}
