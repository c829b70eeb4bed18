package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/internal/face"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

type apiKeys struct{ store *Store }

// APIKeys returns the store's API keys. Get is one look-up by the primary key, and Use is one update.
// Add and Swap are transactions. In PostgreSQL they wait only for others of the same owner. A record
// is deleted some time after its end by the engine's clock.
func (s *Store) APIKeys() apikey.Store { return &apiKeys{s} }

const selectKeys = `SELECT id, org, account, app, maker, stored, max_uses, uses, nullif(seen, 0), seen_from FROM {api_keys} WHERE `

func keyOf(rows *sql.Rows) (r apikey.Record, err error) {
	var stored string
	err = rows.Scan(&r.ID, &r.Org, &r.Account, &r.App, &r.Maker, &stored, &r.Uses, &r.Used, millis(&r.Seen), parsed(r.From.UnmarshalText))
	if err == nil {
		err = r.SetStored(stored)
	}
	return r, err
}

// Add implements apikey.Store.
func (k *apiKeys) Add(ctx context.Context, r apikey.Record, limit int) error {
	return k.change(ctx, r, verbs.APIKeyMade, func(q conn) error { return addKey(ctx, q, r, limit) })
}

// change runs f in a transaction. It has the lock of the account: RevokeAccount, which has it too, would
// otherwise miss the successor of a key that is replaced at the same time.
func (k *apiKeys) change(ctx context.Context, r apikey.Record, verb string, f func(conn) error) error {
	if !storable(string(r.Org), r.Account, r.Name) { // a name is stored as JSON, in which exec does not see it
		return failed("store an API key", errText)
	}
	e := auth.Event{Verb: verb, Org: r.Org, Credential: r.ID, App: r.App, Account: r.Account, Reason: r.Successor}
	err := k.store.noted(ctx, e, f, accountLock(r.Org, r.Account))
	k.store.countWrite(ctx, err == nil)
	return failed("store an API key", err)
}

func addKey(ctx context.Context, q conn, r apikey.Record, limit int) error {
	created, count := r.Created.UnixMilli(), 0
	_, err := q.exec(ctx, `DELETE FROM {api_keys} WHERE `+ofAccountText+` AND (expires <= $3 OR max_uses > 0 AND uses >= max_uses)`, r.Org, r.Account, created)
	if err == nil {
		err = q.one(ctx, `SELECT count(*) FROM {api_keys} WHERE `+ofAccountText, []any{r.Org, r.Account}, &count)
	}
	switch {
	case err != nil:
		return err
	case count >= limit:
		return apikey.ErrTooMany
	}
	n, err := q.exec(ctx, `
		INSERT INTO {api_keys} (id, org, account, app, maker, stored, expires, max_uses, uses, seen, seen_from)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, '') ON CONFLICT (id) DO NOTHING`,
		r.ID, r.Org, r.Account, r.App, r.Maker, r.Stored(), orNull(r.Expires, time.Time.UnixMilli), r.Uses)
	return changed(n, err, auth.ErrConflict)
}

// Swap implements apikey.Store.
func (k *apiKeys) Swap(ctx context.Context, before, after apikey.Record, successor *apikey.Record, limit int) error {
	verb := verbs.APIKeyRestricted
	if successor != nil {
		verb = verbs.APIKeyReplaced
	}
	return k.change(ctx, after, verb, func(q conn) error {
		n, err := q.exec(ctx, `UPDATE {api_keys} SET stored = $4, expires = $5 WHERE id = $1 AND org = $2 AND stored = $3`,
			before.ID, before.Org, before.Stored(), after.Stored(), orNull(after.Expires, time.Time.UnixMilli))
		if err = changed(n, err, auth.ErrConflict); err != nil || successor == nil {
			return err
		}
		return addKey(ctx, q, *successor, limit)
	})
}

// Get implements apikey.Store.
func (k *apiKeys) Get(ctx context.Context, id string) (apikey.Record, error) {
	r, err := get(ctx, k.store, selectKeys+`id = $1`, []any{id}, keyOf)
	return r, failed("get an API key", found(err, auth.ErrNotFound))
}

// Use implements apikey.Store.
func (k *apiKeys) Use(ctx context.Context, id string, at time.Time, from netip.Prefix) error {
	args := []any{id, at.UnixMilli(), at.Add(-face.Every).UnixMilli(), prefixText(from)}
	// A key without a limit is not written if it was seen. Otherwise each request would write.
	n, err := k.store.exec(ctx, `
		UPDATE {api_keys} SET uses = uses + CASE WHEN max_uses > 0 THEN 1 ELSE 0 END,
			seen_from = CASE WHEN seen <= $3 THEN $4 ELSE seen_from END, seen = CASE WHEN seen <= $3 THEN $2 ELSE seen END
		WHERE id = $1 AND (max_uses = 0 AND seen <= $3 OR uses < max_uses)`, args...)
	if err == nil && n == 0 {
		var there bool
		err = k.store.find(ctx, `SELECT true FROM {api_keys} WHERE id = $1 AND max_uses = 0`, args[:1], &there)
	}
	return failed("use an API key", found(err, auth.ErrNotFound))
}

// Revoke implements apikey.Store.
func (k *apiKeys) Revoke(ctx context.Context, org auth.OrgKey, id string) error {
	err := k.store.audited(ctx, org, func(q conn) error {
		ended := auth.Event{Verb: verbs.APIKeyEnded, Credential: id}
		err := q.one(ctx, `DELETE FROM {api_keys} WHERE id = $1 AND org = $2 RETURNING account, app`, []any{id, org}, &ended.Account, &ended.App)
		q.note(ended)
		return err
	})
	return failed("revoke an API key", found(err, auth.ErrNotFound))
}

// List implements apikey.Store.
func (k *apiKeys) List(ctx context.Context, of apikey.Of, after string, limit int) (page []apikey.Record, next string, err error) {
	if limit < 1 || limit > apikey.MaxPage {
		return nil, "", fmt.Errorf("sqlstore: list API keys: the limit is not 1 to %d", apikey.MaxPage)
	}
	// Each condition has its index. One row more than the page shows whether another one follows.
	text, args := `org = $1`, []any{of.Org, after, limit + 1}
	switch {
	case of.Account != "":
		text, args = text+` AND account = $4`, append(args, of.Account)
	case of.App != "":
		text, args = text+` AND app = $4`, append(args, of.App)
	}
	rows, err := list(ctx, k.store, selectKeys+text+` AND id > $2 ORDER BY id LIMIT $3`, args, keyOf)
	if err != nil {
		return nil, "", failed("list API keys", err)
	}
	if len(rows) > limit {
		rows, next = rows[:limit], rows[limit-1].ID
	}
	return slices.DeleteFunc(rows, func(r apikey.Record) bool { return !of.Has(&r) }), next, nil
}
