package main

import (
	"encoding/json"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// scripts serves the routes that run scripts. This platform has no language for
// them: a few functions stand for what an org would have written.
type scripts struct {
	store  *store
	tokens *tokens
}

// script is one function. It runs as the caller: what it may do, the caller
// may, and no more.
type script struct {
	run       func(scripts, *http.Request, map[string]json.RawMessage) (any, error)
	arguments []string // nil: any
}

var scriptTable = map[string]script{
	"createAuthToken":     {scripts.createAuthToken, names(createArguments)},
	"echo":                {scripts.echo, nil},
	"mint_and_revoke":     {scripts.mintAndRevoke, names(mintArguments)},
	"revokeAuthToken":     {scripts.revokeAuthToken, names(revokeArguments)},
	"revokeSubjectTokens": {scripts.revokeSubjectTokens, names(subjectArguments)},
	"whoami":              {scripts.whoami, nil},
}

// builtinReply is a script or a view as the lists of them show it.
type builtinReply struct {
	envelope.Item
	Arguments []string `json:"arguments"`
}

// list answers with what there is, in the order of the identifiers.
func (h scripts) list(r *http.Request) (envelope.List[builtinReply], error) {
	var replies []builtinReply
	for name, s := range scriptTable {
		replies = append(replies, replyOfBuiltin("script", name, s.arguments))
	}
	return ownPage(r, "script", replies)
}

func replyOfBuiltin(object, name string, arguments []string) builtinReply {
	return builtinReply{envelope.Item{ID: name, Object: object}, append([]string{}, arguments...)} // [] and never null
}

// route runs the script that the path names. Its arguments are the body, which
// may be missing.
func (h scripts) route(r *http.Request) (envelope.Result[any], error) {
	arguments, err := readArguments(r)
	if err != nil {
		return envelope.Result[any]{}, err
	}
	return h.call(r, r.PathValue("identifier"), arguments)
}

// runnerBody is the body of the runner: which script, and its arguments.
var runnerBody = envelope.Form{
	{Path: "script", Kind: envelope.String, Required: true},
	{Path: "arguments", Kind: envelope.Object},
}

// run runs the script that the body names.
func (h scripts) run(r *http.Request) (envelope.Result[any], error) {
	values, err := readValues(r, runnerBody)
	if err != nil {
		return envelope.Result[any]{}, err
	}
	var name string
	var arguments map[string]json.RawMessage
	setIfGiven(&name, values, "script")
	setIfGiven(&arguments, values, "arguments")
	return h.call(r, name, arguments)
}

func (h scripts) call(r *http.Request, name string, arguments map[string]json.RawMessage) (envelope.Result[any], error) {
	script, ok := scriptTable[name]
	if !ok {
		return envelope.Result[any]{}, auth.ErrNotFound
	}
	data, err := script.run(h, r, arguments)
	return envelope.Result[any]{Data: data}, err
}

func (h scripts) echo(_ *http.Request, arguments map[string]json.RawMessage) (any, error) {
	if arguments == nil {
		return struct{}{}, nil
	}
	return arguments, nil
}

func (h scripts) whoami(r *http.Request, _ map[string]json.RawMessage) (any, error) {
	return auth.From(r.Context()).Account, nil
}

// createArguments are those of section 5.4.6 of the interface. The options are the
// body of a token without its subject, which is an argument of its own.
var createArguments = append(envelope.Form{
	{Path: "clientKey", Kind: envelope.String, Required: true},
	{Path: "accountId", Kind: envelope.String, Required: true},
}, under("options", tokenOptions)...)

// createAuthToken mints a token of an app for an account, as the route of tokens
// does.
func (h scripts) createAuthToken(r *http.Request, arguments map[string]json.RawMessage) (any, error) {
	values, err := argumentsOf(arguments, createArguments)
	if err != nil {
		return nil, err
	}
	w, err := wishOf(values["accountId"].(string), values, "options.")
	if err != nil {
		return nil, err
	}
	m, err := h.tokens.mintFor(r.Context(), auth.From(r.Context()), values["clientKey"].(string), w)
	return m.reply(), inFields(err, createFields)
}

// createFields are the arguments of createAuthToken, by the names of a body that asks
// for a token.
var createFields = func() map[string]string {
	fields := map[string]string{"sub": "accountId", "app": "clientKey"}
	for _, i := range tokenOptions {
		fields[i.Path] = "options." + i.Path
	}
	return fields
}()

var revokeArguments = envelope.Form{
	{Path: "clientKey", Kind: envelope.String, Required: true},
	{Path: "jti", Kind: envelope.String, Required: true},
}

// revokeAuthToken ends one token of an app (section 5.4.5 of the interface).
func (h scripts) revokeAuthToken(r *http.Request, arguments map[string]json.RawMessage) (any, error) {
	values, err := argumentsOf(arguments, revokeArguments)
	if err != nil {
		return nil, err
	}
	p := auth.From(r.Context())
	app, err := h.tokens.app(r.Context(), p.Org, values["clientKey"].(string))
	if err != nil {
		return nil, err
	}
	return true, h.tokens.revokeFor(r.Context(), p, app.ClientKey, values["jti"].(string))
}

var subjectArguments = envelope.Form{
	{Path: "clientKey", Kind: envelope.String, Required: true},
	{Path: "accountId", Kind: envelope.String, Required: true},
}

// revokeSubjectTokens ends all tokens with an id that an account has of an app, and
// answers how many there were.
func (h scripts) revokeSubjectTokens(r *http.Request, arguments map[string]json.RawMessage) (any, error) {
	values, err := argumentsOf(arguments, subjectArguments)
	if err != nil {
		return nil, err
	}
	return h.tokens.revokeSubject(r.Context(), values["clientKey"].(string), values["accountId"].(string))
}

var mintArguments = append(envelope.Form{{Path: "app", Kind: envelope.String}}, tokenBody...)

// mintAndRevoke is createAuthToken and revokeAuthToken in one: the arguments are the
// options, the subject and the app, by default the caller's. It answers with the id
// of a token that is no more.
func (h scripts) mintAndRevoke(r *http.Request, arguments map[string]json.RawMessage) (any, error) {
	p := auth.From(r.Context())
	values, err := argumentsOf(arguments, mintArguments)
	if err != nil {
		return nil, err
	}
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
	w.permanent = !w.limited // to be revoked it needs a jti
	m, err := h.tokens.mintFor(r.Context(), p, clientKey, w)
	if err != nil {
		return nil, err
	}
	// Not revokeFor: a script ends what it has made, whoever it was made for.
	if err := h.tokens.ledger.Revoke(r.Context(), clientKey, m.id); err != nil {
		return nil, storeFailed(err)
	}
	return map[string]any{"jti": m.id, "revoked": true}, nil
}

// argumentsOf reads arguments as strictly as a body is read.
func argumentsOf(arguments map[string]json.RawMessage, f envelope.Form) (map[string]any, error) {
	text := []byte("{}")
	if arguments != nil {
		var err error
		if text, err = json.Marshal(arguments); err != nil {
			return nil, err
		}
	}
	values, _, err := f.Parse(string(text))
	return values, err
}

// readArguments reads a body that is an object of any members, or is not there.
func readArguments(r *http.Request) (map[string]json.RawMessage, error) {
	if !hasBody(r) {
		return nil, nil
	}
	values, err := readValues(r, envelope.Form{{Kind: envelope.Object}})
	if err != nil {
		return nil, err
	}
	return values[""].(map[string]json.RawMessage), nil
}
