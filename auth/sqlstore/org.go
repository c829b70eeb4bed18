package sqlstore

import (
	"context"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// deleteOrgTexts are statements that each delete at most $2 rows of the org $1. Credentials come first, and
// then keys: nobody makes anything with them any more.
//
// A concurrent rotation has locked the present row. It is complete before that is deleted, or it finds
// nothing to rotate. So former secrets and keys come after it. A former key has no org: those without a
// present key verify nothing, whose ever they were.
//
// Live sessions are selected by id, because a concurrent Replace changes the hash. Those
// that were evicted come after them, because a live one may be evicted meanwhile.
var deleteOrgTexts = []string{
	ofOrg("{credentials}", "client_key", ``),
	ofOrg("{formers}", "client_key, id", ``),
	ofOrg("{keys}", "client_key", ``),
	`DELETE FROM {former_keys} WHERE CAST($1 AS text) <> '' AND key_id IN (SELECT key_id FROM {former_keys} AS f
		WHERE NOT EXISTS (SELECT 1 FROM {keys} AS k WHERE k.client_key = f.client_key) LIMIT $2 {lock})`,
	ofOrg("{ledger}", "client_key, id", ``),
	ofOrg("{sessions}", "org, account, id", ` AND replaced = 0`),
	ofOrg("{sessions}", "hash", ` AND replaced <> 0`),
	ofOrg("{api_keys}", "id", ``),
	ofOrg("{factors}", "org, account", ``),
	ofOrg("{attempts}", "org, key", ``),
	ofOrg("{repeats}", "id", ``),
}

// ofOrg deletes rows of an org. key is a unique key. A concurrent call selects the same rows. It must
// lock them before it counts them: otherwise it would find all of its batch deleted, and take the
// table for empty.
func ofOrg(table, key, condition string) string {
	return `DELETE FROM ` + table + ` WHERE (` + key + `) IN (
		SELECT ` + key + ` FROM ` + table + ` WHERE org = $1` + condition + ` LIMIT $2 {lock})` + condition
}

// DeleteOrg deletes what the store keeps of an org: signing secrets and key pairs with
// their former ones, tokens, sessions, API keys, incomplete logins, mailed tickets, second
// factors, idempotency keys, counts of attempts and the audit log, of which the entry of the deletion stays. Call it when an org is deleted for good, so that nobody finds them who gets
// its key (auth.Org.Key) later. Accepted requests stay until they end.
//
// Delete or disable the org in the Directory first, and wait until no cache knows it:
// DeleteOrg does not keep anybody from writing. It deletes up to a thousand rows at a
// time, and no other org waits for it; in SQLite all writes wait for one batch. Give it a deadline of
// minutes. After an error, some rows are deleted; call it again. Calls may be concurrent. An empty
// org is an error.
func (s *Store) DeleteOrg(ctx context.Context, org auth.OrgKey) error {
	if org == "" {
		return errors.New("sqlstore: delete an org: no org is named")
	}
	e, begun := auth.Event{Verb: verbs.OrgDeleted, Org: org}, false
	for _, text := range deleteOrgTexts {
		for n := int64(1); n > 0; {
			var err error
			if begun {
				n, err = s.exec(ctx, text, org, batch)
			} else {
				n, err = s.record(ctx, e, text, org, batch)
			}
			if err != nil {
				return failed("delete an org", err)
			}
			begun = begun || n > 0
		}
	}
	if !s.options.Audit {
		return nil
	}
	sealed, head, err := s.Audit().ends(ctx, org)
	if err == nil && (begun || head.Count-sealed.Count > 2) { // more than org.deleted and its seal
		err = s.Audit().Seal(ctx, org, head.Count)
	}
	return failed("delete an org", err)
}
