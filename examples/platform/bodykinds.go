package main

import (
	"encoding/json"
	"errors"
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
		if wrong != "" {
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
	kept := make(map[string]json.RawMessage)
	err := members(value, func(name string, value json.RawMessage) error {
		if _, twice := kept[name]; twice {
			return errTwice
		}
		kept[name] = value
		return nil
	})
	if err != nil {
		return nil, "has a name more than once"
	}
	return kept, ""
}

var errTwice = errors.New("a name stands more than once")
