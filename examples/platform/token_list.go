package main

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
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
	switch path {
	case "_id":
		return t.ID, true
	case "issued":
		return t.Issued, true
	}
	return t.Object, path == "object"
}

func anyProperty(string) bool { return true }

func (h *tokens) list(r *http.Request) (page envelope.List[tokenReply], err error) {
	ctx := r.Context()
	if err := h.store.queries.hold(ctx); err != nil {
		return page, err
	}
	records, err := h.ofSubject(ctx, r.PathValue("key"), r.PathValue("sub"), scope.Read)
	if err != nil {
		return page, err
	}
	q, err := tokenSchema.Parse(r.URL.RawQuery, anyProperty)
	if err != nil {
		return page, err
	}
	if mayAdminister(auth.From(ctx), scope.Read) != nil {
		records = withoutOthers(records)
	}
	page.Data, page.HasMore = mempage.Page(each(records, replyOf), q, tokenReply.property)
	return page, h.addScopes(ctx, auth.From(ctx).Org, r.PathValue("key"), page.Data)
}

// withoutOthers leaves out of a subject's records which other accounts, apps and tokens
// were involved.
func withoutOthers(all []token.Record) []token.Record {
	isOwn := func(jti string) bool {
		return slices.ContainsFunc(all, func(r token.Record) bool { return r.ID == jti })
	}
	return each(all, func(r token.Record) token.Record {
		if r.Maker != r.Subject {
			r.Maker = ""
		}
		if r.MakerApp != r.ClientKey {
			r.MakerApp = ""
		}
		if !isOwn(r.Parent) {
			r.Parent = ""
		}
		return r
	})
}

// listApp answers with the tokens of an app that are still valid.
func (h *tokens) listApp(r *http.Request) (page envelope.List[tokenReply], err error) {
	ctx := r.Context()
	if err := h.store.queries.hold(ctx); err != nil {
		return page, err
	}
	q, err := tokenSchema.Parse(r.URL.RawQuery, anyProperty)
	if err != nil {
		return page, err
	}
	app, err := h.store.app(ctx, auth.From(ctx).Org, r.PathValue("key"))
	if err != nil {
		return page, err
	}
	of := token.Holder{Org: app.Org, ClientKey: app.ClientKey, Subject: token.AnySubject}
	candidates, cut, err := h.candidates(ctx, of, q)
	if err != nil {
		return page, err
	}
	page.Data, page.HasMore = mempage.Page(candidates, q, tokenReply.property)
	page.HasMore = page.HasMore || cut && len(page.Data) > 0
	return page, h.addScopes(ctx, app.Org, app.ClientKey, page.Data)
}

// room is how many tokens may await their turn to be sorted among the candidates.
const room = 8 * token.MaxPage

// candidates returns the tokens of a page, the one after it, and those that the query skips.
// It keeps few more of them, however many the ledger has. If the order is that of the
// ledger, it begins at the cursor and ends with the page. cut means that there are so many bytes that
// it keeps fewer: those after them are unknown.
func (h *tokens) candidates(ctx context.Context, of token.Holder, q paging.Query) (kept []tokenReply, cut bool, err error) {
	standing, err := h.standing(ctx, of.ClientKey)
	if err != nil {
		return nil, false, err
	}
	after, inOrder := beginOf(q)
	q.Skip, q.Limit = 0, q.Skip+q.Limit+1
	for {
		records, next, err := h.ledger.List(ctx, of, after, token.MaxPage)
		if err != nil {
			return nil, false, storeFailed(err)
		}
		if records, err = standing.among(ctx, records); err != nil {
			return nil, false, err
		}
		kept = append(kept, each(records, replyOf)...)
		if inOrder || next.IsZero() || len(kept) >= q.Limit+room {
			var more bool
			if kept, more = mempage.Page(kept, q, tokenReply.property); more && len(kept) < q.Limit {
				cut, q.Limit = true, len(kept)
			}
		}
		if next.IsZero() || inOrder && len(kept) == q.Limit {
			return kept, cut, nil
		}
		after = next
	}
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
	issued, err := time.Parse(dateLayout, text)
	id, ok := values[1].(string)
	if err != nil || !ok {
		return token.Position{}, true
	}
	return token.Position{Issued: issued, ID: id}, true
}

// ofSubject returns the records of a subject's tokens of an app that are still valid. It
// checks that the caller may list or end them.
func (h *tokens) ofSubject(ctx context.Context, clientKey, sub string, v scope.Verb) ([]token.Record, error) {
	p := auth.From(ctx)
	app, err := h.store.app(ctx, p.Org, clientKey)
	if err != nil {
		return nil, err
	}
	if err := mayHandleTokensOf(p, sub, v); err != nil {
		return nil, err
	}
	if _, err := h.store.account(ctx, app.Org, sub); err != nil {
		return nil, err
	}
	standing, err := h.standing(ctx, app.ClientKey)
	if err != nil {
		return nil, err
	}
	records, err := h.held(ctx, token.Holder{Org: app.Org, ClientKey: app.ClientKey, Subject: sub})
	if err != nil {
		return nil, err
	}
	return standing.among(ctx, records)
}

func (h *tokens) held(ctx context.Context, of token.Holder) (all []token.Record, err error) {
	for r, err := range token.Records(ctx, h.ledger, of) {
		if err != nil {
			return nil, storeFailed(err)
		}
		all = append(all, r)
	}
	return all, nil
}

// standing tells the valid tokens of an app. The ledger also lists records of a replaced
// key, and records whose maker no longer exists. Their tokens are refused anyway.
type standing struct {
	kids   []string
	tenant *auth.Tenant
}

func (h *tokens) standing(ctx context.Context, clientKey string) (*standing, error) {
	kids, err := h.stores.verifying(ctx, clientKey)
	if err != nil {
		return nil, err
	}
	return &standing{kids, auth.TenantFrom(ctx)}, nil
}

// among returns those of some records whose tokens are valid.
func (s *standing) among(ctx context.Context, records []token.Record) (valid []token.Record, err error) {
	for _, record := range records {
		if !slices.Contains(s.kids, record.KeyID) {
			continue
		}
		err := bearer.CheckMakers(ctx, s.tenant, record)
		if err != nil && !auth.IsNotFound(err) {
			return nil, err
		}
		if err == nil {
			valid = append(valid, record)
		}
	}
	return valid, nil
}
