package walk

import (
	"encoding/json"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// firstAndLast returns the JSON of the first and the last item of a page, or nil if
// the page is empty. envelope.Decode has already checked that the page is valid JSON.
// Decoding it a second time would double the time. This scan takes a fourteenth of
// that, most of it to find where strings end. It also terminates on invalid JSON.
func firstAndLast(page string) (first, last json.RawMessage) {
	rest := strings.TrimLeft(page, " \t\r\n{")
	for rest != "" {
		var name string
		name, rest, _ = cut(rest)
		if array, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "["); ok && isData(name) {
			first, last, rest = elements(array) // encoding/json also uses the last of several
		} else if isData(name) {
			first, last = nil, nil // data is null
		}
		_, rest, _ = cut(rest)
	}
	return first, last
}

// isData reports whether encoding/json reads a member of this name into the field
// data.
func isData(name string) bool {
	if name == `"data"` {
		return true
	}
	var text string
	return json.Unmarshal([]byte(name), &text) == nil && strings.EqualFold(text, "data")
}

// elements returns the first and the last element of an array, and the text after the
// array. Its opening bracket is already removed.
func elements(array string) (first, last json.RawMessage, rest string) {
	head, array, more := cut(array)
	tail := head
	for more {
		tail, array, more = cut(array)
	}
	if head == "" {
		return nil, nil, array
	}
	return json.RawMessage(head), json.RawMessage(tail), array
}

// cut returns the value or name at the start of text, and the text after the comma,
// colon or bracket that follows it. more is false if a bracket follows.
func cut(text string) (value, rest string, more bool) {
	n := strictjson.Span(text)
	value = strings.Trim(text[:n], " \t\r\n")
	if n == len(text) {
		return value, "", false
	}
	return value, text[n+1:], text[n] == ',' || text[n] == ':'
}
