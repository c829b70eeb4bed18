package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/scope"
)

// maxPublicBody is how many bytes of a body a public route reads, because anybody may send it.
const maxPublicBody = 16 << 10

// publicBody limits the bodies of a route that anybody may call. If a request
// announces a longer body, it is refused before any of it is read.
func publicBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength > maxPublicBody {
		return &http.MaxBytesError{Limit: maxPublicBody}
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxPublicBody)
	return nil
}

// hasBody reports whether there is a body. It tries to read a byte, because a body
// sent in chunks has no length.
func hasBody(r *http.Request) bool {
	buffered := bufio.NewReader(r.Body)
	_, err := buffered.Peek(1)
	r.Body = io.NopCloser(buffered) // the server closes the body itself
	return err != io.EOF
}

// required returns an error if a value is missing at one of the paths.
func required(values map[string]any, paths ...string) error {
	wrong := invalid{detail: auth.DetailBody}
	for _, path := range paths {
		if _, given := values[path]; !given {
			wrong.add(path, "is required")
		}
	}
	return wrong.orNil()
}

// setIfGiven sets to to the value at a path, if there is one. null sets the zero value.
func setIfGiven[T any](to *T, values map[string]any, path string) {
	if value, given := values[path]; given {
		*to, _ = value.(T)
	}
}

// narrowed is the kind of those values of another kind that read accepts.
func narrowed[T any](k body.Kind, read func(T) (any, string)) body.Kind {
	return body.Kind{Schema: k.Schema, Read: func(value string) (any, string) {
		of, refused := k.Read(value)
		if refused != "" {
			return nil, refused
		}
		return read(of.(T))
	}}
}

// checked is the kind of the strings that refuse has no objection to.
func checked(refuse func(string) string) body.Kind {
	return narrowed(body.String, func(s string) (any, string) { return s, refuse(s) })
}

// line is the kind of names and reasons.
func line(most int) body.Kind {
	return checked(func(s string) string {
		return unless(isVisible(s) && isLine(s) && len(s) <= most, fmt.Sprintf("must be a line of 1 to %d bytes", most))
	})
}

func atMost(bytes int) body.Kind {
	return checked(func(s string) string {
		return unless(len(s) <= bytes, fmt.Sprintf("must have at most %d bytes", bytes))
	})
}

// unless returns what is wrong with a value, or "".
func unless(fine bool, wrong string) string {
	if fine {
		return ""
	}
	return wrong
}

func between(from, to int64) body.Kind {
	return narrowed(body.Integer, func(n int64) (any, string) {
		return n, unless(from <= n && n <= to, fmt.Sprintf("must be %d to %d", from, to))
	})
}

// seconds is the kind of whole seconds that are a time.Duration.
func seconds(from, to int64) body.Kind {
	return narrowed(between(from, to), func(n int64) (any, string) { return time.Duration(n) * time.Second, "" })
}

// lastSecond is the end of the year 9999. Later times cannot be written in RFC 3339.
const lastSecond = 253402300799

// instant is a time in RFC 3339 or in Unix seconds.
var instant = body.Kind{Read: readInstant, Schema: map[string]any{"anyOf": []map[string]any{{"type": "string", "format": "date-time"}, body.Integer.Schema}}}

func readInstant(value string) (any, string) {
	seconds, _ := body.Integer.Read(value)
	if n, _ := seconds.(int64); 1 <= n && n <= lastSecond {
		return time.Unix(n, 0), ""
	}
	text, _ := body.String.Read(value)
	written, _ := text.(string)
	at, err := time.Parse(time.RFC3339, written)
	if err != nil || at.Unix() < 1 {
		return nil, "must be a time in RFC 3339, or in Unix seconds"
	}
	return at, ""
}

var level = body.Kind{Schema: body.Integer.Schema, Read: func(value string) (any, string) {
	var level scope.Level
	if json.Unmarshal([]byte(value), &level) != nil || level == 0 {
		return nil, "must be an access level: 1 to 8, or its name"
	}
	return level, ""
}}

// isLine reports whether s is one line without control characters. It also refuses characters that
// change the direction of the text after them, because s would look like another text.
func isLine(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || '\u202A' <= c && c <= '\u202E' || '\u2066' <= c && c <= '\u2069'
	})
}

func isVisible(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool {
		return unicode.IsGraphic(c) && !unicode.IsSpace(c) && !unicode.IsMark(c) &&
			!unicode.In(c, unicode.Other_Default_Ignorable_Code_Point)
	})
}

// hasFormat reports whether s has invisible format characters, such as U+200B.
func hasFormat(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return unicode.Is(unicode.Cf, c) })
}
