package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// tokenSchema is the schema of lists of tokens. The ledger has them in the order of issued.
var tokenSchema = &paging.Schema{
	Object:     "token",
	Properties: []paging.Property{{Path: "issued", Type: paging.Date, Filter: true, Sort: true}},
}

type tokenReply struct {
	envelope.Item
	Subject string `json:"subject"`
	Kind    string `json:"kind"`
	Issued  string `json:"issued"`
	Expires string `json:"expires,omitempty"`
	Uses    int64  `json:"uses"`
	MaxUses int64  `json:"maxUses,omitempty"`
	face
	MakerApp string   `json:"makerApp,omitempty"` // client key; none: not made by a signed request
	Parent   string   `json:"parent,omitempty"`   // jti of the token that made it
	Scope    []string `json:"scope,omitzero"`     // none: unknown, because this server has not minted it
	Roles    []string `json:"roles,omitempty"`
}

func replyOf(r token.Record) tokenReply {
	reply := tokenReply{
		Item:     envelope.Item{ID: r.ID, Object: "token"},
		Subject:  r.Subject,
		Kind:     "permanent",
		Issued:   date(r.Issued),
		Expires:  date(r.Expires),
		Uses:     r.Uses,
		MaxUses:  r.MaxUses,
		face:     faceOf(r.Name, r.Maker, r.Seen, r.From),
		MakerApp: r.MakerApp,
		Parent:   r.Parent,
	}
	if r.MaxUses > 0 {
		reply.Kind = "limited"
	}
	return reply
}

func (t tokenReply) property(path string) (value any, ok bool) {
	if path == "issued" {
		return t.Issued, true
	}
	return itemProperty(t.Item, path)
}

func (h *tokens) list(r *http.Request) (envelope.List[tokenReply], error) {
	return h.page(r, func(_ paging.Query, kept *collected[tokenReply]) error {
		records, err := h.ofSubject(r.Context(), r.PathValue("key"), r.PathValue("sub"), scope.Read)
		if err == nil && mayAdminister(auth.From(r.Context()), scope.Read) != nil {
			records = withoutOthers(records)
		}
		kept.add(each(records, replyOf)...)
		return err
	})
}

// page answers a list call on tokens of the app that the path names.
func (h *tokens) page(r *http.Request, find func(paging.Query, *collected[tokenReply]) error) (envelope.List[tokenReply], error) {
	page, err := pageFrom(r, h.store, tokenSchema, tokenReply.property, find)
	if err == nil {
		err = h.addScopes(r.Context(), auth.From(r.Context()).Org, r.PathValue("key"), page.Data)
	}
	return page, err
}

// withoutOthers leaves out of a subject's records which other accounts, apps and tokens
// were involved.
func withoutOthers(all []token.Record) []token.Record {
	return each(all, func(r token.Record) token.Record {
		if r.Maker != r.Subject {
			r.Maker = ""
		}
		if r.MakerApp != r.ClientKey {
			r.MakerApp = ""
		}
		if !slices.ContainsFunc(all, func(other token.Record) bool { return other.ID == r.Parent }) {
			r.Parent = ""
		}
		return r
	})
}

// listApp answers with the tokens of an app that are still valid. In the order of the ledger, it begins at
// the cursor and ends with the page.
func (h *tokens) listApp(r *http.Request) (envelope.List[tokenReply], error) {
	return h.page(r, func(q paging.Query, kept *collected[tokenReply]) error {
		ctx := r.Context()
		app, err := h.store.app(ctx, r.PathValue("key"))
		if err != nil {
			return err
		}
		after, inOrder := beginOf(q)
		for records, err := range h.live(ctx, anyOf(ctx, app.ClientKey), after) {
			if err != nil {
				return err
			}
			if kept.add(each(records, replyOf)...); inOrder && kept.full() {
				return nil
			}
		}
		return nil
	})
}

