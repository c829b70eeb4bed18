package main

import (
	"bytes"
	"encoding/json"
	"strings"
)

// objectReply is an object as clients see it, its fields in the order of the
// schema.
type objectReply []field

type field struct {
	name  string
	value any // an objectReply where it is an object
}

// with returns the reply with a value at a path: "c_meta.lang" goes into the
// object c_meta.
func (reply objectReply) with(path string, value any) objectReply {
	name, below, nested := strings.Cut(path, ".")
	if !nested {
		return append(reply, field{name, value})
	}
	for i := range reply {
		if inner, ok := reply[i].value.(objectReply); ok && reply[i].name == name {
			reply[i].value = inner.with(below, value)
			return reply
		}
	}
	return append(reply, field{name, objectReply{}.with(below, value)})
}

// at returns the value at a path, or nil.
func (reply objectReply) at(path string) any {
	name, below, nested := strings.Cut(path, ".")
	for _, f := range reply {
		if f.name != name {
			continue
		}
		if inner, ok := f.value.(objectReply); ok && nested {
			return inner.at(below)
		}
		return f.value
	}
	return nil
}

// MarshalJSON writes a JSON object.
func (reply objectReply) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, f := range reply {
		if i > 0 {
			text.WriteByte(',')
		}
		name, err := json.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		text.Write(name)
		text.WriteByte(':')
		text.Write(value)
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}
