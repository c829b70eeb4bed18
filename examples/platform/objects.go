package main

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// object is one object of an org.
type object struct {
	ID     string // 24 hexadecimal digits
	Org    auth.OrgKey
	Type   string         // name of its schema
	Owner  string         // id of the account that created it
	Values map[string]any // by property path; a property without a value is missing

	doc     document // the document that was read; an object that is only shown keeps its values there
	version int64    // version of its row
}

// at returns the value of a property. The value is JSON if the document was not
// decoded.
func (o *object) at(path string) (value any, ok bool) {
	if o.Values == nil {
		return o.doc.at(path)
	}
	value, ok = o.Values[path]
	return value, ok
}

// sortKey is at for a property that is no object or array. It decodes the value.
func (o *object) sortKey(path string) (value any, ok bool) {
	switch path {
	case "_id":
		return o.ID, true
	case "object":
		return o.Type, true
	}
	value, ok = o.at(path)
	if text, encoded := value.(json.RawMessage); encoded {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber() // exact
		value = nil
		ok = ok && decoder.Decode(&value) == nil
	}
	return value, ok
}

// items returns the ids of a list property.
func (o *object) items(path string) (ids []string, err error) {
	switch value, _ := o.at(path); value := value.(type) {
	case []string:
		return value, nil
	case json.RawMessage:
		if value != nil {
			err = json.Unmarshal(value, &ids)
		}
	}
	return ids, err
}

// Properties that the server knows by name. It sets the first two if the client
// does not. The third can be null.
const (
	authorPath   = "c_author"
	sentPath     = "c_sent"
	languagePath = "c_meta.lang"
)

// isBy reports whether an account is the object's owner or author.
func (o *object) isBy(account string) bool {
	return account != "" && (account == o.Owner || account == o.Values[authorPath])
}

// newID returns the id of a new object. It starts with the time in seconds, so that
// ids are roughly in the order of creation.
func newID() string {
	var id [12]byte
	rand.Read(id[4:])
	binary.BigEndian.PutUint32(id[:], uint32(time.Now().Unix()))
	return hex.EncodeToString(id[:])
}

// objects serves the routes of one type of objects.
type objects struct {
	schema *paging.Schema
	store  *store
}

// list sends a Link header to the next page, too.
func (h objects) list(w http.ResponseWriter, r *http.Request) (envelope.List[objectReply], error) {
	page, last, err := h.page(r)
	if err != nil || !page.HasMore {
		return page, err
	}
	tenant := auth.TenantFrom(r.Context())
	if link := h.schema.NextLink(tenant.URL()+tenant.Command, r.URL.RawQuery, last.sortKey); link != "" {
		w.Header().Set("Link", link)
	}
	return page, nil
}

// page returns the page that a request asks for, and its last object.
func (h objects) page(r *http.Request) (page envelope.List[objectReply], last *object, err error) {
	within, err := h.readable(r)
	if err != nil {
		return page, nil, err
	}
	q, err := h.schema.Parse(r.URL.RawQuery, h.everywhere(r))
	if err != nil {
		return page, nil, err
	}
	views := h.views(r)
	page, err = h.replies(r, q, within, func(o *object) view {
		last = o
		return views(o)
	})
	return page, last, err
}

func (h objects) get(r *http.Request) (objectReply, error) {
	o, err := h.read(r)
	if err != nil {
		return nil, err
	}
	v := h.views(r)(o)
	q, err := h.schema.ParseObject(r.URL.RawQuery, v.readable(h.schema))
	if err != nil {
		return nil, err
	}
	return h.reply(r, o, orWhole(q, h.schema), v)
}

// property answers with one property. A list has arguments of its own. A missing
// value is null.
func (h objects) property(r *http.Request) (any, error) {
	o, err := h.read(r)
	if err != nil {
		return nil, err
	}
	path := strings.ReplaceAll(r.PathValue("path"), "/", ".") // as the route's need reads the path
	p, known := propertyOf(h.schema, path)
	v := h.views(r)(o)
	switch {
	case !known && !hasBelow(h.schema, path):
		return nil, auth.ErrNotFound
	case !v.hasBelow(path, h.schema):
		return nil, h.unreadable(o.ID, path)
	case p.List != nil:
		return h.listProperty(r, o, p, v)
	}
	asked := paging.Query{Paths: []string{path}}.Encode() // with the lists below the path
	q, err := h.schema.ParseObject(r.URL.RawQuery+"&"+asked, v.readable(h.schema))
	if err != nil {
		return nil, err
	}
	reply, err := h.reply(r, o, q, v)
	return result(reply.at(path), err)
}

func (h objects) listProperty(r *http.Request, o *object, p paging.Property, v view) (any, error) {
	v = v.below(p)
	q, err := p.List.Parse(r.URL.RawQuery, v.readable(p.List))
	if err != nil {
		return nil, err
	}
	return h.items(r, o, p, q, v)
}

func (h objects) create(r *http.Request) (objectReply, error) {
	p := auth.From(r.Context())
	if err := mayCreate(p); err != nil {
		return nil, err
	}
	q, values, err := h.written(r, scope.Create, "", h.everywhere(r))
	if err != nil {
		return nil, err
	}
	o := &object{ID: newID(), Org: p.Org, Type: h.schema.Object, Owner: p.Account, Values: values}
	h.setDefaults(o)
	if err := h.store.create(r.Context(), o); err != nil {
		return nil, err
	}
	return h.reply(r, o, q, h.views(r)(o))
}

