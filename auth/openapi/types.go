package openapi

import (
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/internal/jsonfields"
	"github.com/tenantkit/tenantkit/internal/listing"
)

// schemas are the schemas of a document that have a name.
type schemas struct {
	set   object
	names map[any]string // by goType or the Key of a list, for example
}

// goType is a Go type, as it is written or as it is read.
type goType struct {
	reflect.Type
	request bool
}

// List is a list that describes itself: a *paging.Schema or a *sqllist.List.
type List = listing.List

// ListOf returns a body: a page of a list.
func ListOf(l List) any { return pageOf{l} }

// These are bodies: a page of a list, and an object of it with all that it must have.
type (
	pageOf      struct{ List }
	wholeObject struct{ List }
)

// AnyOf is a body that has one of several forms, each described as a Route's Reply is. Their
// values are no examples.
type AnyOf []any

// named returns a reference to the schema of a key. It makes the schema at the first call. A
// schema may refer to itself.
func (s schemas) named(key any, wanted string, make func() object) object {
	name, known := s.names[key]
	if !known {
		wanted = cmp.Or(strings.Trim(word(wanted), "_"), "Item")
		name = wanted
		for n := 2; s.set[name] != nil; n++ {
			name = wanted + strconv.Itoa(n)
		}
		s.names[key], s.set[name] = name, object{}
		s.set[name] = make()
	}
	return ref("schemas", name)
}

// content describes a body.
func (m *maker) content(mediaType string, v any, request bool) object {
	content := object{"schema": m.schemas.of(v, request)}
	switch v.(type) {
	case nil, body.Form, List, AnyOf:
	default:
		if !reflect.ValueOf(v).IsZero() {
			content["example"] = v
		}
	}
	return object{mediaType: content}
}

func (s schemas) of(v any, request bool) object {
	switch value := v.(type) {
	case nil:
		return object{}
	case body.Form:
		return formSchema(value)
	case wholeObject:
		return s.wholeItem(value.Describe())
	case pageOf:
		page := value.Describe()
		return listSchema(s.item(page), page.Count)
	case List: // after those that embed one
		return s.item(value.Describe())
	case AnyOf:
		var forms []object
		for _, form := range value {
			forms = append(forms, s.of(form, request))
		}
		return object{"anyOf": forms}
	}
	return s.goType(goType{reflect.TypeOf(v), request})
}

// listSchema is section 2.1 of the interface.
func listSchema(item object, counted bool) object {
	properties := object{
		"object":  object{"type": "string", "const": "list"},
		"data":    object{"type": "array", "items": item},
		"hasMore": object{"type": "boolean"},
	}
	if counted {
		properties["total"] = object{"type": "integer", "description": "Items on all pages."}
		properties["totalIsAtLeast"] = object{"type": "integer", "description": "Instead of total, if counting stopped there."}
	}
	return membersOf(properties, []string{"object", "data", "hasMore"})
}

var envelopePath = reflect.TypeFor[envelope.Item]().PkgPath()

func (s schemas) goType(t goType) object {
	pointer := reflect.PointerTo(t.Type) // it has the methods of the value, too
	switch {
	case t.Type == reflect.TypeFor[json.Number]():
		return decimal
	case t.Type == reflect.TypeFor[time.Time](), t.Type == reflect.TypeFor[envelope.Time]():
		return object{"type": "string", "format": "date-time"}
	case t.PkgPath() == envelopePath && strings.HasPrefix(t.Name(), "List["):
		data, _ := t.FieldByName("Data")
		return listSchema(s.goType(goType{data.Type.Elem(), t.request}), false)
	case t.PkgPath() == envelopePath && strings.HasPrefix(t.Name(), "Result["):
		data, _ := t.FieldByName("Data")
		return membersOf(object{"object": constant("result"), "data": s.value(goType{data.Type, t.request}, false)}, []string{"object", "data"})
	case pointer.Implements(reflect.TypeFor[json.Marshaler]()):
		return object{} // whatever it writes, such as a json.RawMessage
	case pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return object{"type": "string"}
	case t.Name() == "" || t.PkgPath() == "" || isScalar(t.Kind()) && !(t.Kind() == reflect.String && t.Implements(reflect.TypeFor[envelope.Enum]())):
		return s.shape(t)
	}
	// Every other type with a name is a reference, because it may contain itself.
	name := t.Name()
	if t.request && t.Kind() != reflect.String {
		name += "Request"
	}
	t.request = t.request && t.Kind() != reflect.String // an enum is the same in both
	return s.named(t, name, func() object { return s.shape(t) })
}

func isScalar(k reflect.Kind) bool { return k <= reflect.Complex128 || k == reflect.String }

func (s schemas) shape(t goType) object {
	switch t.Kind() {
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number", "format": "double"}
	case reflect.String:
		if enum, ok := reflect.Zero(t.Type).Interface().(envelope.Enum); ok {
			return enumSchema(enum.Values())
		}
		return object{"type": "string"}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}
		}
		fallthrough
	case reflect.Array:
		return object{"type": "array", "items": s.value(goType{t.Elem(), t.request}, false)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.value(goType{t.Elem(), t.request}, false)}
	case reflect.Pointer:
		return s.goType(goType{t.Elem(), t.request})
	case reflect.Struct:
		return s.structure(t)
	}
	return object{} // of an interface
}

// value is goType for a place in which encoding/json may write null. omitted says that nil is
// left out there instead.
func (s schemas) value(t goType, omitted bool) object {
	schema := s.goType(t)
	k := t.Kind()
	if k == reflect.Pointer && (t.request || !omitted) || (k == reflect.Slice || k == reflect.Map) && !t.request && !omitted {
		return nullable(schema)
	}
	return schema
}

func nullable(schema object) object {
	if len(schema) == 0 {
		return schema
	}
	if kind, ok := schema["type"].(string); ok {
		schema = maps.Clone(schema)
		schema["type"] = []string{kind, "null"}
		return schema
	}
	return object{"anyOf": []object{schema, {"type": "null"}}}
}

// structure describes the members of a struct.
func (s schemas) structure(t goType) object {
	properties, required := object{}, []string{}
	for _, f := range jsonfields.Of(t.Type) {
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		omitted := f.Has("omitempty") || f.Has("omitzero")
		properties[f.Name] = s.value(goType{f.Type, t.request}, omitted)
		if f.Has("string") && !t.request && isScalar(inner.Kind()) {
			properties[f.Name] = object{"type": "string"}
		}
		if !omitted && !f.Pointer && !(t.request && f.Type.Kind() == reflect.Pointer) {
			required = append(required, f.Name)
		}
	}
	slices.Sort(required)
	return membersOf(properties, required)
}

func enumSchema(values []string) object { return object{"type": "string", "enum": values} }

// constant is a text that has one value.
func constant(text string) object { return object{"type": "string", "const": text} }

func membersOf(properties object, required []string) object {
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}
