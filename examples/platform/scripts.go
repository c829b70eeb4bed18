package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/token"
)

// scripts serves the routes that run scripts. This platform has no script language:
// a few functions take the place of what an org would write.
type scripts struct {
	store  *store
	tokens *tokens
}

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

// list answers with the scripts.
func (h scripts) list(r *http.Request) (envelope.List[builtinReply], error) {
	var replies []builtinReply
	for name, s := range scriptTable {
		replies = append(replies, replyOfBuiltin("script", name, names(s.arguments)))
	}
	return ownPage(r, "script", replies)
}

func replyOfBuiltin(object, name string, arguments []string) builtinReply {
	return builtinReply{envelope.Item{ID: name, Object: object}, append([]string{}, arguments...)} // [], never null
}

// route runs the script that the path names. The body holds its arguments, and may
// be missing.
func (h scripts) route(r *http.Request, values map[string]any) (envelope.Result[any], error) {
	var arguments map[string]json.RawMessage
	setIfGiven(&arguments, values, "")
	return h.call(r, r.PathValue("identifier"), arguments)
}

// runnerBody is the body of POST /sys/script_runner: the name of a script, and its
// arguments.
var runnerBody = body.Form{
	{Path: "script", Kind: body.String, Required: true},
	{Path: "arguments", Kind: body.Object},
}

// run runs the script that the body names.
func (h scripts) run(r *http.Request, values map[string]any) (envelope.Result[any], error) {
	var arguments map[string]json.RawMessage
	setIfGiven(&arguments, values, "arguments")
	return h.call(r, values["script"].(string), arguments)
}

func (h scripts) call(r *http.Request, name string, arguments map[string]json.RawMessage) (none envelope.Result[any], err error) {
	script, ok := scriptTable[name]
	if !ok {
		return none, auth.ErrNotFound
	}
	text := []byte("{}")
	if arguments != nil {
		if text, err = json.Marshal(arguments); err != nil {
			return none, err
		}
	}
	values, _, err := script.arguments.Parse(string(text))
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

// createArguments are the arguments of section 5.4.6 of the interface. The options
// are the body of a token without its subject, which is an argument of its own.
var createArguments = append(body.Form{
	{Path: "clientKey", Kind: body.String, Required: true},
	{Path: "accountId", Kind: body.String, Required: true},
	{Path: "options", Required: true},
	{Path: "options.scope", Kind: body.Strings, Required: true},
}, under("options", tokenOptions)...)

// createAuthToken mints a token of an app for an account, as POST
// /apps/{key}/tokens does.
func (h scripts) createAuthToken(r *http.Request, values map[string]any) (any, error) {
	w, err := wishOf(values["accountId"].(string), values, "options.")
	if err != nil {
		return nil, err
	}
	m, err := h.tokens.mintFor(r.Context(), auth.From(r.Context()), values["clientKey"].(string), w)
	return m.reply(), inFields(err, createFields)
}

// createFields maps the fields of a token's body to the arguments of
// createAuthToken.
var createFields = func() map[string]string {
	fields := map[string]string{"sub": "accountId", "app": "clientKey", "scope": "options.scope"}
	for _, i := range tokenOptions {
		fields[i.Path] = "options." + i.Path
	}
	return fields
}()

var revokeArguments = body.Form{
	{Path: "clientKey", Kind: body.String, Required: true},
	{Path: "jti", Kind: body.String, Required: true},
}

// revokeAuthToken ends one token of an app (section 5.4.5 of the interface).
func (h scripts) revokeAuthToken(r *http.Request, values map[string]any) (any, error) {
	return true, h.tokens.revokeOne(r.Context(), values["clientKey"].(string), values["jti"].(string))
}

var subjectArguments = body.Form{
	{Path: "clientKey", Kind: body.String, Required: true},
	{Path: "accountId", Kind: body.String, Required: true},
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

// mintAndRevoke mints a token and revokes it. Its arguments are the options, the
// subject and the app, by default the caller's. It returns the id of the revoked
// token.
func (h scripts) mintAndRevoke(r *http.Request, values map[string]any) (any, error) {
	p := auth.From(r.Context())
	clientKey, subject := p.App, p.Account
	setIfGiven(&clientKey, values, "app")
	setIfGiven(&subject, values, "sub")
	if _, given := values["scope"]; !given {
		values["scope"] = []string{}
	}
	w, err := wishOf(subject, values, "")
	if err != nil {
		return nil, err
	}
	w.permanent = !w.limited // a token needs a jti to be revoked
	m, err := h.tokens.mintFor(r.Context(), p, clientKey, w)
	if err != nil {
		return nil, err
	}
	// Not revokeOne: a script may end what it has made, whoever the subject is.
	if err := h.tokens.ledger.Revoke(r.Context(), token.Holder{Org: p.Org, ClientKey: clientKey, Subject: token.AnySubject}, m.id); err != nil {
		return nil, storeFailed(err)
	}
	return map[string]any{"jti": m.id, "revoked": true}, nil
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
