package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// objects serves the routes of one type of objects. The list shows of them what the
// caller's scope has.
type objects struct {
	schema
	store *store
}

func (h objects) list(w http.ResponseWriter, r *http.Request) (envelope.List[envelope.Verbatim], error) {
	page, err := h.page(r)
	if err == nil && page.HasMore {
		if link := h.next(r, page.Data[len(page.Data)-1]); link != "" {
			w.Header().Set("Link", link)
		}
	}
	return page, err
}

func (h objects) page(r *http.Request) (none envelope.List[envelope.Verbatim], err error) {
	p := auth.From(r.Context())
	if ids, all := h.grant(r).IDs(); !all && len(ids) == 0 {
		return none, h.unreadable("", "") // a chain on a #type let it in, and there is no such type here
	}
	if err := h.store.queries.hold(r.Context()); err != nil {
		return none, err
	}
	return h.Page(r.Context(), h.store.pages, string(p.Org), p.Scope, r.URL.RawQuery)
}

// next returns the Link to the page after an item. The item need not have the keys of the
// sort, so they are read again.
func (h objects) next(r *http.Request, last envelope.Verbatim) string {
	q, _ := h.Schema().Parse(r.URL.RawQuery, anyProperty) // the page is of this query
	keys := paging.Query{Paths: each(q.Order(), func(k paging.Key) string { return k.Path })}
	values, err := valuesOf(last)
	if err == nil && len(keys.Paths) > 1 {
		if last, err = h.show(r, values["_id"].(string), keys); err == nil {
			values, err = valuesOf(last)
		}
	}
	if err != nil {
		return "" // the item was deleted meanwhile, perhaps: the link is only a help
	}
	t := auth.TenantFrom(r.Context())
	return h.Schema().NextLink(t.URL()+t.Command, r.URL.RawQuery, func(path string) (any, bool) {
		value, ok := values[path]
		return value, ok
	})
}

func (h objects) grant(r *http.Request) scope.Part {
	return auth.From(r.Context()).Scope.On(scope.Read, h.object)
}

func (h objects) unreadable(id, path string) error {
	need := scope.Object(scope.Read, h.object, id, path)
	return &auth.Error{Detail: auth.DetailScope, Reason: need.String()}
}

// mayRead returns an error if the caller may read no part of an object. It does not show
// whether the object exists.
func (h objects) mayRead(r *http.Request, id string) error {
	if ids, all := h.grant(r).IDs(); !all && !slices.Contains(ids, id) {
		return h.unreadable(id, "")
	}
	return nil
}

// asked reads the arguments of a request about one object. Those of a list property are
// fine if the caller may read anything of its items.
func (h objects) asked(r *http.Request, id string) (paging.Query, error) {
	reads := h.grant(r).Of(id)
	return h.Schema().ParseObject(r.URL.RawQuery, func(path string) bool {
		p, _ := h.property(path)
		return reads(path) || p.List != nil && (reads(path+"._id") || reads(path+".object"))
	})
}

// show returns what a query asks for of an object, as far as the caller may read it.
func (h objects) show(r *http.Request, id string, q paging.Query) (envelope.Verbatim, error) {
	if len(q.Lists) > 0 {
		if err := h.store.queries.hold(r.Context()); err != nil {
			return nil, err
		}
	}
	p := auth.From(r.Context())
	return h.Read(r.Context(), h.store.pages, string(p.Org), p.Scope, id, q)
}

func (h objects) get(r *http.Request) (envelope.Verbatim, error) {
	id := r.PathValue("id")
	if err := h.mayRead(r, id); err != nil {
		return nil, err
	}
	q, err := h.asked(r, id)
	if err != nil {
		return nil, err
	}
	return h.show(r, id, q)
}

// propertyOf answers with one property. A list has arguments of its own. A missing value is null.
func (h objects) propertyOf(r *http.Request) (any, error) {
	id, path := r.PathValue("id"), strings.ReplaceAll(r.PathValue("path"), "/", ".") // as the route's need reads the path
	if err := h.mayRead(r, id); err != nil {
		return nil, err
	}
	p, known := h.property(path)
	if p.List != nil {
		return h.listOf(r, id, p)
	}
	q, err := h.asked(r, id)
	if err != nil {
		return nil, err
	}
	q.Paths, q.Lists = []string{path}, nil
	item, err := h.show(r, id, q)
	if err == nil && !known {
		err = auth.ErrNotFound
	}
	if err == nil && !slices.ContainsFunc(h.Schema().Properties, func(p paging.Property) bool {
		return q.Wants(p.Path) && h.grant(r).Of(id)(p.Path)
	}) {
		err = h.unreadable(id, path)
	}
	return result(memberOf(item, path), err)
}

