package main

import (
	"encoding/json"
	"errors"
	"strings"
)

// document is an object's JSON from the database, cut into its members. A value is
// decoded only where it is needed, because most values are sent as they are.
type document []part

type part struct {
	name  string
	value json.RawMessage
}

// at returns the value at a path. c_meta.lang is the member lang of c_meta.
func (d document) at(path string) (json.RawMessage, bool) {
	name, below, nested := strings.Cut(path, ".")
	for _, p := range d {
		if p.name != name {
			continue
		}
		if !nested {
			return p.value, true
		}
		inner, err := cutDocument(p.value)
		if err != nil {
			return nil, false // not an object, so nothing is below it
		}
		return inner.at(below)
	}
	return nil, false
}

var errNoDocument = errors.New("not a JSON object")

// cutDocument cuts JSON that a database has checked or this program has written. It
// finds where each value ends, and does not check what is inside.
func cutDocument(text []byte) (document, error) {
	d := make(document, 0, 8) // no schema has more members
	c := cutter{rest: text}
	if !c.takes('{') {
		return nil, errNoDocument
	}
	for !c.takes('}') {
		if len(d) > 0 && !c.takes(',') {
			return nil, errNoDocument
		}
		name, value := c.value(), json.RawMessage(nil)
		if c.takes(':') {
			value = c.value()
		}
		if len(value) == 0 || len(name) < 2 || name[0] != '"' {
			return nil, errNoDocument
		}
		plain := string(name[1 : len(name)-1])
		// This program writes no name with an escape. But a filter would find such
		// a name, and a change of the object must keep its value.
		if strings.IndexByte(plain, '\\') >= 0 && json.Unmarshal(name, &plain) != nil {
			return nil, errNoDocument
		}
		d = append(d, part{plain, value})
	}
	return d, nil
}

// cutter holds the rest of a text.
type cutter struct{ rest []byte }

// takes cuts off blanks, and then b if it is the next byte. It reports whether it
// was.
func (c *cutter) takes(b byte) bool {
	c.skipBlanks()
	if len(c.rest) == 0 || c.rest[0] != b {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

func (c *cutter) skipBlanks() {
	for len(c.rest) > 0 && strings.IndexByte(" \t\r\n", c.rest[0]) >= 0 {
		c.rest = c.rest[1:]
	}
}

// value cuts off the next value, and returns it. It is empty if there is none.
func (c *cutter) value() json.RawMessage {
	c.skipBlanks()
	end := valueEnd(c.rest)
	value := c.rest[:end]
	c.rest = c.rest[end:]
	return value
}

// valueEnd returns the length of the value at the start of a text, or 0 if the text
// ends within the value.
func valueEnd(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			length := stringEnd(text[i:])
			if length == 0 {
				return 0
			}
			if i += length - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of the enclosing object or array
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	if depth > 0 {
		return 0
	}
	return len(text)
}

// stringEnd is valueEnd for a string.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
