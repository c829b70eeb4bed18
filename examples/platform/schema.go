package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// schema describes one type of objects.
type schema struct {
	Object     string // name of the type
	Plural     string // segment of its routes
	Properties []property
}

// property is one value an object may have, by its fully-qualified path.
type property struct {
	Path   string
	Type   kind
	Filter bool // usable in where
	Sort   bool // usable in sort
	Null   bool // may be null
	Hidden bool // kept by the server, and unknown to every client
	List   *schema
}

// kind is the type of a property, as GET /schemas names it.
type kind string

const (
	typeString  kind = "string"
	typeInteger kind = "integer"
	typeBoolean kind = "boolean"
	typeDate    kind = "date"
	typeList    kind = "list" // of objects, of which the ids are kept

	// Of bodies that are not objects of a schema.
	typeStrings kind = "strings"
	typeInstant kind = "instant" // RFC 3339, or Unix seconds
	typeLevel   kind = "level"   // number or name
	typeJSON    kind = "json"    // an object, kept as it is written
)

// dateLayout is RFC 3339 in UTC with milliseconds: as text it sorts by time.
const dateLayout = "2006-01-02T15:04:05.000Z"

var (
	messages = &schema{
		Object: "c_message",
		Plural: "c_messages",
		Properties: []property{
			{Path: "c_text", Type: typeString, Filter: true},
			{Path: "c_author", Type: typeString, Filter: true, Sort: true},
			{Path: "c_likes", Type: typeInteger, Filter: true, Sort: true},
			{Path: "c_sent", Type: typeDate, Filter: true, Sort: true},
			{Path: "c_pinned", Type: typeBoolean, Filter: true},
			{Path: "c_meta.lang", Type: typeString, Filter: true, Sort: true, Null: true},
			{Path: "c_secret", Type: typeString, Hidden: true},
		},
	}
	conversations = &schema{
		Object: "c_conversation",
		Plural: "c_conversations",
		Properties: []property{
			{Path: "c_title", Type: typeString, Filter: true, Sort: true},
			{Path: "c_messages", Type: typeList, List: messages},
		},
	}
	connections = &schema{
		Object: "connection",
		Plural: "connections",
		Properties: []property{
			{Path: "target", Type: typeString, Filter: true, Sort: true},
			{Path: "access", Type: typeInteger, Filter: true, Sort: true},
		},
	}

	schemas = []*schema{connections, conversations, messages}
)

// property returns the property at a path, if there is one that clients know.
func (s *schema) property(path string) (property, bool) {
	for _, p := range s.Properties {
		if p.Path == path && !p.Hidden {
			return p, true
		}
	}
	return property{}, false
}

// hasBelow tells whether there are properties below a path, as c_meta.lang is
// below c_meta.
func (s *schema) hasBelow(path string) bool {
	for _, p := range s.Properties {
		if !p.Hidden && strings.HasPrefix(p.Path, path+".") {
			return true
		}
	}
	return false
}

// read takes a value from JSON. What it refuses it names: "must be an integer".
func (p property) read(value json.RawMessage) (_ any, refused string) {
	if string(value) == "null" && p.Null {
		return nil, ""
	}
	switch p.Type {
	case typeString:
		return readString(value)
	case typeInteger:
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return nil, "must be an integer of 64 bits"
		}
		return n, ""
	case typeBoolean:
		if b := string(value); b != "true" && b != "false" {
			return nil, "must be true or false"
		}
		return string(value) == "true", ""
	case typeDate:
		return readDate(value)
	case typeStrings:
		return readStrings(value)
	case typeInstant:
		return readInstant(value)
	case typeLevel:
		return readLevel(value)
	case typeJSON:
		return readMembers(value)
	}
	return nil, "cannot be written"
}

func readString(value json.RawMessage) (any, string) {
	var s string
	if value[0] != '"' || json.Unmarshal(value, &s) != nil {
		return nil, "must be a string"
	}
	// PostgreSQL, for one, cannot keep it.
	if strings.Contains(s, "\x00") {
		return nil, "must not contain NUL"
	}
	return s, ""
}

func readDate(value json.RawMessage) (any, string) {
	s, _ := readString(value)
	written, _ := s.(string)
	if at, err := time.Parse(dateLayout, written); err != nil || at.Format(dateLayout) != written {
		return nil, "must be a date such as 2026-01-02T03:04:05.000Z"
	}
	return written, ""
}
