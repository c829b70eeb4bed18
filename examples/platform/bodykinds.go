package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/tenantkit/tenantkit/scope"
)

// The kinds of values that only the bodies of administrative routes have.

func readStrings(value json.RawMessage) (any, string) {
	const refused = "must be an array of strings"
	var items []json.RawMessage
	if value[0] != '[' || json.Unmarshal(value, &items) != nil {
		return nil, refused
	}
	texts := make([]string, len(items))
	for i, item := range items {
		text, wrong := readString(item) // null is none
		switch {
		case wrong != "" && item[0] == '"':
			return nil, fmt.Sprintf("[%d] %s", i, wrong)
		case wrong != "":
			return nil, refused
		}
		texts[i] = text.(string)
	}
	return texts, ""
}

// lastSecond is the end of the year 9999: later times have no RFC 3339 text.
const lastSecond = 253402300799

func readInstant(value json.RawMessage) (any, string) {
	const refused = "must be a time in RFC 3339, or in Unix seconds"
	if value[0] != '"' {
		var seconds int64
		if json.Unmarshal(value, &seconds) != nil || seconds < 1 || seconds > lastSecond {
			return nil, refused
		}
		return time.Unix(seconds, 0), ""
	}
	text, _ := readString(value)
	written, _ := text.(string)
	at, err := time.Parse(time.RFC3339, written)
	if err != nil || at.Unix() < 1 {
		return nil, refused
	}
	return at, ""
}

func readLevel(value json.RawMessage) (any, string) {
	var level scope.Level
	if json.Unmarshal(value, &level) != nil || level == 0 {
		return nil, "must be an access level: 1 to 8, or its name"
	}
	return level, ""
}

// readMembers keeps the members as they are written: what they mean is up to
// whoever asked for them.
func readMembers(value json.RawMessage) (any, string) {
	if value[0] != '{' {
		return nil, "must be an object"
	}
	if !namedOnce(value) {
		return nil, "has a name more than once"
	}
	kept := make(map[string]json.RawMessage)
	if json.Unmarshal(value, &kept) != nil {
		return nil, "must be an object"
	}
	return kept, ""
}

// namedOnce reports whether no object in a JSON text, however deep, has a name
// twice. It reads the text once: level by level, a deep one would be read as
// often as it is deep.
func namedOnce(text json.RawMessage) bool {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // some are too large for a float64
	type level struct {
		names  map[string]bool // nil in an array
		inside bool            // a member, behind its name
	}
	var open []level
	for {
		token, err := decoder.Token()
		if err != nil {
			return err == io.EOF
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			open = open[:len(open)-1]
			continue
		}
		if len(open) > 0 {
			in := &open[len(open)-1]
			name, _ := token.(string)
			switch {
			case in.names == nil:
			case in.inside:
				in.inside = false
			case in.names[name]:
				return false
			default:
				in.names[name], in.inside = true, true
				continue
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: make(map[string]bool)})
		case json.Delim('['):
			open = append(open, level{})
		}
	}
}
