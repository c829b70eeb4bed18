package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// ExportAccount writes what the store keeps of an account of an org, as lines of JSON (NDJSON), each an
// object with a kind:
//
//	{"kind":"session","id":…,"ticket":…,"created":…,"seen":…,"expires":…,"address":…,"agent":…}
//	{"kind":"token","app":…,"id":…,"subject":…,"maker":…,"issued":…,"expires":…,"uses":…,"maxUses":…}
//	{"kind":"credential","clientKey":…,"restrictions":{…}}
//	{"kind":"apiKey","id":…,"name":…,"app":…,"account":…,"maker":…,"created":…,"expires":…,"uses":…,"maxUses":…,"seen":…,"from":…,"scope":[…]}
//	{"kind":"secondFactor","active":true,"recoveryCodes":8}
//	{"kind":"idempotencyKey","done":true,"bytes":…,"expires":…}
//
// Times are RFC 3339 in UTC; expires is missing if there is no end, and ticket if it is a session. Tokens
// and API keys are those that the account holds and those that it made. There are no secrets and no hashes. Counts of
// attempts do not name the account. Dead records that are not yet deleted are among the lines.
//
// An error of w is returned as it is, and some lines may have been written. An empty org or account is
// an error.
func (s *Store) ExportAccount(ctx context.Context, w io.Writer, org auth.OrgKey, account string) error {
	if org == "" || account == "" {
		return errors.New("sqlstore: export an account: no org or no account is named")
	}
	quoted, err := json.Marshal(account)
	if err != nil {
		return err
	}
	to := json.NewEncoder(w)
	for _, part := range []struct {
		text string
		args []any
		line func(*sql.Rows) (any, error)
	}{
		{exportSessions, []any{org, account}, sessionLine},
		{exportTokens, []any{org, account}, tokenLine},
		{exportCredentials, []any{org, string(quoted)}, credentialLine(account)},
		{exportKeys, []any{org, account}, exportedKeyLine},
		{factorText, []any{org, account}, s.factorLine(org, account)},
		{exportRepeats, []any{org, account}, repeatLine},
	} {
		lines, err := list(ctx, s, part.text, part.args, part.line)
		if err != nil {
			return failed("export an account", err)
		}
		for _, line := range lines {
			if line == nil {
				continue
			}
			if err := to.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	exportSessions = `SELECT ` + sessionText + ` FROM {sessions} WHERE ` + ofAccountText + ` ORDER BY created, id`
	exportTokens   = `SELECT client_key, id, subject, maker, issued, expires, uses, max_uses FROM {ledger}
		WHERE org = $1 AND (subject = $2 OR maker = $2) ORDER BY client_key, issued, id`
	exportCredentials = `SELECT client_key, restrictions FROM {credentials} WHERE org = $1 AND {find}(restrictions, $2) > 0 ORDER BY client_key`
	exportKeys        = selectKeys + `org = $1 AND (account = $2 OR maker = $2) ORDER BY id`
)

type exportedSession struct {
	Kind    string    `json:"kind"`
	ID      string    `json:"id"`
	Ticket  string    `json:"ticket,omitempty"`
	Created time.Time `json:"created"`
	Seen    time.Time `json:"seen"`
	Expires time.Time `json:"expires"`
	Address string    `json:"address"`
	Agent   string    `json:"agent"`
}

func sessionLine(rows *sql.Rows) (any, error) {
	n, err := scanSession(rows.Scan)
	return exportedSession{"session", n.ID, n.Ticket, n.Created, n.Seen, n.Expires, n.Address, n.Agent}, err
}

type exportedToken struct {
	Kind    string    `json:"kind"`
	App     string    `json:"app"`
	ID      string    `json:"id"`
	Subject string    `json:"subject"`
	Maker   string    `json:"maker,omitempty"`
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires,omitzero"`
	Uses    int64     `json:"uses"`
	MaxUses int64     `json:"maxUses"`
}

func tokenLine(rows *sql.Rows) (any, error) {
	e := exportedToken{Kind: "token"}
	var issued int64
	var expires sql.NullInt64
	err := rows.Scan(&e.App, &e.ID, &e.Subject, &e.Maker, &issued, &expires, &e.Uses, &e.MaxUses)
	e.Issued = time.Unix(issued, 0).UTC()
	if expires.Valid {
		e.Expires = time.Unix(expires.Int64, 0).UTC()
	}
	return e, err
}

type exportedCredential struct {
	Kind         string          `json:"kind"`
	ClientKey    string          `json:"clientKey"`
	Restrictions json.RawMessage `json:"restrictions"`
}

// credentialLine returns nil for a credential that only has the text of the account.
func credentialLine(account string) func(*sql.Rows) (any, error) {
	return func(rows *sql.Rows) (any, error) {
		e := exportedCredential{Kind: "credential"}
		var text string
		if err := rows.Scan(&e.ClientKey, &text); err != nil {
			return nil, err
		}
		r, err := readRules(text)
		if err != nil || r.Account != account && !slices.Contains(r.Accounts, account) {
			return nil, err
		}
		e.Restrictions = json.RawMessage(text)
		return e, nil
	}
}

type exportedKey struct {
	Kind    string    `json:"kind"`
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	App     string    `json:"app,omitempty"`
	Account string    `json:"account"`
	Maker   string    `json:"maker,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	Uses    int64     `json:"uses"`
	MaxUses int64     `json:"maxUses"`
	Seen    time.Time `json:"seen,omitzero"`
	From    string    `json:"from,omitempty"`
	Scope   []string  `json:"scope"`
}

func exportedKeyLine(rows *sql.Rows) (any, error) {
	k, err := keyOf(rows)
	from, _ := k.From.MarshalText() // "" for none
	return exportedKey{"apiKey", k.ID, k.Name, k.App, k.Account, k.Maker, k.Created, k.Expires, k.Used, k.Uses, k.Seen, string(from), k.Scope}, err
}

type exportedFactor struct {
	Kind          string `json:"kind"`
	Active        bool   `json:"active"`
	RecoveryCodes int    `json:"recoveryCodes"`
}

func (s *Store) factorLine(org auth.OrgKey, account string) func(*sql.Rows) (any, error) {
	return func(rows *sql.Rows) (any, error) {
		f, err := (&factors{s}).scan(org, account)(rows.Scan)
		return exportedFactor{"secondFactor", len(f.Secret.Reveal()) > 0, len(f.Recovery)}, err
	}
}