// listOf answers with a list property, whose items belong to the object.
func (h objects) listOf(r *http.Request, id string, p paging.Property) (list envelope.List[json.RawMessage], err error) {
	reads := h.grant(r).Of(id)
	sub, err := p.List.Parse(r.URL.RawQuery, func(path string) bool { return reads(p.Path + "." + path) })
	if err != nil {
		return list, err
	}
	item, err := h.show(r, id, paging.Query{Paths: []string{p.Path}, Lists: map[string]paging.Query{p.Path: sub}})
	if err != nil {
		return list, err
	}
	text := memberOf(item, p.Path)
	if text == nil {
		return list, h.unreadable(id, p.Path)
	}
	if err := json.Unmarshal(text, &list); err != nil || sub.CountTo == 0 {
		return list, err
	}
	list.Total, err = h.store.pages.Count(r.Context(), sub.And(paging.Eq(parentPath, id)), messages.Table(),
		sqlpage.RowScope{Tenant: string(auth.From(r.Context()).Org), AllIDs: true})
	if err != nil && !errors.Is(err, paging.ErrSlowCount) { // which is the client's to mend
		err = storeFailed(err)
	}
	return list, err
}

func memberOf(item []byte, path string) json.RawMessage {
	text := json.RawMessage(item)
	for name := range strings.SplitSeq(path, ".") {
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return nil
		}
		text = members[name]
	}
	return text
}

func (h objects) create(r *http.Request) (envelope.Verbatim, error) {
	p := auth.From(r.Context())
	if err := mayCreate(p); err != nil {
		return nil, err
	}
	o := &object{ID: newID(), Org: p.Org, Type: h.schema, Owner: p.Account, Values: make(map[string]any)}
	q, values, err := h.written(r, scope.Create, o.ID)
	if err != nil {
		return nil, err
	}
	if h.object == messages.object {
		o.Values[authorPath], o.Values[sentPath] = o.Owner, date(time.Now()) // unless the client says otherwise
	}
	maps.Copy(o.Values, values)
	if err := h.store.create(r.Context(), o); err != nil {
		return nil, err
	}
	return h.afterWrite(r, o.ID, q)
}

func (h objects) update(r *http.Request) (envelope.Verbatim, error) {
	p, id := auth.From(r.Context()), r.PathValue("id")
	if err := p.MayWrite(scope.Update, h.object, id, nil); err != nil {
		return nil, err // a chain on a #type let it in, and there is no such type here
	}
	o, err := h.store.object(r.Context(), p.Org, h.schema, id)
	if err != nil {
		return nil, err
	}
	if err := mayChange(p, o, scope.LevelUpdate); err != nil {
		return nil, err // before the body is read
	}
	q, changes, err := h.written(r, scope.Update, id)
	if err != nil {
		return nil, err
	}
	allowed := func(o *object) error {
		return cmp.Or(mayChange(p, o, scope.LevelUpdate), mayChangeAuthor(p, o, changes))
	}
	if err := h.store.update(r.Context(), p.Org, h.schema, id, changes, allowed); err != nil {
		return nil, err
	}
	return h.afterWrite(r, id, q)
}

// afterWrite returns the reply of a request that has written an object. A caller that may
// not read it gets its id.
func (h objects) afterWrite(r *http.Request, id string, q paging.Query) (envelope.Verbatim, error) {
	item, err := h.show(r, id, q)
	if errors.Is(err, sqllist.ErrNotFound) {
		return envelope.Verbatim(asJSON(envelope.Item{ID: id, Object: h.object})), nil
	}
	return item, err
}

func (h objects) delete(r *http.Request) (envelope.Result[bool], error) {
	p, id := auth.From(r.Context()), r.PathValue("id")
	allowed := func(o *object) error { return mayChange(p, o, scope.LevelDelete) }
	o, err := h.store.object(r.Context(), p.Org, h.schema, id)
	if err == nil {
		err = allowed(o)
	}
	if err != nil {
		return done(err)
	}
	// The reply shows nothing of the object, but the query is checked. A where that
	// the server ignored would delete an object that the client wanted to keep.
	if _, err := h.asked(r, id); err != nil {
		return done(err)
	}
	return done(h.store.delete(r.Context(), p.Org, h.schema, id, allowed))
}

// written returns what a request writes to an object, and which part of the object
// its reply shows. Everything is checked before anything is stored, and each property
// in the body must be within the scope.
func (h objects) written(r *http.Request, v scope.Verb, id string) (q paging.Query, values map[string]any, err error) {
	if q, err = h.asked(r, id); err != nil {
		return q, nil, err
	}
	f := formOf(h.schema)
	if v == scope.Update {
		f = changesOf(h.schema)
	} else {
		id = "" // of no chain: the server chooses it
	}
	values, names, err := f.Read(r, maxBody)
	if err != nil {
		return q, nil, err
	}
	p := auth.From(r.Context())
	if err := p.MayWrite(v, h.object, id, names); err != nil {
		return q, nil, err
	}
	return q, values, mayWriteAs(p, values)
}
