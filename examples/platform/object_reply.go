package main

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
)

// objectReply is an object as clients see it. Its fields are in the order of the
// schema.
type objectReply []field

type field struct {
	name  string
	value any // an objectReply for an object
}

// with returns the reply with a value at a path: c_meta.lang is set in the object
// c_meta.
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

// size returns about how many bytes the JSON has.
func (reply objectReply) size() (n int) {
	for _, f := range reply {
		n += len(f.name)
		switch value := f.value.(type) {
		case objectReply:
			n += value.size()
		case json.RawMessage:
			n += len(value)
		case envelope.List[objectReply]:
			for _, item := range value.Data {
				n += item.size()
			}
		}
	}
	return n
}

// MarshalJSON writes a JSON object.
func (reply objectReply) MarshalJSON() ([]byte, error) { return reply.appendJSON(nil) }

// appendJSON writes all objects of the reply in one pass. It appends values from a
// database unchanged. encoding/json, which calls MarshalJSON, makes them compact.
func (reply objectReply) appendJSON(text []byte) (_ []byte, err error) {
	text = append(text, '{')
	for i, f := range reply {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(strconv.AppendQuote(text, f.name), ':') // names of a schema have nothing to escape
		switch value := f.value.(type) {
		case objectReply:
			text, err = value.appendJSON(text)
		case json.RawMessage:
			text = append(text, value...)
		default:
			var encoded []byte
			encoded, err = json.Marshal(value)
			text = append(text, encoded...)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}
