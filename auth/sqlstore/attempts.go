package sqlstore

import (
	"context"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
)

type attempts struct{ store *Store }

// Attempts returns the store's counts of attempts. A row is deleted a day after its latest Swap by
// the engine's clock.
func (s *Store) Attempts() session.Attempts { return &attempts{s} }

// Load implements session.Attempts.
func (a *attempts) Load(ctx context.Context, org auth.OrgKey, key string) (record string, err error) {
	err = a.store.find(ctx, `SELECT record FROM {attempts} WHERE org = $1 AND key = $2`, []any{org, key}, &record)
	return record, failed("load attempts", found(err, nil))
}

// Swap implements session.Attempts. One statement decides, and writes nothing if it loses.
func (a *attempts) Swap(ctx context.Context, org auth.OrgKey, key, old, record string) (bool, error) {
	text, args := `UPDATE {attempts} SET record = $4, swapped = {now} WHERE org = $1 AND key = $2 AND record = $3`, []any{org, key, old, record}
	switch {
	case old == "" && record == "":
		present, err := a.Load(ctx, org, key)
		return present == "" && err == nil, err
	case old == "":
		text, args = `INSERT INTO {attempts} (org, key, record, swapped) VALUES ($1, $2, $3, {now}) ON CONFLICT (org, key) DO NOTHING`, []any{org, key, record}
	case record == "":
		text, args = `DELETE FROM {attempts} WHERE org = $1 AND key = $2 AND record = $3`, args[:3]
	}
	n, err := a.store.exec(ctx, text, args...)
	a.store.countWrite(ctx, old == "" && n > 0)
	return n > 0, failed("swap attempts", err)
}
