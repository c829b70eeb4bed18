package main

import (
	"encoding/json"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
)

// The kinds of values that only the bodies of administrative routes have.

// lastSecond is the end of the year 9999: later times have no RFC 3339 text.
const lastSecond = 253402300799

// readInstant takes RFC 3339, or Unix seconds.
func readInstant(value string) (any, string) {
	const refused = "must be a time in RFC 3339, or in Unix seconds"
	if value[0] != '"' {
		seconds, wrong := envelope.Integer(value)
		if n, _ := seconds.(int64); wrong == "" && 1 <= n && n <= lastSecond {
			return time.Unix(n, 0), ""
		}
		return nil, refused
	}
	text, _ := envelope.String(value)
	written, _ := text.(string)
	at, err := time.Parse(time.RFC3339, written)
	if err != nil || at.Unix() < 1 {
		return nil, refused
	}
	return at, ""
}

// readLevel takes a number or a name.
func readLevel(value string) (any, string) {
	var level scope.Level
	if json.Unmarshal([]byte(value), &level) != nil || level == 0 {
		return nil, "must be an access level: 1 to 8, or its name"
	}
	return level, ""
}
