package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// scripts serves the routes that run scripts. This platform has no script language:
// a few functions take the place of what an org would write.
type scripts struct{ *platform }

// script is one function. It runs as the caller, and may do what the caller may.
// Its arguments are read as strictly as a body.
type script struct {
	run       func(h scripts, r *http.Request, arguments map[string]any) (any, error)
	arguments body.Form
}

var scriptTable = map[string]script{
	"createAuthToken":     {scripts.createAuthToken, createArguments},
	"echo":                {scripts.echo, anyArguments},
	"mint_and_revoke":     {scripts.mintAndRevoke, mintArguments},
	"revokeAuthToken":     {scripts.revokeAuthToken, revokeArguments},
	"revokeSubjectTokens": {scripts.revokeSubjectTokens, subjectArguments},
	"whoami":              {scripts.whoami, anyArguments},
}

// anyArguments is an object with any members.
var anyArguments = body.Form{{Kind: body.Object}}

// builtinReply is a script or a view in a list.
type builtinReply struct {
	envelope.Item
	Arguments []string `json:"arguments"`
}

func (h scripts) list(r *http.Request) (envelope.List[builtinReply], error) {
	return builtins(r, "script", scriptTable, func(s script) []string { return names(s.arguments) })
}

// builtins answers a list call on scripts or views.
func builtins[B any](r *http.Request, object string, table map[string]B, arguments func(B) []string) (envelope.List[builtinReply], error) {
	var replies []builtinReply
	for name, b := range table {
		replies = append(replies, builtinReply{envelope.Item{ID: name, Object: object}, append([]string{}, arguments(b)...)}) // [], never null
	}
	return ownPage(r, object, replies)
}

// route runs the script that the path names. The body holds its arguments, and may be missing.
func (h scripts) route(r *http.Request, values map[string]any) (envelope.Result[any], error) {
	return h.call(r, r.PathValue("identifier"), values[""])
}

// runnerBody is the body of POST /sys/script_runner: the name of a script, and its arguments.
var runnerBody = append(requiredTexts("script"), body.Field{Path: "arguments", Kind: body.Object})

func (h scripts) run(r *http.Request, values map[string]any) (envelope.Result[any], error) {
	return h.call(r, values["script"].(string), values["arguments"])
}

func (h scripts) call(r *http.Request, name string, arguments any) (none envelope.Result[any], err error) {
	script, ok := scriptTable[name]
	if !ok {
		return none, auth.ErrNotFound
	}
	text := "{}"
	if arguments != nil {
		text = asJSON(arguments)
	}
	values, _, err := script.arguments.Parse(text)
	if err != nil {
		return none, err
	}
	return result(script.run(h, r, values))
}

func (h scripts) echo(_ *http.Request, arguments map[string]any) (any, error) {
	return arguments[""], nil
}

func (h scripts) whoami(r *http.Request, _ map[string]any) (any, error) {
	return auth.From(r.Context()).Account, nil
}

// requiredTexts is the form of some strings.
func requiredTexts(names ...string) (f body.Form) {
	for _, name := range names {
		f = append(f, body.Field{Path: name, Kind: body.String, Required: true})
	}
	return f
}

// createArguments are the arguments of section 5.4.6 of the interface. The options
// are the body of a token without its subject, which is an argument of its own.
var createArguments = slices.Concat(subjectArguments, body.Form{
	{Path: "options", Required: true},
	{Path: "options.scope", Kind: body.Strings, Required: true},
}, under("options", tokenOptions))

// createAuthToken mints a token of an app for an account, as POST /apps/{key}/tokens does.
func (h scripts) createAuthToken(r *http.Request, values map[string]any) (any, error) {
	w, err := wishOf(values["accountId"].(string), values, "options.")
	if err != nil {
		return nil, err
	}
	m, err := h.tokens.mintFor(r.Context(), auth.From(r.Context()), values["clientKey"].(string), w)
	return m, inFields(err, createFields)
}

// createFields maps the fields of a token's body to the arguments of createAuthToken.
var createFields = func() map[string]string {
	fields := map[string]string{"sub": "accountId", "app": "clientKey", "scope": "options.scope"}
	for _, i := range tokenOptions {
		fields[i.Path] = "options." + i.Path
	}
	return fields
}()

