package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/token"
)

// views serves the routes of views. As with scripts, functions take the place of
// what an org would write.
type views struct {
	store  *store
	tokens *tokens
}

// builtinView is one function, and the query arguments that it reads.
type builtinView struct {
	run       func(views, *http.Request) (any, error)
	arguments []string
}

var viewTable = map[string]builtinView{
	"messages":      {views.messages, []string{"paths[]", "limit", "where", "sort", "skip", "count"}},
	"message_token": {views.messageToken, nil},
}

// list answers with the views.
func (h views) list(r *http.Request) (envelope.List[builtinReply], error) {
	var replies []builtinReply
	for name, v := range viewTable {
		replies = append(replies, replyOfBuiltin("view", name, v.arguments))
	}
	return ownPage(r, "view", replies)
}

// execute runs a view without scope (section 5.5 of the interface, rule 5). A
// caller who may run it reads with it what the account may, however narrow the
// token is. The rest of the principal applies. What the caller may pass on does not
// change.
func (h views) execute(r *http.Request) (any, error) {
	view, ok := viewTable[r.PathValue("name")]
	if !ok {
		return nil, auth.ErrNotFound
	}
	unscoped := auth.From(r.Context()).WithoutScope()
	return view.run(h, r.WithContext(auth.With(r.Context(), unscoped)))
}

// messages lists messages. It takes the arguments of a list.
func (h views) messages(r *http.Request) (any, error) {
	page, _, err := objects{schema: messages, store: h.store}.page(r)
	return page, err
}

// messageToken mints a token that reads messages, which the caller can hand to a
// browser. It refuses a caller who cannot read them without the view. Otherwise
// every view that mints would be a way around the caller's scope.
//
// Views run by GET, but this one may still mint. An ephemeral token leaves no
// record. A session has no app to mint with, so a page of another origin cannot
// make a browser mint. A GET with a signature of version 1 can be repeated for 2 s with
// other nonces, and each response would be a token of 5 minutes, so it is rejected.
func (h views) messageToken(r *http.Request) (any, error) {
	p := auth.From(r.Context())
	if p.Mechanism == signature.Name && r.Header.Get("Signature-Input") == "" {
		return nil, &auth.Error{Detail: auth.DetailForbidden, Reason: "needs a token, or a signature of version 2"}
	}
	lasts := 5 * time.Minute
	if !p.Expires.IsZero() {
		lasts = min(lasts, time.Until(p.Expires))
	}
	m, err := h.tokens.mintFor(r.Context(), p, p.App, tokenWish{
		claims: token.Claims{
			Subject: p.Account,
			Scope:   []string{"object.read." + messages.Object},
		},
		lasts: lasts,
	})
	return result(m.reply(), err)
}
