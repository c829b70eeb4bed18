package main

import (
	"net/http"
	"slices"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// The routes that read let in a caller who may read any part of what they name. The
// functions below narrow the answer to that part: first the objects, before the
// page is cut, and then the properties of each. objects.reply always shows _id and
// object of a visible object.

// grant returns what the caller may read of this type.
func (h objects) grant(r *http.Request) scope.Grant {
	return auth.From(r.Context()).Scope.On(scope.Read, h.schema.Object)
}

// everywhere reports of which properties the caller may compare the values in a
// list. It must be allowed to read them on every object. Otherwise a comparison
// would reveal values of other objects.
//
// A list property may have arguments if the caller may read it on any object.
func (h objects) everywhere(r *http.Request) func(path string) bool {
	of, grant := auth.From(r.Context()).Scope, h.grant(r)
	return func(path string) bool {
		if isList(h.schema, path) {
			return of.Overlaps(scope.Object(scope.Read, h.schema.Object, "", path))
		}
		return grant.Property(path)
	}
}

// readable are the objects of which the caller may read any part.
func (h objects) readable(r *http.Request) (sqlpage.RowScope, error) {
	ids, all := h.grant(r).IDs()
	if !all && len(ids) == 0 { // a chain on a #type let it in, and there is no such type here
		return sqlpage.RowScope{}, h.unreadable("", "")
	}
	return sqlpage.RowScope{Tenant: string(auth.From(r.Context()).Org), IDs: ids, AllIDs: all}, nil
}

// read returns the object that the request's path names, if the caller may read any
// part of it. If not, the error does not show whether the object exists.
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

// view is what a caller may read of one object, or of the items of one of its list
// properties.
//
// The items belong to the object with the property. So do the chains that show
// them: object.read.c_conversation.*.c_messages.c_text. Chains on c_message are for
// the routes of messages, and change nothing here.
type view struct {
	reads func(path string) bool // reports whether a path of the object may be read
	list  string                 // path of the list property with a dot, or empty
}

// views returns a function that returns the view of an object of this type.
func (h objects) views(r *http.Request) func(*object) view {
	grant := h.grant(r)
	return func(o *object) view { return view{reads: grant.Of(o.ID)} }
}

// below returns the view of the items of a list property.
func (v view) below(p paging.Property) view {
	return view{v.reads, v.list + p.Path + "."}
}

// has reports whether a property may be shown. A list may be shown if anything of
// its items may.
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

// readable reports of which properties of one object the caller may compare the
// values, and which list properties may have arguments.
func (v view) readable(s *paging.Schema) func(path string) bool {
	return func(path string) bool {
		if p, ok := propertyOf(s, path); ok {
			return v.has(p)
		}
		return v.reads(v.list + path)
	}
}

// hasBelow reports whether the property at a path, or one below it, may be shown.
func (v view) hasBelow(path string, s *paging.Schema) bool {
	q := paging.Query{Paths: []string{path}}
	return slices.ContainsFunc(s.Properties, func(p paging.Property) bool {
		return !p.Hidden && q.Wants(p.Path) && v.has(p)
	})
}