var (
	revokeArguments  = requiredTexts("clientKey", "jti")
	subjectArguments = requiredTexts("clientKey", "accountId")
)

func (h scripts) revokeAuthToken(r *http.Request, values map[string]any) (any, error) {
	return true, h.tokens.revokeOne(r.Context(), values["clientKey"].(string), values["jti"].(string))
}

// revokeSubjectTokens ends the tokens of an app for an account, and returns how
// many there were. It ends only tokens with an id.
func (h scripts) revokeSubjectTokens(r *http.Request, values map[string]any) (any, error) {
	return h.tokens.revokeSubject(r.Context(), values["clientKey"].(string), values["accountId"].(string))
}

var mintArguments = append(body.Form{
	{Path: "app", Kind: body.String},
	{Path: "sub", Kind: body.String},
	{Path: "scope", Kind: body.Strings},
}, tokenOptions...)

// mintAndRevoke mints a token and revokes it. Its arguments are the options, the subject and the
// app, by default the caller's. It returns the id of the revoked token.
func (h scripts) mintAndRevoke(r *http.Request, values map[string]any) (any, error) {
	p := auth.From(r.Context())
	clientKey, subject := p.App, p.Account
	setIfGiven(&clientKey, values, "app")
	setIfGiven(&subject, values, "sub")
	w, err := wishOf(subject, values, "")
	if err != nil {
		return nil, err
	}
	w.Scope = append([]string{}, w.Scope...) // an empty claim, not none
	w.Permanent = w.MaxUses == 0             // a token needs a jti to be revoked
	m, err := h.tokens.mintFor(r.Context(), p, clientKey, w)
	if err != nil {
		return nil, err
	}
	// Not revokeOne: a script may end what it has made, whoever the subject is.
	if err := h.tokens.mechanism.Revoke(r.Context(), anyOf(r.Context(), clientKey), m.ID); err != nil {
		return nil, err
	}
	return map[string]any{"jti": m.ID, "revoked": true}, nil
}

// under returns a form with its fields moved below a path.
func under(path string, f body.Form) body.Form {
	moved := slices.Clone(f)
	for i := range moved {
		moved[i].Path = path + "." + moved[i].Path
	}
	return moved
}

// names returns the members of a form's body, each once. A field below another
// member counts as that member.
func names(f body.Form) (names []string) {
	for _, field := range f {
		name, _, _ := strings.Cut(field.Path, ".")
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// views serves the routes of views and deployments. As with scripts, functions take the
// place of what an org would write.
type views struct{ *platform }

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
	return builtins(r, "view", viewTable, func(v builtinView) []string { return v.arguments })
}

// execute runs a view without scope (section 5.5 of the interface, rule 5). A caller who may run it
// reads with it what the account may, however narrow the token is. The rest of the principal
// applies. What the caller may pass on does not change.
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
	return h.signatures.Claim(r.Context(), signing.Use{
		ClientKey: clientKey,
		Nonce:     hex.EncodeToString(sum[:8]),
		Signature: sum,
		Signed:    now,
		Seen:      now,
		Keep:      now.Add(time.Minute), // longer than a signature has siblings
	})
}

// messageToken mints a token that reads messages, which the caller can hand to a browser. It
// refuses a caller who cannot read them without the view. Otherwise every view that mints would be
// a way around the caller's scope.
//
// Views run by GET, but this one may still mint. An ephemeral token leaves no record. A session has
// no app to mint with, so a page of another origin cannot make a browser mint. A GET with a
// signature of version 1 can be repeated for 2 s with other nonces, so a signature mints once.
func (h views) messageToken(r *http.Request) (any, error) {
	p := auth.From(r.Context())
	if p.Mechanism == signature.Name {
		if err := h.once(r, p.App); err != nil {
			return nil, err
		}
	}
	claims := token.Claims{Subject: p.Account, Scope: []string{"object.read." + messages.object}, Expires: time.Now().Add(5 * time.Minute)}
	if !p.Expires.IsZero() && p.Expires.Before(claims.Expires) {
		claims.Expires = p.Expires
	}
	return result(h.tokens.mintFor(r.Context(), p, p.App, bearer.Wish{Claims: claims}))
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