func (h objects) update(r *http.Request) (objectReply, error) {
	p := auth.From(r.Context())
	if err := p.MayWrite(scope.Update, h.schema.Object, r.PathValue("id"), nil); err != nil {
		return nil, err // a chain on a #type let it in, and there is no such type here
	}
	o, err := h.find(r)
	if err != nil {
		return nil, err
	}
	if err := mayUpdate(p, o); err != nil {
		return nil, err // before the body is read
	}
	q, changes, err := h.written(r, scope.Update, o.ID, h.views(r)(o).readable(h.schema))
	if err != nil {
		return nil, err
	}
	allowed := func(o *object) error {
		if err := mayUpdate(p, o); err != nil {
			return err
		}
		return mayChangeAuthor(p, o, changes)
	}
	if o, err = h.store.update(r.Context(), o.Org, h.schema, o.ID, changes, allowed); err != nil {
		return nil, err
	}
	return h.reply(r, o, q, h.views(r)(o))
}

func (h objects) delete(r *http.Request) (envelope.Result[bool], error) {
	o, err := h.find(r)
	if err != nil {
		return done(err)
	}
	allowed := func(o *object) error { return mayDelete(auth.From(r.Context()), o) }
	if err := allowed(o); err != nil {
		return done(err)
	}
	// The reply shows nothing of the object, but the query is checked. A where that
	// the server ignored would delete an object that the client wanted to keep.
	if _, err := h.schema.ParseObject(r.URL.RawQuery, h.views(r)(o).readable(h.schema)); err != nil {
		return done(err)
	}
	return done(h.store.delete(r.Context(), o.Org, h.schema, o.ID, allowed))
}

// find returns the object that the request's path names.
func (h objects) find(r *http.Request) (*object, error) {
	return h.store.object(r.Context(), auth.From(r.Context()).Org, h.schema, r.PathValue("id"))
}

// written returns what a request writes to an object, and which part of the object
// its reply shows. id is empty for a new object. Everything is checked before
// anything is stored, and each property in the body must be within the scope.
func (h objects) written(r *http.Request, v scope.Verb, id string, readable func(path string) bool) (q paging.Query, values map[string]any, err error) {
	if q, err = h.schema.ParseObject(r.URL.RawQuery, readable); err != nil {
		return q, nil, err
	}
	f := formOf(h.schema)
	if v == scope.Update {
		f = changesOf(h.schema)
	}
	values, names, err := f.Read(r, maxBody)
	if err != nil {
		return q, nil, err
	}
	p := auth.From(r.Context())
	if err := p.MayWrite(v, h.schema.Object, id, names); err != nil {
		return q, nil, err
	}
	return orWhole(q, h.schema), values, mayWriteAs(p, values)
}

// setDefaults sets the author and the time of a new object if they are missing.
func (h objects) setDefaults(o *object) {
	for path, value := range map[string]any{
		authorPath: o.Owner,
		sentPath:   time.Now().UTC().Format(dateLayout),
	} {
		_, known := propertyOf(h.schema, path)
		if _, given := o.Values[path]; known && !given {
			o.Values[path] = value
		}
	}
}

// reply returns the part of an object that the query asks for and the view allows,
// and never a hidden property.
func (h objects) reply(r *http.Request, o *object, q paging.Query, v view) (objectReply, error) {
	reply := objectReply{{"_id", o.ID}, {"object", o.Type}}
	for _, p := range h.schema.Properties {
		if p.Hidden || !q.Wants(p.Path) || !v.has(p) {
			continue
		}
		if p.List != nil {
			sub, asked := q.Lists[p.Path]
			if !asked {
				continue // left out, because a list without items would say that it is empty
			}
			items, err := h.items(r, o, p, sub, v.below(p))
			if err != nil {
				return nil, err
			}
			reply = reply.with(p.Path, items)
		} else if value, ok := o.at(p.Path); ok {
			reply = reply.with(p.Path, value)
		}
	}
	return reply, nil
}

// items returns the value of a list property. It is a list with arguments of its
// own, even if it is empty.
func (h objects) items(r *http.Request, o *object, p paging.Property, q paging.Query, v view) (envelope.List[objectReply], error) {
	in := objects{schema: p.List, store: h.store}
	ids, err := o.items(p.Path)
	if err != nil || len(ids) == 0 {
		return envelope.List[objectReply]{Total: q.Total(0)}, err
	}
	return in.replies(r, q, sqlpage.RowScope{Tenant: string(auth.From(r.Context()).Org), IDs: ids}, func(*object) view { return v })
}

// replies returns the page that a query asks for.
func (h objects) replies(r *http.Request, q paging.Query, visible sqlpage.RowScope, views func(*object) view) (to envelope.List[objectReply], err error) {
	if err := h.store.queries.hold(r.Context()); err != nil {
		return to, err
	}
	page, more, err := h.store.page(r.Context(), visible, h.schema, q)
	if err != nil {
		return to, err
	}
	if to.Total, err = h.store.total(r.Context(), visible, h.schema, q); err != nil {
		return to, err
	}
	to.HasMore = more
	left := paging.MaxBytes // the lists of all objects together may have more
	for _, o := range page {
		if left <= 0 {
			to.HasMore = true
			break
		}
		reply, err := h.reply(r, o, q, views(o))
		if err != nil {
			return to, err
		}
		to.Data, left = append(to.Data, reply), left-reply.size()
	}
	return to, nil
}

// orWhole returns the query of a single object. Without paths[], the reply has all
// properties except lists.
func orWhole(q paging.Query, s *paging.Schema) paging.Query {
	if q.Paths != nil {
		return q
	}
	for _, p := range s.Properties {
		if p.List == nil {
			q.Paths = append(q.Paths, p.Path)
		}
	}
	return q
}
