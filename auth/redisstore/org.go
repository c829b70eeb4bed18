package redisstore

import (
	"context"
	"errors"

	"github.com/tenantkit/tenantkit/auth"
)

var (
	revokeAccountScript = newScript(lua("session"), lua("endaccount"), lineageText, lua("live"), lua("place"), lua("endsubject"), lua("apikey"), lua("revokeaccount"))
	deleteAppScript     = newScript(lua("deleteapp"))
)

var errNameless = errors.New("redisstore: no org or no account is named")

// RevokeAccount ends an account's sessions, incomplete logins and mailed tickets, its tokens in
// all apps of the org, and with them their descendants, and its API keys. Its idempotency keys stay:
// see sqlstore.Store.RevokeAccount. It is one atomic step. After an error the
// outcome is unknown: call it again. Disable or delete the account in the Directory first:
// RevokeAccount does not stop concurrent logins and makers. Tokens that the account made for others stay,
// and are dead without it: do not give its ID to another account while they last. The account's credentials are in another
// store, such as sqlstore.Store, which has its own RevokeAccount. An empty org or account is an error.
func (s *Store) RevokeAccount(ctx context.Context, org auth.OrgKey, account string) error {
	if org == "" || account == "" {
		return errNameless
	}
	_, err := s.code(ctx, revokeAccountScript, []string{accountKey(org, account), orgKey(org), appsKey(org)},
		s.prefix, string(org), account)
	return err
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
	sessions := sessions{s}
	_, err := sessions.DeleteOrg(ctx, org)
	for more := int64(1); err == nil && more != 0; {
		more, err = s.code(ctx, deleteKeysScript, []string{"g:" + pair(string(org), "")}, s.prefix)
	}
	for more := int64(1); err == nil && more != 0; {
		more, err = s.code(ctx, endRepeatsScript, nil, s.prefix, string(org))
	}
	for more := int64(1); err == nil && more != 0; {
		more, err = s.code(ctx, deleteAppScript, []string{appsKey(org)}, s.prefix, string(org))
	}
	return err
}
