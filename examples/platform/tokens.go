package main

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// tokens serves the routes of tokens.
type tokens struct {
	store  *store
	keys   *keyPairs
	ledger token.Ledger
	minter *token.Minter // set when the Guard is made
	quota  *quota
}

func newTokens(store *store, keys *keyPairs, ledger token.Ledger) *tokens {
	return &tokens{
		store:  store,
		keys:   keys,
		ledger: ledger,
		quota:  newQuota(mintInterval, mintBurst, maxMinters),
	}
}

// mintReply is a new token. No other reply shows it.
type mintReply struct {
	Token   string `json:"token"`
	ID      string `json:"jti,omitempty"`
	Expires string `json:"expires,omitempty"`
}

func (h *tokens) create(r *http.Request) (envelope.Result[mintReply], error) {
	none := envelope.Result[mintReply]{}
	if _, err := h.store.app(r.Context(), auth.From(r.Context()).Org, r.PathValue("key")); err != nil {
		return none, err
	}
	w, err := readToken(r)
	if err != nil {
		return none, err
	}
	m, err := h.mintFor(r.Context(), auth.From(r.Context()), r.PathValue("key"), w)
	return result(m.reply(), err)
}

func (m minted) reply() mintReply {
	return mintReply{Token: string(m.Token), ID: m.id, Expires: date(m.expires)}
}

// tokenReply is a permanent or limited-use token, as its subject sees it.
type tokenReply struct {
	envelope.Item
	Kind    string `json:"kind"`
	Issued  string `json:"issued"`
	Expires string `json:"expires,omitempty"`
	Uses    int64  `json:"uses"`
	MaxUses int64  `json:"maxUses,omitempty"`
}

// list answers with the tokens of a subject that are still valid.
func (h *tokens) list(r *http.Request) (envelope.List[tokenReply], error) {
	records, err := h.ofSubject(r.Context(), r.PathValue("key"), r.PathValue("sub"), scope.Read)
	if err != nil {
		return envelope.List[tokenReply]{}, err
	}
	return ownPage(r, "token", each(records, replyOf))
}

func replyOf(r token.Record) tokenReply {
	reply := tokenReply{
		Item:    envelope.Item{ID: r.ID, Object: "token"},
		Kind:    "permanent",
		Issued:  date(r.Issued),
		Expires: date(r.Expires),
		Uses:    r.Uses,
		MaxUses: r.MaxUses,
	}
	if r.MaxUses > 0 {
		reply.Kind = "limited"
	}
	return reply
}

// ofSubject returns the live records of a subject's tokens of an app. It checks
// that the caller may list or end them. The ledger also lists records of a replaced
// key, and records whose maker no longer exists. Their tokens are refused anyway,
// so ofSubject leaves them out.
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
	kids, err := h.keys.verifying(ctx, app.ClientKey)
	if err != nil {
		return nil, err
	}
	records, err := h.ledger.List(ctx, token.Holder{Org: app.Org, ClientKey: app.ClientKey, Subject: sub})
	if err != nil {
		return nil, storeFailed(err)
	}
	var live []token.Record
	for _, record := range records {
		err := bearer.Made(ctx, auth.TenantFrom(ctx), record)
		if err != nil && !auth.IsNotFound(err) {
			return nil, err
		}
		if err == nil && slices.Contains(kids, record.KeyID) {
			live = append(live, record)
		}
	}
	return live, nil
}

func (h *tokens) revokeAll(r *http.Request) (envelope.Result[int], error) {
	return result(h.revokeSubject(r.Context(), r.PathValue("key"), r.PathValue("sub")))
}

// revokeSubject ends the tokens of an app for a subject, and returns how many there
// were.
func (h *tokens) revokeSubject(ctx context.Context, clientKey, sub string) (int, error) {
	live, err := h.ofSubject(ctx, clientKey, sub, scope.Update)
	if err != nil {
		return 0, err
	}
	_, err = h.ledger.RevokeSubject(ctx, token.Holder{Org: auth.From(ctx).Org, ClientKey: clientKey, Subject: sub})
	return len(live), storeFailed(err)
}

func (h *tokens) revoke(r *http.Request) (envelope.Result[bool], error) {
	return done(h.revokeOne(r.Context(), r.PathValue("key"), r.PathValue("jti")))
}

// revokeOne ends one token of an app, if the principal may.
func (h *tokens) revokeOne(ctx context.Context, clientKey, jti string) error {
	p := auth.From(ctx)
	if _, err := h.store.app(ctx, p.Org, clientKey); err != nil {
		return err
	}
	if err := h.mayRevoke(ctx, p, clientKey, jti); err != nil {
		return err
	}
	err := h.ledger.Revoke(ctx, token.Holder{Org: p.Org, ClientKey: clientKey, Subject: token.AnySubject}, jti)
	if errors.Is(err, token.ErrNotFound) || errors.Is(err, token.ErrEphemeral) {
		return auth.ErrNotFound
	}
	return storeFailed(err)
}

// mayRevoke allows the token of the request itself and the tokens of the
// principal's account. An administrator may end any token. To all others, the
// tokens of others do not exist.
func (h *tokens) mayRevoke(ctx context.Context, p auth.Principal, clientKey, jti string) error {
	if p.TokenID != "" && p.TokenID == jti && p.App == clientKey {
		return nil
	}
	if mayAdminister(p, scope.Update) == nil {
		return nil
	}
	if err := mayHandleTokensOf(p, p.Account, scope.Update); err != nil {
		return err
	}
	own, err := h.holds(ctx, token.Holder{Org: p.Org, ClientKey: clientKey, Subject: p.Account}, jti)
	if err != nil || own {
		return err
	}
	return auth.ErrNotFound
}

// holds reports whether a token is a holder's.
func (h *tokens) holds(ctx context.Context, of token.Holder, jti string) (bool, error) {
	records, err := h.ledger.List(ctx, of)
	return slices.ContainsFunc(records, func(r token.Record) bool { return r.ID == jti }), storeFailed(err)
}
