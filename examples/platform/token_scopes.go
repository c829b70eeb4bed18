package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/token"
)

// tokenScope is the scope of a token that this server has minted. A ledger has none, because the token itself
// carries it. Lists show it from here; nothing is decided by it.
type tokenScope struct {
	ID    string   `json:"id"`
	Scope []string `json:"scope"`
	Roles []string `json:"roles,omitempty"` // that it adds to those of its subject
}

// remember keeps the scope of a token that has a record, and forgets those of the subject's tokens that have
// ended. So a subject of an app has about as many rows as it may have tokens.
func (h *tokens) remember(ctx context.Context, org auth.OrgKey, c token.Claims) error {
	id := c.RecordID()
	if id == "" {
		return nil
	}
	records, err := h.held(ctx, token.Holder{Org: org, ClientKey: c.Issuer, Subject: c.Subject})
	if err != nil {
		return err
	}
	chains := append([]string{}, c.Scope...)
	for i, chain := range chains {
		chains[i] = cmp.Or(chain, "*") // as people write it
	}
	live := append(each(records, func(r token.Record) string { return r.ID }), id)
	// What another request mints meanwhile is not in the list: its row is new.
	old := c.IssuedAt.Add(-time.Minute).Unix()
	return inTx(ctx, h.store.db, func(tx *sql.Tx) error {
		of := []any{org, c.Issuer, c.Subject, old}
		err := execIn(ctx, tx, nil, "DELETE FROM platform_token_scopes WHERE org = $1 AND client_key = $2 AND subject = $3 AND minted < $4 AND id NOT IN "+
			oneOf(live, &of), of...)
		if err != nil {
			return err
		}
		return execIn(ctx, tx, nil, `INSERT INTO platform_token_scopes (org, client_key, id, subject, minted, record) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (org, client_key, id) DO UPDATE SET minted = excluded.minted, record = excluded.record`,
			org, c.Issuer, id, c.Subject, c.IssuedAt.Unix(), asJSON(tokenScope{id, chains, c.Roles}))
	})
}

// addScopes adds the scopes to the tokens of a page that were minted here.
func (h *tokens) addScopes(ctx context.Context, org auth.OrgKey, clientKey string, page []tokenReply) error {
	if len(page) == 0 {
		return nil
	}
	of := []any{org, clientKey}
	ids := oneOf(each(page, func(t tokenReply) string { return t.ID }), &of)
	known, err := findAll[tokenScope](ctx, h.store.db, "SELECT record FROM platform_token_scopes WHERE org = $1 AND client_key = $2 AND id IN "+ids, of...)
	if err != nil {
		return err
	}
	for i := range page {
		if at := slices.IndexFunc(known, func(s *tokenScope) bool { return s.ID == page[i].ID }); at >= 0 {
			page[i].Scope, page[i].Roles = known[at].Scope, known[at].Roles
		}
	}
	return nil
}

// oneOf adds values to the arguments of a statement, and returns their list for IN or VALUES.
func oneOf[T any](values []T, args *[]any) string {
	var marks []string
	for _, value := range values {
		*args = append(*args, value)
		marks = append(marks, fmt.Sprintf("$%d", len(*args)))
	}
	return "(" + strings.Join(marks, ", ") + ")"
}
