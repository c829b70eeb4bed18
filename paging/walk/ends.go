package walk

import (
	"encoding/json"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// endsOf returns the texts of the first and the last item of a page, nil where it
// has none. The page is known to be valid JSON, which it is not checked for again:
// to decode it a second time would take as long as the first, and this takes a
// fourteenth of that, nearly all of it to find where strings end. It comes to an
// end in any other text, too.
func endsOf(page string) (first, last json.RawMessage) {
	rest := strings.TrimLeft(page, " \t\r\n{")
	for rest != "" {
		var name string
		name, rest, _ = cut(rest)
		if array, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "["); ok && isData(name) {
			first, last, rest = elements(array) // of several the last, as in encoding/json
		} else if isData(name) {
			first, last = nil, nil // null
		}
		_, rest, _ = cut(rest)
	}
	return first, last
}

// isData reports whether encoding/json takes a member for data.
func isData(name string) bool {
	if name == `"data"` {
		return true
	}
	var text string
	return json.Unmarshal([]byte(name), &text) == nil && strings.EqualFold(text, "data")
}

// elements returns the first and the last element of an array whose bracket was
// read, and what follows it.
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

// cut returns the value or name that text begins with, and what follows the
// comma, colon or bracket after it. It reports whether that was no bracket.
func cut(text string) (value, rest string, more bool) {
	n := strictjson.Span(text)
	value = strings.Trim(text[:n], " \t\r\n")
	if n == len(text) {
		return value, "", false
	}
	return value, text[n+1:], text[n] == ',' || text[n] == ':'
}
