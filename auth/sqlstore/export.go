package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// line is a line of ExportAccount. Members without a value are left out.
type line map[string]any

// ExportAccount writes what the store keeps of an account of an org, as lines of JSON (NDJSON), each an
// object with a kind:
//
//	session       id, ticket, created, seen, expires, address, agent
//	token         app, id, subject, maker, issued, expires, uses, maxUses, name, seen, from
//	credential    clientKey, restrictions
//	apiKey        id, name, app, account, maker, created, expires, uses, maxUses, seen, from, scope
//	secondFactor  active, recoveryCodes
//	idempotencyKey  done, bytes, expires
//
// Times are RFC 3339 in UTC. Empty members are missing: ticket if it is a session, expires if there is no
// end. Tokens, credentials and API keys are those that the account holds and those that it made. There are no
// secrets, no hashes, and no entries of the audit log. Counts of attempts do not name the account. Dead records that are not yet deleted are
// among the lines.
//
// ExportAccount writes each line as the database sends it, and keeps a connection until the last one: if w
// is slow, give ctx a deadline. Each kind is as it was at one moment, and the kinds follow each other.
// After an error some lines may have been written; an error of w is returned as it is. An empty org or
// account is an error.
func (s *Store) ExportAccount(ctx context.Context, w io.Writer, org auth.OrgKey, account string) error {
	if org == "" || account == "" {
		return errors.New("sqlstore: export an account: no org or no account is named")
	}
	quoted, _ := json.Marshal(account) // a string does not fail
	to := json.NewEncoder(w)
	for _, part := range []struct {
		text, account string
		line          func(*sql.Rows) (line, error)
	}{
		{`SELECT ` + sessionText + ` FROM {sessions} WHERE ` + ofAccountText + ` ORDER BY created, id`, account, sessionLine},
		{`SELECT ` + ledgerColumns + `true FROM {ledger}
			WHERE org = $1 AND (subject = $2 OR maker = $2) ORDER BY client_key, issued, id`, account, tokenLine},
		{withAccountText, string(quoted), credentialLine(account)},
		{selectKeys + `org = $1 AND (account = $2 OR maker = $2) ORDER BY id`, account, exportedKeyLine},
		{factorText, account, s.factorLine(org, account)},
		{exportRepeats, account, repeatLine},
	} {
		var refused error
		// Not by list, which keeps all rows, nor by read, which would write lines again.
		err := conn{store: s, on: s.single}.each(ctx, part.text, []any{org, part.account}, func(rows *sql.Rows) error {
			l, err := part.line(rows)
			if err == nil && l != nil {
				maps.DeleteFunc(l, func(_ string, value any) bool { return value == "" || value == time.Time{} })
				refused = to.Encode(l)
			}
			return cmp.Or(err, refused)
		})
		if err != nil {
			return cmp.Or(refused, failed("export an account", err))
		}
	}
	return nil
}

func sessionLine(rows *sql.Rows) (line, error) {
	n, err := scanSession(rows)
	return line{"kind": "session", "id": n.ID, "ticket": n.Ticket, "created": n.Created, "seen": n.Seen, "expires": n.Expires,
		"address": n.Address, "agent": n.Agent}, err
}

func tokenLine(rows *sql.Rows) (line, error) {
	r, err := ledgerRowOf(rows)
	return line{"kind": "token", "app": r.ClientKey, "id": r.ID, "subject": r.Subject, "maker": r.Maker, "issued": r.Issued, "expires": r.Expires,
		"uses": r.Uses, "maxUses": r.MaxUses, "name": r.Name, "seen": r.Seen, "from": prefixText(r.From)}, err
}

// credentialLine returns nil for a credential that only has the text of the account.
func credentialLine(account string) func(*sql.Rows) (line, error) {
	return func(rows *sql.Rows) (line, error) {
		clientKey, c, err := restrictionsIn(rows)
		if err != nil || c.Account != account && c.Maker != account && !slices.Contains(c.Accounts, account) {
			return nil, err
		}
		return line{"kind": "credential", "clientKey": clientKey, "restrictions": c}, nil
	}
}

func exportedKeyLine(rows *sql.Rows) (line, error) {
	k, err := keyOf(rows)
	return line{"kind": "apiKey", "id": k.ID, "name": k.Name, "app": k.App, "account": k.Account, "maker": k.Maker, "created": k.Created,
		"expires": k.Expires, "uses": k.Used, "maxUses": k.Uses, "seen": k.Seen, "from": prefixText(k.From), "scope": k.Scope}, err
}

func (s *Store) factorLine(org auth.OrgKey, account string) func(*sql.Rows) (line, error) {
	return func(rows *sql.Rows) (line, error) {
		f, err := (&factors{s}).scan(org, account)(rows)
		return line{"kind": "secondFactor", "active": f.Secret != "", "recoveryCodes": len(f.Recovery)}, err
	}
}
