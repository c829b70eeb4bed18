package redisstore

import (
	"context"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
)

var (
	revokeAccountScript = newScript(lua("session"), lua("endaccount"), lineageText, lua("live"), lua("place"), lua("endsubject"), lua("revokeaccount"))
	deleteAppScript     = newScript(lua("deleteapp"))
)

var errNameless = errors.New("redisstore: no org or no account is named")

// RevokeAccount ends an account's sessions, incomplete logins and mailed tickets, its tokens in
// all apps of the org, and with them their descendants, in one atomic step, and then its API keys. Its
// idempotency keys stay: see sqlstore.Store.RevokeAccount. After an error the
// outcome is unknown: call it again. Disable or delete the account in the Directory first:
// RevokeAccount does not stop concurrent logins and makers. Tokens that the account made for others stay,
// and are dead without it: do not give its ID to another account while they last. The account's credentials are in another
// store, such as sqlstore.Store, which has its own RevokeAccount. An empty org or account is an error.
func (s *Store) RevokeAccount(ctx context.Context, org auth.OrgKey, account string) error {
	if org == "" || account == "" {
		return errNameless
	}
	at, keys := s.of(string(org)), s.of(apiKeysShard)
	_, err := at.code(ctx, revokeAccountScript, []string{accountKey(org, account), orgKey(org), appsKey(org)},
		at.prefix, string(org), account)
	if err != nil {
		return err
	}
	return keys.untilNone(ctx, deleteKeysScript, []string{"j:" + pair(string(org), account)}, keys.prefix)
}

// DeleteOrg deletes the sessions, tokens, API keys and idempotency keys of an org. Call it when an org is deleted for good:
// otherwise an org that gets the same key (auth.Org.Key) later finds them. Accepted requests and
// counts of tries stay until they end. Call the DeleteOrg of the other stores, too.
//
// Delete or disable the org in the Directory first, and wait until no cache knows it: DeleteOrg does
// not stop concurrent writers. It takes one step for all sessions, one for each thousand API keys or idempotency keys, and one for the tokens of each app:
// ten to twenty microseconds for each record, in which the server does nothing else. After an error
// some records are deleted: call it again. An empty org is an error.
func (s *Store) DeleteOrg(ctx context.Context, org auth.OrgKey) error {
	if org == "" {
		return errNameless
	}
	at, keys := s.of(string(org)), s.of(apiKeysShard)
	_, err := (&sessions{s}).DeleteOrg(ctx, org)
	if err == nil {
		err = keys.untilNone(ctx, deleteKeysScript, []string{"g:" + pair(string(org), "")}, keys.prefix)
	}
	if err == nil {
		err = at.untilNone(ctx, endRepeatsScript, nil, at.prefix, string(org))
	}
	if err == nil {
		err = at.untilNone(ctx, deleteAppScript, []string{appsKey(org)}, at.prefix, string(org))
	}
	return err
}

// untilNone repeats a script until it returns 0, because it has found nothing more to delete.
func (s *shard) untilNone(ctx context.Context, script *script, keys []string, args ...string) error {
	for {
		if more, err := s.code(ctx, script, keys, args...); more == 0 || err != nil {
			return err
		}
	}
}
