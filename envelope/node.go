package envelope

import (
	"encoding/json"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// node is one JSON value: its text and, for an object or array, its parts.
type node struct {
	text  string
	parts []part
}

// part is a member of an object, or an element of an array. An element has no name.
type part struct {
	name string
	key  string // the text of the name, with its quotes
	node
}

func (n *node) isObject() bool { return n.text[0] == '{' }
func (n *node) isArray() bool  { return n.text[0] == '[' }

// member returns the member with that name, or nil.
func (n *node) member(name string) *part {
	if !n.isObject() {
		return nil
	}
	for i := range n.parts {
		if n.parts[i].name == name {
			return &n.parts[i]
		}
	}
	return nil
}

// object returns the value of the member "object" if it is a string, else "". Of
// several such members the first string counts. Select may drop the others, and its
// result must be the same object.
func (n *node) object() string {
	if !n.isObject() {
		return ""
	}
	for i := range n.parts {
		if m := &n.parts[i]; m.name == "object" && m.text[0] == '"' {
			return unquote(m.text)
		}
	}
	return ""
}

// parse reads the value at the start of text and returns the text after it.
// json.Marshal has written the text, so it is valid, compact and of limited depth.
func parse(text string) (node, string) {
	if text[0] != '{' && text[0] != '[' {
		n := strictjson.Span(text)
		return node{text: text[:n]}, text[n:]
	}
	n, rest := node{text: text}, text[1:]
	for rest[0] != '}' && rest[0] != ']' {
		if rest[0] == ',' {
			rest = rest[1:]
		}
		var p part
		if n.isObject() {
			end := strictjson.Span(rest)
			p.key, rest = rest[:end], rest[end+1:] // without the colon
			p.name = unquote(p.key)
		}
		p.node, rest = parse(rest)
		n.parts = append(n.parts, p)
	}
	rest = rest[1:]
	n.text = text[:len(text)-len(rest)]
	return n, rest
}

func unquote(literal string) (s string) {
	if !strings.Contains(literal, "\\") {
		return literal[1 : len(literal)-1]
	}
	_ = json.Unmarshal([]byte(literal), &s) // the text is valid
	return s
}
