package main

import (
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/token"
)

// views serves the routes of views. As with scripts, functions stand for what an
// org would have written.
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
	"messages":      {views.messages, []string{"paths[]", "limit", "where", "sort", "skip"}},
	"message_token": {views.messageToken, nil},
}

// list answers with what there is, in the order of the identifiers.
func (h views) list(r *http.Request) (envelope.List[builtinReply], error) {
	var replies []builtinReply
	for name, v := range viewTable {
		replies = append(replies, replyOfBuiltin("view", name, v.arguments))
	}
	return ownPage(r, "view", replies)
}

// execute runs a view without scope (section 5.5 of the interface, rule 5): who
// may run it reads with it what the account may, however narrow the token. The
// rest of the principal applies, and what it may pass on stays what it was.
func (h views) execute(r *http.Request) (any, error) {
	view, ok := viewTable[r.PathValue("name")]
	if !ok {
		return nil, auth.ErrNotFound
	}
	unscoped := auth.From(r.Context()).WithoutScope()
	return view.run(h, r.WithContext(auth.With(r.Context(), unscoped)))
}

// messages is the list of messages, with the arguments of one.
func (h views) messages(r *http.Request) (any, error) {
	return objects{schema: messages, store: h.store}.list(r)
}

// messageToken mints a token that reads messages, for the caller to hand to a
// browser, say. A caller who could not read them without the view is refused:
// else every view that mints would be a way out of one's scope.
//
// It may do so although views are run by GET: nothing is recorded for an ephemeral
// token, and a session has no app to mint with, so that no page of another origin
// gets a browser to do it.
func (h views) messageToken(r *http.Request) (any, error) {
	p := auth.From(r.Context())
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
	return envelope.Result[mintReply]{Data: m.reply()}, err
}
