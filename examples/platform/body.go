package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/tenantkit/tenantkit/auth"
)

// readValues reads a body that holds values of a form, by their path. It is
// strict: a field that is unknown, given twice or of another type is refused,
// each with its path, and nothing is taken of such a body.
func readValues(r *http.Request, f form) (map[string]any, error) {
	body, err := readJSON(r)
	if err != nil {
		return nil, err
	}
	return valuesOf(body, f)
}

// valuesOf is readValues for a JSON object that has been read.
func valuesOf(body json.RawMessage, f form) (map[string]any, error) {
	b := bodyReader{form: f, values: make(map[string]any), wrong: invalid{detail: auth.DetailBody}}
	if err := b.object("", body); err != nil {
		return nil, err
	}
	return b.values, b.wrong.orNil()
}

// bodiless is for routes that take no body: each field of one is unknown.
func bodiless[T any](answer func(*http.Request) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (none T, err error) {
		if err := noFields(r); err != nil {
			return none, err
		}
		return answer(r)
	}
}

func noFields(r *http.Request) error {
	if !hasBody(r) {
		return nil
	}
	_, err := readValues(r, form{})
	return err
}

// hasBody looks at the first byte: one sent in chunks does not say how long it is.
func hasBody(r *http.Request) bool {
	body := bufio.NewReader(r.Body)
	_, err := body.Peek(1)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	return err != io.EOF
}

// required refuses values in which one of these is missing.
func required(values map[string]any, paths ...string) error {
	wrong := invalid{detail: auth.DetailBody}
	for _, path := range paths {
		if _, given := values[path]; !given {
			wrong.add(path, "is required")
		}
	}
	return wrong.orNil()
}

// readJSON reads a body that is one JSON object in UTF-8, and nothing else.
func readJSON(r *http.Request) (json.RawMessage, error) {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return nil, &auth.Error{Detail: auth.DetailUnsupportedMediaType, Reason: "application/json"}
	}
	// Taken for what it says it is not, or unpacked beyond the bound: neither.
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &auth.Error{Detail: auth.DetailUnsupportedMediaType, Reason: "no Content-Encoding"}
	}
	body, err := io.ReadAll(r.Body)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, err
	case err != nil:
		return nil, &auth.Error{Detail: auth.DetailBody, Reason: "ends early", Err: err}
	case !utf8.Valid(body):
		return nil, &auth.Error{Detail: auth.DetailBody, Reason: "not UTF-8"}
	}
	// All of it at once: the decoder that comes next stops where the object ends.
	if err := json.Unmarshal(body, new(json.RawMessage)); err != nil {
		return nil, &auth.Error{Detail: auth.DetailBody, Reason: "malformed JSON: " + err.Error()}
	}
	if body = bytes.TrimSpace(body); body[0] != '{' {
		return nil, &auth.Error{Detail: auth.DetailBody, Reason: "not a JSON object"}
	}
	return body, nil
}

// bodyReader takes values from a body, level by level.
type bodyReader struct {
	form   form
	values map[string]any
	wrong  invalid
}

// object reads the fields of the object at a path.
func (b *bodyReader) object(path string, text json.RawMessage) error {
	seen := make(map[string]bool)
	return members(text, func(name string, value json.RawMessage) error {
		at := path + name
		// encoding/json would take the last one, another reader the first.
		if seen[at] {
			b.wrong.add(at, "given more than once")
			return nil
		}
		seen[at] = true
		return b.field(at, name, value)
	})
}

// members hands on each member of an object that is valid JSON, also one whose
// name was there before.
func members(object json.RawMessage, take func(name string, value json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.Token(); err != nil { // the brace
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err
		}
		if err := take(name.(string), value); err != nil {
			return err
		}
	}
	return nil
}

func (b *bodyReader) field(path, name string, value json.RawMessage) error {
	in, known := b.form.input(path)
	switch {
	case strings.Contains(name, "."): // would pass for the path of a field below
		b.wrong.add(path, "unknown field")
	case known:
		b.take(in, value)
	case !b.form.hasBelow(path):
		b.wrong.add(path, "unknown field")
	case value[0] != '{':
		b.wrong.add(path, "must be an object")
	default:
		return b.object(path+".", value)
	}
	return nil
}

func (b *bodyReader) take(in input, value json.RawMessage) {
	read, refused := in.read(value)
	if refused != "" {
		b.wrong.add(in.Path, refused)
		return
	}
	b.values[in.Path] = read
}
