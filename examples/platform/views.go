package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// views serves the routes of views and deployments. As with scripts, functions take the
// place of what an org would write.
type views struct {
	store  *store
	tokens *tokens
	claim  func(context.Context, signing.Use) error
}

// builtinView is one function, and the query arguments that it reads.
type builtinView struct {
	run       func(views, *http.Request) (any, error)
	arguments []string
}

var (
	viewTable = map[string]builtinView{
		"messages":      {views.messages, []string{"paths[]", "limit", "where", "sort", "skip", "count"}},
		"message_token": {views.messageToken, nil},
	}
	deploymentTable = map[string]func(views, *http.Request) (any, error){"count_apps": views.countApps}
)

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
func (h views) messages(r *http.Request) (any, error) { return objects{messages, h.store}.page(r) }

// once rejects a request whose signature has been here before, under whatever nonce. The
// Guard has verified the signature. All its siblings have one claim here, for single use.
func (h views) once(r *http.Request, clientKey string) error {
	now := time.Now()
	text := r.Header.Get(signing.HeadersFor(auth.TenantFrom(r.Context()).Settings().Brand.Header).Signature)
	if text == "" {
		return nil // of version 2, which has no siblings
	}
	sum := sha256.Sum256([]byte("message_token " + text))
	return h.claim(r.Context(), signing.Use{
		ClientKey: clientKey,
		Nonce:     hex.EncodeToString(sum[:8]),
		Signature: sum,
		Signed:    now,
		Seen:      now,
		Keep:      now.Add(time.Minute), // longer than a signature has siblings
	})
}

// messageToken mints a token that reads messages, which the caller can hand to a
// browser. It refuses a caller who cannot read them without the view. Otherwise
// every view that mints would be a way around the caller's scope.
//
// Views run by GET, but this one may still mint. An ephemeral token leaves no
// record. A session has no app to mint with, so a page of another origin cannot
// make a browser mint. A GET with a signature of version 1 can be repeated for 2 s with
// other nonces, so a signature mints once.
func (h views) messageToken(r *http.Request) (any, error) {
	p := auth.From(r.Context())
	if p.Mechanism == signature.Name {
		if err := h.once(r, p.App); err != nil {
			return nil, err
		}
	}
	lasts := 5 * time.Minute
	if !p.Expires.IsZero() {
		lasts = min(lasts, time.Until(p.Expires))
	}
	claims := token.Claims{Subject: p.Account, Scope: []string{"object.read." + messages.object}}
	m, err := h.tokens.mintFor(r.Context(), p, p.App, tokenWish{claims: claims, lasts: lasts})
	return result(m.reply(), err)
}

func (h views) deploy(r *http.Request) (envelope.Result[any], error) {
	run, ok := deploymentTable[r.PathValue("id")]
	if !ok {
		return envelope.Result[any]{}, auth.ErrNotFound
	}
	return result(run(h, r))
}

func (h views) countApps(r *http.Request) (any, error) {
	apps, err := h.store.listApps(r.Context(), auth.From(r.Context()).Org)
	return map[string]int{"apps": len(apps)}, err
}
