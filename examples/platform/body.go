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

	"github.com/tenantkit/tenantkit/auth"
)

// readValues reads a body that holds values of a form, by their path. It is
// strict: a field that is unknown, given twice or of another type is refused,
// each with its path, and nothing is taken of such a body. It reads the body
// once, and no further than to its bounds.
func readValues(r *http.Request, f form) (map[string]any, error) {
	values, _, err := readNamed(r, f)
	return values, err
}

// readNamed is readValues that tells what the body names, too: the path of each
// value, and that of an object which is null or empty.
func readNamed(r *http.Request, f form) (values map[string]any, names []string, err error) {
	decoder, err := decoderOf(r)
	if err != nil {
		return nil, nil, err
	}
	return decodeValuesOf(decoder, f)
}

// valuesOf is readValues for a JSON object that has been read.
func valuesOf(body json.RawMessage, f form) (map[string]any, error) {
	values, _, err := decodeValuesOf(json.NewDecoder(bytes.NewReader(body)), f)
	return values, err
}

func decodeValuesOf(decoder *json.Decoder, f form) (map[string]any, []string, error) {
	b := bodyReader{decoder: decoder, form: f, values: make(map[string]any), wrong: invalid{detail: auth.DetailBody}}
	switch err := b.whole(); {
	case errors.Is(err, errFull):
	case err != nil:
		return nil, nil, malformed(err)
	}
	if err := b.wrong.orNil(); err != nil {
		return nil, nil, err
	}
	return b.values, b.names, nil
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
	decoder, err := decoderOf(r)
	if err != nil {
		return nil, err
	}
	var body json.RawMessage
	if err := decoder.Decode(&body); err != nil {
		return nil, malformed(err)
	}
	if body[0] != '{' {
		return nil, malformed(errNoObject)
	}
	if err := atEnd(decoder); err != nil {
		return nil, malformed(err)
	}
	return body, nil
}

// decoderOf reads a body that says it is JSON, within its bounds.
func decoderOf(r *http.Request) (*json.Decoder, error) {
	mediaType, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return nil, &auth.Error{Detail: auth.DetailUnsupportedMediaType, Reason: "application/json"}
	}
	// JSON is UTF-8: a body that says otherwise means other characters.
	if charset, said := parameters["charset"]; said && !strings.EqualFold(charset, "utf-8") {
		return nil, &auth.Error{Detail: auth.DetailUnsupportedMediaType, Reason: "application/json in UTF-8"}
	}
	// Taken for what it says it is not, or unpacked beyond the bound: neither.
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &auth.Error{Detail: auth.DetailUnsupportedMediaType, Reason: "no Content-Encoding"}
	}
	return json.NewDecoder(&boundedText{from: r.Body}), nil
}

var (
	errNoObject = errors.New("not a JSON object")
	errTrailing = errors.New("something behind the JSON object")
)

// malformed is the error of a body that cannot be read.
func malformed(err error) error {
	if errors.As(err, new(*http.MaxBytesError)) || errors.As(err, new(*auth.Error)) {
		return err
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // there was no value
	}
	return &auth.Error{Detail: auth.DetailBody, Reason: "malformed JSON: " + err.Error()}
}

// bodyReader takes values from a body as it comes in.
type bodyReader struct {
	decoder *json.Decoder
	form    form
	values  map[string]any
	names   []string
	wrong   invalid
}

// errFull ends the reading of a body of which enough is wrong.
var errFull = errors.New("enough is wrong")

// whole reads the one object that a body is.
func (b *bodyReader) whole() error {
	brace, err := b.decoder.Token()
	if err != nil {
		return err
	}
	if brace != json.Delim('{') {
		return errNoObject
	}
	if err := b.object(""); err != nil {
		return err
	}
	return atEnd(b.decoder)
}

// atEnd refuses what follows the object.
func atEnd(decoder *json.Decoder) error {
	switch _, err := decoder.Token(); {
	case err == nil:
		return errTrailing
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
}

// object reads the fields of the object at a path, behind its brace.
func (b *bodyReader) object(path string) error {
	seen := make(map[string]bool)
	for b.decoder.More() {
		if b.wrong.isFull() {
			return errFull
		}
		token, err := b.decoder.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		at := path + name
		if !seen[at] {
			err = b.field(at, name)
		} else {
			// encoding/json would take the last one, another reader the first.
			err = b.refuse(at, "given more than once")
		}
		if err != nil {
			return err
		}
		seen[at] = true
	}
	_, err := b.decoder.Token() // the brace
	return err
}

// field reads the value of a field.
func (b *bodyReader) field(path, name string) error {
	in, known := b.form.input(path)
	switch {
	case strings.Contains(name, "."): // would pass for the path of a field below
		return b.refuse(path, "unknown field")
	case known:
		return b.take(in)
	case len(b.form.below(path)) > 0:
		return b.below(path)
	}
	return b.refuse(path, "unknown field")
}

// refuse notes what is wrong with a field, and passes over its value.
func (b *bodyReader) refuse(path, reason string) error {
	b.wrong.add(path, reason)
	return b.decoder.Decode(new(passedOver))
}

// passedOver is a value that must be JSON, and is not kept.
type passedOver struct{}

func (passedOver) UnmarshalJSON([]byte) error { return nil }

// below reads the fields of an object that is part of another one.
func (b *bodyReader) below(path string) error {
	var value json.RawMessage
	if err := b.decoder.Decode(&value); err != nil {
		return err
	}
	if inputs := b.form.below(path); string(value) == "null" && inputs.mayUnset() {
		for _, in := range inputs {
			b.values[in.Path] = nil
		}
		b.names = append(b.names, path)
		return nil
	}
	if value[0] != '{' {
		b.wrong.add(path, "must be an object")
		return nil
	}
	inner := *b
	inner.decoder = json.NewDecoder(bytes.NewReader(value))
	inner.decoder.Token() // the brace
	err := inner.object(path + ".")
	if len(inner.names) == len(b.names) {
		inner.names = append(inner.names, path)
	}
	b.wrong, b.names = inner.wrong, inner.names
	return err
}

func (b *bodyReader) take(in input) error {
	var value json.RawMessage
	if err := b.decoder.Decode(&value); err != nil {
		return err
	}
	read, refused := in.read(value)
	if refused != "" {
		b.wrong.add(in.Path, refused)
		return nil
	}
	b.values[in.Path] = read
	b.names = append(b.names, in.Path)
	return nil
}
