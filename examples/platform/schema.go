package main

import (
	"time"

	"github.com/tenantkit/tenantkit/envelope"
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

// schemaOf returns the schema of a type, which must exist.
func schemaOf(object string) schema {
	for _, s := range schemas {
		if s.object == object {
			return s
		}
	}
	panic("no schema of " + object)
}

// property returns the property at a path.
func (s schema) property(path string) (paging.Property, bool) {
	for _, p := range s.Schema().Properties {
		if p.Path == path {
			return p, true
		}
	}
	return paging.Property{}, false
}
