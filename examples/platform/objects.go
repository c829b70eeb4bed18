package main

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// object is one object of an org.
type object struct {
	ID     string // 24 hexadecimal digits
	Org    string
	Type   string         // name of its schema
	Owner  string         // id of the account that created it
	Values map[string]any // by property path; what is missing has no value
}

// Properties the server sets where the client does not.
const (
	authorPath = "c_author"
	sentPath   = "c_sent"
)

// isBy tells whether an account is the object's owner or author.
func (o *object) isBy(account string) bool {
	return account != "" && (account == o.Owner || account == o.Values[authorPath])
}

// newID returns the id of a new object. It starts with the time in seconds, so
// that ids are in the order of creation, roughly.
func newID() string {
	var id [12]byte
	rand.Read(id[4:])
	binary.BigEndian.PutUint32(id[:], uint32(time.Now().Unix()))
	return hex.EncodeToString(id[:])
}

// objects serves the routes of one type of objects.
type objects struct {
	schema *schema
	store  *memory
}

func (h objects) list(r *http.Request) (envelope.List[objectReply], error) {
	q, err := parseQuery(r.URL.RawQuery, h.schema)
	if err != nil {
		return envelope.List[objectReply]{}, err
	}
	all, err := h.readable(r)
	if err != nil {
		return envelope.List[objectReply]{}, err
	}
	return h.replies(r, page(all, q), q, h.views(r))
}

func (h objects) get(r *http.Request) (objectReply, error) {
	o, err := h.read(r)
	if err != nil {
		return nil, err
	}
	q, err := parseQuery(r.URL.RawQuery, h.schema)
	if err != nil {
		return nil, err
	}
	return h.reply(r, o, q.orWhole(), h.views(r)(o))
}

// property answers with one property: a list with arguments of its own, or
// what the object has there, which is null for nothing.
func (h objects) property(r *http.Request) (any, error) {
	o, err := h.read(r)
	if err != nil {
		return nil, err
	}
	path := strings.ReplaceAll(r.PathValue("path"), "/", ".") // as the route's need reads it
	p, known := h.schema.property(path)
	v := h.views(r)(o)
	switch {
	case !known && !h.schema.hasBelow(path):
		return nil, auth.ErrNotFound
	case !v.hasBelow(path, h.schema):
		return nil, h.unreadable(o.ID, path)
	case p.List != nil:
		return h.listProperty(r, o, p, v)
	}
	if _, err := parseQuery(r.URL.RawQuery, h.schema); err != nil {
		return nil, err
	}
	reply, err := h.reply(r, o, query{paths: []string{path}}, v)
	return envelope.Result[any]{Data: reply.at(path)}, err
}

func (h objects) listProperty(r *http.Request, o *object, p property, v view) (any, error) {
	q, err := parseQuery(r.URL.RawQuery, p.List)
	if err != nil {
		return nil, err
	}
	return h.items(r, o, p, q, v.below(p))
}

func (h objects) create(r *http.Request) (objectReply, error) {
	p := auth.From(r.Context())
	if err := mayCreate(p); err != nil {
		return nil, err
	}
	q, values, err := h.written(r)
	if err != nil {
		return nil, err
	}
	o := &object{ID: newID(), Org: p.Org, Type: h.schema.Object, Owner: p.Account, Values: values}
	h.schema.setDefaults(o)
	if err := h.store.create(r.Context(), o); err != nil {
		return nil, err
	}
	return h.reply(r, o, q, h.views(r)(o))
}

func (h objects) update(r *http.Request) (objectReply, error) {
	o, err := h.find(r)
	if err != nil {
		return nil, err
	}
	if err := mayUpdate(auth.From(r.Context()), o); err != nil {
		return nil, err
	}
	q, changes, err := h.written(r)
	if err != nil {
		return nil, err
	}
	if o, err = h.store.update(r.Context(), o.Org, o.Type, o.ID, changes); err != nil {
		return nil, err
	}
	return h.reply(r, o, q, h.views(r)(o))
}

func (h objects) delete(r *http.Request) (envelope.Result[bool], error) {
	o, err := h.find(r)
	if err != nil {
		return envelope.Result[bool]{}, err
	}
	if err := mayDelete(auth.From(r.Context()), o); err != nil {
		return envelope.Result[bool]{}, err
	}
	err = h.store.delete(r.Context(), o.Org, o.Type, o.ID)
	return envelope.Result[bool]{Data: true}, err
}

// find returns the object that the request's path names.
func (h objects) find(r *http.Request) (*object, error) {
	return h.store.object(r.Context(), auth.From(r.Context()).Org, h.schema.Object, r.PathValue("id"))
}

// written returns what a request writes, and what it wants to see of it. All of
// it is known to be good before anything is kept.
func (h objects) written(r *http.Request) (q query, values map[string]any, err error) {
	if q, err = parseQuery(r.URL.RawQuery, h.schema); err != nil {
		return q, nil, err
	}
	if values, err = readValues(r, h.schema); err != nil {
		return q, nil, err
	}
	return q.orWhole(), values, mayWriteAs(auth.From(r.Context()), values)
}

// setDefaults completes a new object.
func (s *schema) setDefaults(o *object) {
	for path, value := range map[string]any{
		authorPath: o.Owner,
		sentPath:   time.Now().UTC().Format(dateLayout),
	} {
		_, known := s.property(path)
		if _, given := o.Values[path]; known && !given {
			o.Values[path] = value
		}
	}
}

// reply shows of an object what the query asks for and the view has, and never
// what is hidden.
func (h objects) reply(r *http.Request, o *object, q query, v view) (objectReply, error) {
	reply := objectReply{{"_id", o.ID}, {"object", o.Type}}
	for _, p := range h.schema.Properties {
		if p.Hidden || !q.wants(p) || !v.has(p) {
			continue
		}
		if p.List != nil {
			items, err := h.items(r, o, p, q.lists[p.Path], v.below(p))
			if err != nil {
				return nil, err
			}
			reply = reply.with(p.Path, items)
		} else if value, ok := o.Values[p.Path]; ok {
			reply = reply.with(p.Path, value)
		}
	}
	return reply, nil
}

// items is the value of a list property: a list of its own, with arguments of
// its own. One without items is still a list.
func (h objects) items(r *http.Request, o *object, p property, q query, v view) (envelope.List[objectReply], error) {
	in := objects{schema: p.List, store: h.store}
	ids, _ := o.Values[p.Path].([]string)
	all, err := in.among(r, ids)
	if err != nil {
		return envelope.List[objectReply]{}, err
	}
	return in.replies(r, page(all, q), q, func(*object) view { return v })
}

func (h objects) replies(r *http.Request, from envelope.List[*object], q query, views func(*object) view) (envelope.List[objectReply], error) {
	to := envelope.List[objectReply]{HasMore: from.HasMore}
	for _, o := range from.Data {
		reply, err := h.reply(r, o, q, views(o))
		if err != nil {
			return to, err
		}
		to.Data = append(to.Data, reply)
	}
	return to, nil
}
