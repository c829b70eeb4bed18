package sqlstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/verbs"
)

// RevokeAccount ends everything by which an account of an org is let in: its sessions, incomplete
// logins and mailed tickets; its tokens in all apps of the org, and with them their descendants; its
// API keys; the credentials that act as the account, with their former secrets. A credential of another account
// that may also act as this one stays without it. The second factor stays: it lets nobody in. So do idempotency
// keys, without which a repeated request would be executed again.
//
// What its sessions and credentials made for other accounts has its own life: tokens are dead while the
// account is disabled, and if they are older than its TokensFrom (auth.Account). DeleteAccount deletes them.
//
// RevokeAccount is one transaction. After an error it has changed nothing, or the outcome is unknown
// (auth.ErrUnavailable): call it again. Disable or delete the account in the Directory first:
// RevokeAccount does not stop concurrent logins and makers. If In does both in one transaction, a request
// that was admitted before the commit may still make something: it is of no use while the account is
// disabled, and TokensFrom or another call after the commit ends it for good. What another store keeps,
// such as that of package redisstore, has its own RevokeAccount. An empty org or account is an error.
func (s *Store) RevokeAccount(ctx context.Context, org auth.OrgKey, account string) error {
	return s.endAccount(ctx, "revoke an account", verbs.AccountRevoked, org, account,
		endTokens(`subject = $2`),
		`DELETE FROM {sessions} WHERE `+ofAccountText+` AND replaced = 0`,
		endKeysText)
}

// DeleteAccount deletes what the store keeps of an account: what RevokeAccount ends, the second factor,
// idempotency keys, and the tokens that the account made for others. Those are dead without their maker; now they stay
// dead if another account gets its ID. Its ephemeral tokens have no record, and last 24 hours at most: do not
// give the ID to another account before, or set auth.Account.TokensFrom. API keys and credentials that it made for others live
// on without its ID. The audit log stays: see Audit.Erase. Counts of attempts do not name the account, and end within a day.
// DeleteAccount reads all tokens of the org. Otherwise it does what RevokeAccount does.
func (s *Store) DeleteAccount(ctx context.Context, org auth.OrgKey, account string) error {
	return s.endAccount(ctx, "delete an account", verbs.AccountDeleted, org, account,
		endTokens(`(subject = $2 OR maker = $2)`),
		`DELETE FROM {sessions} WHERE `+ofAccountText,
		endKeysText,
		`UPDATE {api_keys} SET maker = '' WHERE org = $1 AND maker = $2`,
		`DELETE FROM {factors} WHERE `+ofAccountText,
		`DELETE FROM {repeats} WHERE org = $1 AND caller = $2`)
}

const endKeysText = `DELETE FROM {api_keys} WHERE ` + ofAccountText

// endTokens returns the statement that deletes records of the org $1. It locks them in an order, so that
// two accounts that made tokens for each other are deleted at the same time.
func endTokens(condition string) string {
	return `DELETE FROM {ledger} WHERE (client_key, id) IN (
		SELECT client_key, id FROM {ledger} WHERE org = $1 AND ` + condition + ` ORDER BY client_key, id {lock})`
}

// endAccount ends the credentials of an account, and then runs the texts. The tables come in the order of
// deleteOrg, so that no two calls wait for each other.
func (s *Store) endAccount(ctx context.Context, what, verb string, org auth.OrgKey, account string, texts ...string) error {
	if org == "" || account == "" {
		return fmt.Errorf("sqlstore: %s: no org or no account is named", what)
	}
	// With the lock, a login does not begin and end during this call and survive it.
	return failed(what, s.audited(ctx, org, func(q conn) error {
		ended, err := revokeCredentials(ctx, q, org, account, verb == verbs.AccountDeleted)
		for _, text := range texts {
			if err == nil {
				var n int64
				n, err = q.exec(ctx, text, org, account)
				ended += n
			}
		}
		if ended > 0 {
			q.note(auth.Event{Verb: verb, Account: account, Count: ended})
		}
		return err
	}, accountLock(org, account)))
}

// revokeCredentials deletes the credentials of an account, and takes the account from the others. The
// text of the restrictions has the account as JSON, so the statement selects few rows too many. It
// locks them: a concurrent rotation is complete before, or it finds nothing to rotate.
func revokeCredentials(ctx context.Context, q conn, org auth.OrgKey, account string, deleted bool) (changed int64, err error) {
	quoted, _ := json.Marshal(account) // a string does not fail
	var keys []string
	var found []*signature.Credential
	err = q.each(ctx, withAccountText+` {lock}`, []any{org, string(quoted)},
		func(rows *sql.Rows) error {
			clientKey, c, err := restrictionsIn(rows)
			keys, found = append(keys, clientKey), append(found, c)
			return err
		})
	for i, c := range found {
		maker := deleted && c.Maker == account
		if err == nil && (maker || c.Account == account || slices.Contains(c.Accounts, account)) {
			if changed++; maker {
				c.Maker = ""
			}
			err = revokeCredential(ctx, q, keys[i], c, account)
		}
	}
	return changed, err
}

// withAccountText selects the credentials of the org $1 whose restrictions have the text $2, an account as JSON.
const withAccountText = `SELECT client_key, restrictions FROM {credentials}
	WHERE org = $1 AND {find}(restrictions, $2) > 0 ORDER BY client_key`

// restrictionsIn scans a row of withAccountText.
func restrictionsIn(rows *sql.Rows) (clientKey string, c *signature.Credential, err error) {
	var text string
	if err = rows.Scan(&clientKey, &text); err == nil {
		c, err = restrictionsOf(text)
	}
	return clientKey, c, err
}

func revokeCredential(ctx context.Context, q conn, clientKey string, c *signature.Credential, account string) error {
	if c.Account == account {
		_, err := q.exec(ctx, `DELETE FROM {credentials} WHERE client_key = $1`, clientKey)
		if err != nil {
			return err
		}
		return keepFormers(ctx, q, clientKey, 0)
	}
	c.Accounts = slices.DeleteFunc(c.Accounts, func(other string) bool { return other == account })
	text, err := restrictionsText(*c)
	if err == nil {
		_, err = q.exec(ctx, `UPDATE {credentials} SET version = $2, restrictions = $3 WHERE client_key = $1`, clientKey, rand.Text(), text)
	}
	return err
}
