package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tenantkit/tenantkit/scope"
)

// PartHandler serves a route whose need is Some. It gets the part of the operation's objects
// that the caller's scope permits: what scope.Set.On returns for the verb and the object name of
// the need. A list puts part.IDs into its query, a reader shows what part.Of permits of an
// instance, and a writer calls Principal.MayWrite.
//
// Registration panics if another handler is behind Some. Such a handler could forget that its
// caller may do only a part, and would then answer with the whole. A parameter is seen by
// whoever writes the handler. It needs no state in the request, nothing around the
// http.ResponseWriter, and no router of its own:
//
//	mux.Handle("GET /notes", auth.Some("object.read.c_note"), auth.PartHandler(list))
//
// A handler that narrows by the principal's scope itself, as one with package sqllist, is called
// by a PartHandler that ignores part.
type PartHandler func(w http.ResponseWriter, r *http.Request, part scope.Part)

// ServeHTTP makes a PartHandler an http.Handler, so that Mux.Handle and Guard.Require take it.
// They call it with the part. Called in another way it answers 500.
func (h PartHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) { Fail(w, r, errNoPart) }

var errNoPart = errors.New("auth: a PartHandler is behind something that hides it from Guard.Require")

// bind returns what Require calls after it has admitted a request. It panics unless exactly the
// needs of Some have a PartHandler.
func (n *rule) bind(next http.Handler) func(http.ResponseWriter, *http.Request, *Principal) {
	h, takesPart := next.(PartHandler)
	switch {
	case takesPart && n.kind != needSome:
		panic("auth: a PartHandler needs auth.Some")
	case takesPart:
		return func(w http.ResponseWriter, r *http.Request, p *Principal) { h(w, r, n.part(r, p)) }
	case n.kind == needSome:
		panic(fmt.Sprintf("auth: Some(%q) admits callers who may do only a part: its handler must be an auth.PartHandler", n.Need.operation))
	}
	return func(w http.ResponseWriter, r *http.Request, _ *Principal) { next.ServeHTTP(w, r) }
}

// part returns what p's scope permits of the operation's objects.
func (n *rule) part(r *http.Request, p *Principal) scope.Part {
	verb, object := n.operation.verb, n.operation.object
	if object == "" { // a placeholder
		verb, object, _ = splitObject(n.operation.fill(r).String())
	}
	return p.Scope.On(verb, object)
}

// splitObject returns the verb and the name of an operation on objects.
func splitObject(operation string) (verb scope.Verb, object string, ok bool) {
	segments := strings.SplitN(operation, ".", 4)
	if len(segments) < 3 || segments[0] != "object" {
		return "", "", false
	}
	return scope.Verb(segments[1]), segments[2], true
}
