package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
)

// deleteOrgTexts are statements that each delete at most $2 rows of the org $1. They name
// the org again only where the selected columns are not unique over all orgs: otherwise
// SQLite reads all rows of the org for each batch.
//
// Live sessions are selected by id, because a concurrent Replace changes the hash. Those
// that were evicted come after them, because a live one may be evicted meanwhile.
//
// A concurrent call selects the same rows. It must lock them before it counts them:
// otherwise it would find all of its batch deleted, and take the table for empty.
var deleteOrgTexts = []string{
	`DELETE FROM {ledger} WHERE (client_key, id) IN (
		SELECT client_key, id FROM {ledger} WHERE org = $1 LIMIT $2 {lock})`,
	`DELETE FROM {sessions} WHERE org = $1 AND replaced = 0 AND (account, id) IN (
		SELECT account, id FROM {sessions} WHERE org = $1 AND replaced = 0 LIMIT $2 {lock})`,
	`DELETE FROM {sessions} WHERE hash IN (SELECT hash FROM {sessions} WHERE org = $1 AND replaced <> 0 LIMIT $2 {lock})`,
	`DELETE FROM {api_keys} WHERE id IN (SELECT id FROM {api_keys} WHERE org = $1 LIMIT $2 {lock})`,
	`DELETE FROM {factors} WHERE org = $1 AND account IN (SELECT account FROM {factors} WHERE org = $1 LIMIT $2 {lock})`,
	`DELETE FROM {attempts} WHERE org = $1 AND key IN (SELECT key FROM {attempts} WHERE org = $1 LIMIT $2 {lock})`,
	`DELETE FROM {repeats} WHERE id IN (SELECT id FROM {repeats} WHERE org = $1 LIMIT $2 {lock})`,
}

// DeleteOrg deletes what the store keeps of an org: signing secrets and key pairs with
// their former ones, tokens, sessions, API keys, incomplete logins, mailed tickets, second
// factors, idempotency keys and counts of attempts. Call it when an org is deleted for good, so that nobody finds them who gets
// its key (auth.Org.Key) later. Accepted requests stay until they end.
//
// Delete or disable the org in the Directory first, and wait until no cache knows it:
// DeleteOrg does not keep anybody from writing. It deletes up to a thousand rows at a
// time, in a transaction each, and waits for no other org except for its writes of key
// pairs and in SQLite. Other orgs wait for at most one of these transactions. Give it a deadline of minutes. After an error, some rows are
// deleted; call it again. Calls may be concurrent. An empty org is an error.
func (s *Store) DeleteOrg(ctx context.Context, org auth.OrgKey) error {
	if org == "" {
		return errors.New("sqlstore: delete an org: no org is named")
	}
	return failed("delete an org", s.deleteOrg(ctx, org))
}

func (s *Store) deleteOrg(ctx context.Context, org auth.OrgKey) error {
	// Credentials first, and then keys: nobody makes anything with them any more.
	if err := s.deleteApps(ctx, string(org), "credentials of\x00"+string(org), "{credentials}", "{formers}"); err != nil {
		return err
	}
	if err := s.deleteApps(ctx, string(org), pairsLock, "{keys}", "{former_keys}"); err != nil {
		return err
	}
	for _, text := range deleteOrgTexts {
		for {
			n, err := s.exec(ctx, text, org, batch)
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
		}
	}
	return nil
}

// deleteApps deletes the rows of an org from a table with a row for each client key, and
// all rows of these client keys from another table.
func (s *Store) deleteApps(ctx context.Context, org, lock, table, formers string) error {
	for {
		var found []string
		err := s.transact(ctx, lock, func(q conn) (err error) {
			found, err = deleteSomeApps(ctx, q, org, table, formers)
			return err
		})
		if err != nil || len(found) == 0 {
			return err
		}
	}
}

// appBatch is small, because key pairs of other orgs wait for the transaction, and because
// PostgreSQL has sent its reply then, also to a host that has vanished. Only a
// transaction that is idle has a time limit.
const appBatch = 100

// deleteSomeApps deletes the present rows first. A concurrent rotation has locked one of
// them: it is complete before its former row is deleted, or it finds nothing to rotate.
func deleteSomeApps(ctx context.Context, q conn, org, table, formers string) (clientKeys []string, err error) {
	err = q.each(ctx, `
		DELETE FROM `+table+` WHERE client_key IN (
			SELECT client_key FROM `+table+` WHERE org = $1 ORDER BY client_key LIMIT $2 {lock})
		RETURNING client_key`, []any{org, appBatch}, func(rows *sql.Rows) error {
		var clientKey string
		err := rows.Scan(&clientKey)
		clientKeys = append(clientKeys, clientKey)
		return err
	})
	if err != nil || len(clientKeys) == 0 {
		return nil, err
	}
	all, err := json.Marshal(clientKeys)
	if err == nil {
		_, err = q.exec(ctx, `DELETE FROM `+formers+` WHERE client_key IN (SELECT {each}($1))`, string(all))
	}
	return clientKeys, err
}