// beginOf returns where in the ledger the page of a query begins, if the query has the
// order of the ledger.
func beginOf(q paging.Query) (after token.Position, inOrder bool) {
	if !slices.Equal(q.Order(), []paging.Key{{Path: "issued"}, {Path: "_id"}}) {
		return token.Position{}, false
	}
	values, _, resumed := q.Cursor()
	if !resumed {
		return token.Position{}, true
	}
	text, _ := values[0].(string)
	id, _ := values[1].(string)
	issued, err := time.Parse(dateLayout, text)
	if err != nil {
		return token.Position{}, true
	}
	return token.Position{Issued: issued, ID: id}, true
}

// ofSubject returns the records of a subject's tokens of an app that are still valid. It
// checks that the caller may list or end them.
func (h *tokens) ofSubject(ctx context.Context, clientKey, sub string, v scope.Verb) (all []token.Record, err error) {
	p := auth.From(ctx)
	app, err := h.store.app(ctx, clientKey)
	if err != nil {
		return nil, err
	}
	if err := mayHandleTokensOf(p, sub, v); err != nil {
		return nil, err
	}
	if _, err := h.store.account(ctx, app.Org, sub); err != nil {
		return nil, err
	}
	for records, err := range h.live(ctx, token.Holder{Org: app.Org, ClientKey: app.ClientKey, Subject: sub}, token.Position{}) {
		if err != nil {
			return nil, err
		}
		all = append(all, records...)
	}
	return all, nil
}

// live returns the records of valid tokens of an app, page by page, in the order of the ledger.
func (h *tokens) live(ctx context.Context, of token.Holder, after token.Position) iter.Seq2[[]token.Record, error] {
	return func(yield func([]token.Record, error) bool) {
		for {
			page, next, err := h.stores.ledger.List(ctx, of, after, token.MaxPage)
			if err == nil {
				page, err = h.standing(ctx, of.ClientKey, page)
			}
			if !yield(page, storeFailed(err)) || err != nil || next.IsZero() {
				return
			}
			after = next
		}
	}
}

// standing keeps the records of valid tokens. The ledger also lists records of a replaced key, and records
// whose maker no longer exists. Their tokens are refused anyway.
func (h *tokens) standing(ctx context.Context, clientKey string, records []token.Record) (valid []token.Record, err error) {
	kids, err := h.stores.verifying(ctx, clientKey)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		if !slices.Contains(kids, record.KeyID) {
			continue
		}
		switch err := bearer.CheckMakers(ctx, auth.TenantFrom(ctx), record); {
		case err == nil:
			valid = append(valid, record)
		case !auth.IsNotFound(err):
			return nil, err
		}
	}
	return valid, nil
}

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
	live := []string{id}
	for r, err := range token.Records(ctx, h.stores.ledger, token.Holder{Org: org, ClientKey: c.Issuer, Subject: c.Subject}) {
		if err != nil {
			return storeFailed(err)
		}
		live = append(live, r.ID)
	}
	asWritten := func(chain string) string { return cmp.Or(chain, "*") } // by people
	chains := append([]string{}, each(c.Scope, asWritten)...)
	// What another request mints meanwhile is not in the list: its row is new.
	old := c.IssuedAt.Add(-time.Minute).Unix()
	of := []any{org, c.Issuer, c.Subject, old}
	forget := "DELETE FROM platform_token_scopes WHERE org = $1 AND client_key = $2 AND subject = $3 AND minted < $4 AND id NOT IN " + oneOf(live, &of)
	return inTx(ctx, h.store.db, func(tx *sql.Tx) error {
		return cmp.Or(
			execIn(ctx, tx, nil, forget, of...),
			execIn(ctx, tx, nil, `INSERT INTO platform_token_scopes (org, client_key, id, subject, minted, record) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (org, client_key, id) DO UPDATE SET minted = excluded.minted, record = excluded.record`,
				org, c.Issuer, id, c.Subject, c.IssuedAt.Unix(), asJSON(tokenScope{id, chains, c.Roles})),
		)
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
