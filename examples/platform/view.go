package main

import (
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/scope"
)

// The routes that read let in whoever may read any part of what they name. What
// follows narrows the answer to that part: first the objects, before the page
// is cut, and then the properties of each. That _id and object of a visible
// object are always shown is up to objects.reply.

// grant is what the caller may read of this type.
func (h objects) grant(r *http.Request) scope.Grant {
	return auth.From(r.Context()).Scope.On(scope.Read, h.schema.Object)
}

// everywhere tells of which properties the caller may compare the values in a
// list: those it may read of every object. By comparing those of some it would
// learn of the others.
//
// A list property may have arguments if any object shows it.
func (h objects) everywhere(r *http.Request) func(path string) bool {
	of, grant := auth.From(r.Context()).Scope, h.grant(r)
	return func(path string) bool {
		if isList(h.schema, path) {
			return of.Overlaps(scope.Object(scope.Read, h.schema.Object, "", path))
		}
		return grant.Property(path)
	}
}

// readable matches the objects of which the caller may read any part.
func (h objects) readable(r *http.Request) (paging.Filter, error) {
	ids, all := h.grant(r).IDs()
	switch {
	case all:
		return paging.Filter{}, nil
	case len(ids) == 0: // let in by a chain on a #type, of which there is none here
		return paging.Filter{}, h.unreadable("", "")
	}
	return paging.In("_id", ids...), nil
}

// read returns the object that the request's path names, if the caller may read
// any part of it. Where it may not, it is not told whether there is one.
func (h objects) read(r *http.Request) (*object, error) {
	id := r.PathValue("id")
	if ids, all := h.grant(r).IDs(); !all && !slices.Contains(ids, id) {
		return nil, h.unreadable(id, "")
	}
	return h.store.read(r.Context(), auth.From(r.Context()).Org, h.schema, id)
}

func (h objects) unreadable(id, path string) error {
	need := scope.Object(scope.Read, h.schema.Object, id, path)
	return &auth.Error{Detail: auth.DetailScope, Reason: need.String()}
}

// view is what a caller may read of one object, or of the items of one of its
// list properties.
//
// The items belong to the object whose property they are, and so do the chains
// that show them: object.read.c_conversation.*.c_messages.c_text. Chains on
// c_message are for the routes of messages, and change nothing here.
type view struct {
	reads func(path string) bool // on the object
	list  string                 // path of the list property and a dot; or empty
}

// views returns the view of each object of this type.
func (h objects) views(r *http.Request) func(*object) view {
	grant := h.grant(r)
	return func(o *object) view { return view{reads: grant.Of(o.ID)} }
}

// below is the view of the items of a list property.
func (v view) below(p paging.Property) view {
	return view{v.reads, v.list + p.Path + "."}
}

// has tells whether a property may be shown. A list may for the sake of
// anything its items have.
func (v view) has(p paging.Property) bool {
	if v.reads(v.list + p.Path) {
		return true
	}
	return p.List != nil && v.below(p).hasAny(p.List)
}

func (v view) hasAny(s *paging.Schema) bool {
	return v.reads(v.list+"_id") || v.reads(v.list+"object") ||
		slices.ContainsFunc(s.Properties, func(p paging.Property) bool { return !p.Hidden && v.has(p) })
}

// readable tells of which properties of the one object the caller may compare
// the values, and which list properties may have arguments.
func (v view) readable(s *paging.Schema) func(path string) bool {
	return func(path string) bool {
		if p, ok := propertyOf(s, path); ok {
			return v.has(p)
		}
		return v.reads(v.list + path)
	}
}

// hasBelow tells whether the property at a path may be shown, or one below it.
func (v view) hasBelow(path string, s *paging.Schema) bool {
	q := paging.Query{Paths: []string{path}}
	return slices.ContainsFunc(s.Properties, func(p paging.Property) bool {
		return !p.Hidden && q.Wants(p.Path) && v.has(p)
	})
}
