package body

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Form describes the body of a request. It is for servers that learn the members
// while they run, or that need their own Kinds. Other servers read into a struct with
// Read. Several goroutines may use one Form.
type Form []Field

// Field is one value of a body.
type Field struct {
	// Path names the value: "name", or "address.city" for a member of an object.
	// An empty Path, in a Form of one Field, is the whole body.
	Path string

	// Kind reads the value. A Field with the zero Kind is an object, and the Fields
	// below its Path are its members. An object needs a Field only if it is Null or
	// Required.
	Kind Kind

	Null     bool // null is allowed and read as nil; a null object sets all Fields below it to nil
	Required bool // the member must be given; in an inner object, only if the body has that object
}

// Kind is the type of a value.
type Kind struct {
	// Read reads the JSON text of a value. The text is valid and in UTF-8. An object in it may
	// have a name twice, and a string may contain NUL. refused is the reason why the value is
	// rejected, such as "must be an integer". Clients see it. It is empty if the value is accepted.
	Read func(text string) (value any, refused string)

	// Schema is the JSON Schema of the values, for documents of auth/openapi. A document leaves
	// out a member whose Kind has none.
	Schema map[string]any
}

// Read reads the body of r, a JSON object of at most limit bytes, and returns its
// values by path. A value that is not in the body is not in the map. null is nil.
// named holds the paths of the members that the body names, in the order of the body.
// It holds the path of an object only if the object is null or empty.
//
// An error lists up to 32 members that are unknown, given twice, of another type or
// missing. A body has at most 1000 members and elements over all levels. Reading stops
// soon after the last that is allowed, or once the body exceeds limit. Read rejects half
// of a surrogate pair, and bytes that are not UTF-8. Names must match exactly.
func (f Form) Read(r *http.Request, limit int64) (values map[string]any, named []string, err error) {
	text, err := textOf(r, limit)
	if err != nil {
		return nil, nil, err
	}
	return f.Parse(text)
}

// Parse is Read for the text of a JSON object. It limits the members of each object,
// but not the length of the text.
func (f Form) Parse(text string) (values map[string]any, named []string, err error) {
	// The whole text is checked first, so that every Kind gets valid JSON.
	if err := strictjson.Check(text, loose); err != nil {
		return nil, nil, wrongBody("malformed JSON: " + err.Error())
	}
	b := body{form: f, json: strictjson.New(text, loose), values: make(map[string]any), given: make(map[string]bool)}
	if b.json.Kind() != '{' {
		return nil, nil, wrongBody("must be a JSON object")
	}
	if whole, ok := f.field(""); ok {
		if b.take(whole); len(b.faults) > 0 {
			return nil, nil, b.faults[0]
		}
	} else if b.object(""); len(b.faults) > 0 {
		return nil, nil, &auth.Error{Detail: auth.DetailBody, Faults: b.faults}
	}
	return b.values, b.named, nil
}

// loose are limits that allow NUL and repeated names. The Kinds check these, because
// they can say where.
var loose = strictjson.Limits{Depth: maxParts, Members: maxParts, AllowNUL: true, AllowDuplicates: true}

func (f Form) field(path string) (Field, bool) {
	i := slices.IndexFunc(f, func(field Field) bool { return field.Path == path })
	if i < 0 {
		return Field{}, false
	}
	return f[i], true
}

// below returns the Fields below a path, like address.city below address.
func (f Form) below(path string) (below Form) {
	for _, field := range f {
		if strings.HasPrefix(field.Path, path+".") {
			below = append(below, field)
		}
	}
	return below
}

// body is a body that is being read. Its text is valid JSON.
type body struct {
	form   Form
	json   strictjson.Reader
	values map[string]any
	named  []string
	given  map[string]bool // by path
	faults []*auth.Error
}

// object reads the members of an object. Their paths begin with at.
func (b *body) object(at string) {
	for name := range b.json.Object {
		b.member(at+name, name)
		if len(b.faults) == maxFaults {
			return
		}
	}
	b.requireBelow(at)
}

func (b *body) member(path, name string) {
	field, known := b.form.field(path)
	switch {
	case b.given[path]:
		// encoding/json would use the last one, another reader the first.
		b.refuse(path, "given more than once")
	case strings.Contains(name, "."): // looks like the path of an inner field
		b.refuse(path, "unknown field")
	case field.Kind.Read != nil:
		b.take(field)
	case known || len(b.form.below(path)) > 0:
		b.inner(path, field.Null)
	default:
		b.refuse(path, "unknown field")
	}
	b.given[path] = true
}

// refuse records what is wrong with a member and skips its value.
func (b *body) refuse(path, reason string) {
	b.json.Skip()
	b.wrong(path, reason)
}

func (b *body) wrong(path, reason string) {
	if len(path) > maxShown {
		path = strings.ToValidUTF8(path[:maxShown], "") + "…"
	}
	b.faults = append(b.faults, &auth.Error{Detail: auth.DetailBody, Path: path, Reason: reason})
}

func (b *body) take(f Field) {
	text := b.json.Skip()
	if f.Null && text == "null" {
		b.set(f.Path, nil)
		return
	}
	value, refused := f.Kind.Read(text)
	if refused != "" {
		b.wrong(f.Path, refused)
		return
	}
	b.set(f.Path, value)
}

func (b *body) set(path string, value any) {
	b.values[path] = value
	b.named = append(b.named, path)
}

// inner reads an object inside the body.
func (b *body) inner(path string, null bool) {
	switch kind := b.json.Kind(); {
	case kind == 'n' && null:
		b.json.Skip()
		for _, f := range b.form.below(path) {
			if f.Kind.Read != nil {
				b.values[f.Path] = nil
			}
		}
	case kind != '{':
		b.refuse(path, "must be an object")
		return
	default:
		before := len(b.named)
		if b.object(path + "."); len(b.named) > before {
			return
		}
	}
	b.named = append(b.named, path)
}

// requireBelow refuses an object that lacks required members.
func (b *body) requireBelow(at string) {
	for _, f := range b.form {
		name, within := strings.CutPrefix(f.Path, at)
		if f.Required && within && !strings.Contains(name, ".") && !b.given[f.Path] && len(b.faults) < maxFaults {
			b.wrong(f.Path, "is required")
		}
	}
}

// The usual Kinds, with the Go types of their values.
var (
	String  = Kind{kindOf[string](), map[string]any{"type": "string"}}                                             // without NUL, which some databases cannot store: string
	Strings = Kind{kindOf[[]string](), map[string]any{"type": "array", "items": map[string]any{"type": "string"}}} // an array of such strings: []string
	Integer = Kind{kindOf[int64](), map[string]any{"type": "integer", "format": "int64"}}                          // without fraction and exponent: int64
	Boolean = Kind{kindOf[bool](), map[string]any{"type": "boolean"}}                                              // bool

	// Object is an object with any members: map[string]json.RawMessage. No object in it, at any
	// level, may have a name twice.
	Object = Kind{readObject, map[string]any{"type": "object"}}
)

func kindOf[T any]() func(string) (any, string) { return reader(reflect.TypeFor[T]()) }

func readObject(text string) (value any, refused string) {
	if text[0] != '{' {
		return nil, "must be an object"
	}
	limits := loose
	limits.AllowDuplicates = false
	r := strictjson.New(text, limits)
	members := make(map[string]json.RawMessage)
	for name := range r.Object {
		members[strings.Clone(name)] = json.RawMessage(r.Skip())
	}
	if r.End() != nil {
		return nil, "has a name more than once"
	}
	return members, ""
}
