package auth

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
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

// MayWrite decides whether p's scope permits a request to write these properties of an
// object. v is Update for the properties of an instance, or Create for an instance that has
// them. A route with the need Some must call it,
//
//	auth.Some("object.update.c_note.{id}")
//
// before it writes anything. Pass the property paths of everything that the body names, also
// those it unsets, and names that the application does not know. Take them from the decoded
// value that will be written, never from another reading of the body. A path is
// dot-separated, as in chains: "c_meta.lang", "c_tags[]". To replace the whole of c_meta,
// name c_meta. The identifier "" means an instance to be created, or every instance to be
// updated.
//
// Each path needs a chain that covers it: object.update.c_note.*.c_text, or a wider one. An
// update without paths changes nothing, so it needs only some chain on the instance. Creating
// without paths needs a chain without a property, because a property does not grant the
// object it belongs to.
//
// The error has DetailScope and a child for each path that is not covered, up to 32. The
// caller must still check the access rules on objects.
func (p Principal) MayWrite(v scope.Verb, object, id string, paths []string) error {
	grant := p.Scope.On(v, object)
	whole := grant.Need(id, "")
	if p.Scope.Allows(whole) {
		return nil
	}
	refusal := &Error{Detail: DetailScope, Reason: whole.String()}
	if len(paths) == 0 {
		if ids, all := grant.IDs(); v == scope.Update && (all || slices.Contains(ids, id)) {
			return nil
		}
		return refusal
	}
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		if need := grant.Need(id, path); !p.Scope.Allows(need) && len(refusal.Faults) < maxExcess {
			refusal.Faults = append(refusal.Faults, &Error{Detail: DetailScope, Path: path, Reason: need.String()})
		}
	}
	if len(refusal.Faults) == 0 {
		return nil
	}
	return refusal
}
