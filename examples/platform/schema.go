package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth/openapi"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqllist"
)

// schema is one type of objects: its list, the path of its routes, and its table.
type schema struct {
	*sqllist.List
	object  string // name of the type
	plural  string // segment of its routes
	columns string // of its table, after those that all tables have
}

func newSchema[T any](object, plural, columns string, lists map[string]sqllist.Items) schema {
	return schema{sqllist.Must[T](sqllist.Declaration{
		Table: "platform_" + plural, Object: object, Count: true, IgnoreUnknown: true, Lists: lists,
	}), object, plural, columns}
}

// A pointer is what a client may leave out when it creates an object. Only the language
// can itself be null: see formOf.
type (
	message struct {
		envelope.Item `page:"id"`
		_             string    `page:"org,tenant"`
		Text          *string   `json:"c_text,omitempty" page:"c_text,filter"`
		Author        string    `json:"c_author" page:"c_author,filter,sort"`
		Likes         *int64    `json:"c_likes,omitempty" page:"c_likes,filter,sort"`
		Sent          time.Time `json:"c_sent" page:"c_sent,milliseconds,filter,sort"`
		Pinned        *bool     `json:"c_pinned,omitempty" page:"c_pinned,filter"`
		Meta          *struct {
			Language *string `json:"lang" page:",filter,sort"`
		} `json:"c_meta,omitempty" page:"c_meta"`
		_ *string `page:"c_secret"`     // hidden
		_ *string `page:"conversation"` // the one that has it in c_messages
	}

	conversation struct {
		envelope.Item `page:"id"`
		_             string  `page:"org,tenant"`
		Title         *string `json:"c_title,omitempty" page:"c_title,filter,sort"`
	}

	connection struct {
		envelope.Item `page:"id"`
		_             string  `page:"org,tenant"`
		Target        *string `json:"target,omitempty" page:"target,filter,sort"`
		Access        *int64  `json:"access,omitempty" page:"access,filter,sort"`
	}
)

var (
	messages = newSchema[message]("c_message", "c_messages", `c_text TEXT, c_author TEXT NOT NULL, c_likes {integer},
		c_sent {date} NOT NULL, c_pinned {boolean}, c_meta {json}, c_secret TEXT, conversation TEXT`, nil)
	conversations = newSchema[conversation]("c_conversation", "c_conversations", "c_title TEXT",
		map[string]sqllist.Items{"c_messages": {List: messages.List, Parent: parentPath}})
	connections = newSchema[connection]("connection", "connections", "target TEXT, access {integer}", nil)

	schemas = []schema{connections, conversations, messages}
)

// dateLayout is how dates are written, here and in filters.
const dateLayout = paging.DateLayout

// Properties that the server knows by name. It sets the first two if the client
// does not. The third can be null. Clients cannot name the last two.
const (
	authorPath   = "c_author"
	sentPath     = "c_sent"
	languagePath = "c_meta.lang"
	secretPath   = "c_secret"
	parentPath   = "conversation"
)

func (s schema) property(path string) (paging.Property, bool) {
	for _, p := range s.Schema().Properties {
		if p.Path == path {
			return p, true
		}
	}
	return paging.Property{}, false
}

var kinds = map[paging.Type]body.Kind{
	paging.String:  body.String,
	paging.Integer: body.Integer,
	paging.Boolean: body.Boolean,
	paging.Date:    {Read: readDate, Schema: map[string]any{"type": "string", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}}, // not what clients write for a date-time
}

// formOf returns the form of a new object of a schema.
func formOf(s schema) body.Form {
	return s.form(func(p paging.Property) bool { return p.Path == languagePath })
}

// changesOf returns the form of a change to an object. null removes a property that
// a new object may lack, or the whole of an object inside it.
func changesOf(s schema) body.Form {
	return s.form(func(p paging.Property) bool { return p.Null })
}

// form returns the form of an object whose properties may be null where null says so.
func (s schema) form(null func(paging.Property) bool) (f body.Form) {
	for _, p := range s.Schema().Properties {
		kind := kinds[p.Type] // none for an object, whose properties follow
		switch {
		case p.List != nil:
			kind = body.Kind{Read: func(string) (any, string) { return nil, "cannot be written" }} // in no document
		case p.Type == paging.String && p.Sort:
			kind = atMost(maxSorted)
		case p.Type == paging.String:
			kind = atMost(maxText)
		}
		f = append(f, body.Field{Path: p.Path, Kind: kind, Null: null(p)})
	}
	return f
}

// The longest strings that clients may write, in bytes. A list is sorted by an index,
// and PostgreSQL takes no entry of more than about 2700 bytes. A page has up to 1000
// strings of maxText.
const (
	maxSorted = 200
	maxText   = 64 << 10
)

func readDate(value string) (any, string) {
	s, _ := body.String.Read(value)
	written, _ := s.(string)
	at, err := time.Parse(dateLayout, written)
	return written, unless(err == nil && at.Format(dateLayout) == written, "must be a date such as 2026-01-02T03:04:05.000Z")
}

// schemaReply is a schema as GET /schemas shows it.
type schemaReply struct {
	envelope.Item
	Plural     string          `json:"plural"`
	Properties []propertyReply `json:"properties"`
}

type propertyReply struct {
	Name       string `json:"name"`
	Path       string `json:"fqpp"`
	Type       string `json:"type"`
	Filterable bool   `json:"filterable"`
	Sortable   bool   `json:"sortable"`
	List       string `json:"list,omitempty"` // type of the items
}

func listSchemas(r *http.Request) (envelope.List[schemaReply], error) {
	return ownPage(r, "schema", each(schemas, schema.reply))
}

func (s schema) reply() schemaReply {
	reply := schemaReply{Item: envelope.Item{ID: s.object, Object: "schema"}, Plural: s.plural}
	for _, p := range s.Schema().Properties {
		name := p.Path[strings.LastIndexByte(p.Path, '.')+1:]
		shown := propertyReply{Name: name, Path: p.Path, Type: p.Type.String(), Filterable: p.Filter, Sortable: p.Sort}
		switch {
		case p.List != nil:
			shown.Type, shown.List = "list", p.List.Object
		case p.Type == paging.Any:
			continue // an object is shown by its properties
		}
		reply.Properties = append(reply.Properties, shown)
	}
	return reply
}

// describeProperty describes the route of one property. A list property has the
// arguments of a list.
func (s schema) describeProperty() openapi.Route {
	route := openapi.Route{Object: s, Reply: envelope.Result[any]{}}
	for _, p := range s.Schema().Properties {
		if p.List != nil {
			route.Description = "A list property is a list with the arguments of its items. Any other property is a result."
			route.List, route.Reply = p.List, openapi.AnyOf{openapi.ListOf(p.List), route.Reply}
		}
	}
	return route
}

// jwk is a key in the document that bearer.Certs serves.
type jwk struct {
	KeyType   string `json:"kty"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Modulus   string `json:"n"`
	Exponent  string `json:"e"`
}

type jwkItem struct {
	envelope.Item
	jwk
}

type jwkSet struct {
	Object  string    `json:"object"`
	Data    []jwkItem `json:"data"`
	HasMore bool      `json:"hasMore"`
	Keys    []jwk     `json:"keys"`
}
