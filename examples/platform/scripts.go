package main

import (
	"bytes"
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
type script func(scripts, *http.Request, map[string]json.RawMessage) (any, error)

var scriptTable = map[string]script{
	"echo":            scripts.echo,
	"whoami":          scripts.whoami,
	"mint_and_revoke": scripts.mintAndRevoke,
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
var runnerBody = form{
	{Path: "script", Type: typeString},
	{Path: "arguments", Type: typeJSON},
}

// run runs the script that the body names.
func (h scripts) run(r *http.Request) (envelope.Result[any], error) {
	values, err := readValues(r, runnerBody)
	if err == nil {
		err = required(values, "script")
	}
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
	run, ok := scriptTable[name]
	if !ok {
		return envelope.Result[any]{}, auth.ErrNotFound
	}
	data, err := run(h, r, arguments)
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

// mintAndRevoke is createAuthToken and revokeAuthToken of the interface,
// sections 5.4.6 and 5.4.5: the arguments are its options and app, by default
// the caller's. It answers with the id of a token that is no more.
func (h scripts) mintAndRevoke(r *http.Request, arguments map[string]json.RawMessage) (any, error) {
	p := auth.From(r.Context())
	options, err := mintOptions(arguments)
	if err != nil {
		return nil, err
	}
	clientKey := p.App
	setIfGiven(&clientKey, options, "app")
	if _, given := options["sub"]; !given {
		options["sub"] = p.Account
	}
	if _, given := options["scope"]; !given {
		options["scope"] = []string{}
	}
	w, err := wishOf(options)
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

var mintArguments = append(form{{Path: "app", Type: typeString}}, tokenBody...)

// mintOptions reads arguments as the body of a token is read.
func mintOptions(arguments map[string]json.RawMessage) (map[string]any, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	if arguments == nil {
		text = []byte("{}")
	}
	return valuesOf(text, mintArguments)
}

// readArguments reads a body that is an object of any members, or is not there.
func readArguments(r *http.Request) (map[string]json.RawMessage, error) {
	if !hasBody(r) {
		return nil, nil
	}
	body, err := readJSON(r)
	if err != nil {
		return nil, err
	}
	arguments, refused := readMembers(bytes.TrimSpace(body))
	if refused != "" {
		return nil, &auth.Error{Detail: auth.DetailBody, Reason: refused}
	}
	return arguments.(map[string]json.RawMessage), nil
}
