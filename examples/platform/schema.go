package main

import (
	"strings"

	"github.com/tenantkit/tenantkit/paging"
)

// schema is one type of objects, and the path of its routes.
type schema struct {
	*paging.Schema
	plural string // segment of its routes
}

// dateLayout is how dates are written, here and in filters.
const dateLayout = paging.DateLayout

// Null marks what a client may leave out when it creates an object. A missing value
// equals null. Only the language can itself be null: see formOf.
var (
	messages = &paging.Schema{
		Object: "c_message",
		Count:  true,
		Properties: []paging.Property{
			{Path: "c_text", Type: paging.String, Filter: true, Null: true},
			{Path: authorPath, Type: paging.String, Filter: true, Sort: true},
			{Path: "c_likes", Type: paging.Integer, Filter: true, Sort: true, Null: true},
			{Path: sentPath, Type: paging.Date, Filter: true, Sort: true},
			{Path: "c_pinned", Type: paging.Boolean, Filter: true, Null: true},
			{Path: languagePath, Type: paging.String, Filter: true, Sort: true, Null: true},
			{Path: "c_secret", Type: paging.String, Hidden: true},
		},
	}
	conversations = &paging.Schema{
		Object: "c_conversation",
		Count:  true,
		Properties: []paging.Property{
			{Path: "c_title", Type: paging.String, Filter: true, Sort: true, Null: true},
			{Path: "c_messages", List: messages}, // stored as ids
		},
	}
	connections = &paging.Schema{
		Object: "connection",
		Count:  true,
		Properties: []paging.Property{
			{Path: "target", Type: paging.String, Filter: true, Sort: true, Null: true},
			{Path: "access", Type: paging.Integer, Filter: true, Sort: true, Null: true},
		},
	}

	schemas = []schema{{connections, "connections"}, {conversations, "c_conversations"}, {messages, "c_messages"}}
)

// schemaOf returns the schema of a type, which must exist.
func schemaOf(object string) *paging.Schema {
	for _, s := range schemas {
		if s.Object == object {
			return s.Schema
		}
	}
	panic("no schema of " + object)
}

// propertyOf returns the property at a path, unless it is hidden from clients.
func propertyOf(s *paging.Schema, path string) (paging.Property, bool) {
	for _, p := range s.Properties {
		if p.Path == path && !p.Hidden {
			return p, true
		}
	}
	return paging.Property{}, false
}

func isList(s *paging.Schema, path string) bool {
	p, ok := propertyOf(s, path)
	return ok && p.List != nil
}

// hasBelow reports whether a schema has properties below a path. c_meta.lang is
// below c_meta.
func hasBelow(s *paging.Schema, path string) bool {
	for _, p := range s.Properties {
		if !p.Hidden && strings.HasPrefix(p.Path, path+".") {
			return true
		}
	}
	return false
}
