package body

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/jsonfields"
	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// Read reads the body of r, a JSON object of at most limit bytes, into the struct that v
// points to. Its limits are those of Form.Read. An error leaves v unchanged.
//
// The json tags name the members. The spelling must be exact. A member is required
// unless its tag has omitempty or omitzero or its field is a pointer. The members of an
// embedded struct are those of the struct, and a field hides those of its name below it,
// as in encoding/json. If a pointer embeds it, none is required, and the first that the
// body names sets the pointer. Only pointers and interfaces may be null. For a PATCH, named
// tells null from absent, as in Form.Read.
//
// A string of an envelope.Enum must be one of its values. Structs in the struct are read
// member by member. Any other value has at most 16 nested objects and arrays. Pointers and
// slices are replaced, not merged. Only the first mistake in a slice is reported. In maps and
// arrays, names match as in encoding/json. Other tag options have no effect.
//
// Read panics if v does not point to a struct, or to one with members that nothing can set.
func Read(r *http.Request, limit int64, v any) (named []string, err error) {
	to := reflect.ValueOf(v)
	if to.Kind() != reflect.Pointer {
		panic(fmt.Sprintf("body: Read into a %T, which is not a pointer to a struct", v))
	}
	t := targetOf(to.Type().Elem())
	values, named, err := t.form.Read(r, limit)
	if err != nil {
		return nil, err
	}
	t.set(to.Elem(), values)
	return named, nil
}

// target says how a struct is read.
type target struct {
	form   Form
	fields map[string][]int // index of each field, by path
}

// targets caches the target of each type that was read, by reflect.Type.
var targets sync.Map

func targetOf(t reflect.Type) *target {
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("body: %v is not a struct", t))
	}
	if known, ok := targets.Load(t); ok {
		return known.(*target)
	}
	to := &target{fields: make(map[string][]int)}
	to.add(t, "", nil)
	targets.Store(t, to)
	return to
}

// add adds the members of the struct at index. Their paths begin with at.
func (to *target) add(t reflect.Type, at string, index []int) {
	for _, f := range jsonfields.Of(t) {
		path, inner := at+f.Name, append(slices.Clone(index), f.Index...)
		required := !f.Pointer && f.Type.Kind() != reflect.Pointer && !f.Has("omitempty") && !f.Has("omitzero")
		switch {
		case f.Sealed || !isObject(f.Type) && !t.FieldByIndex(f.Index).IsExported():
			panic(fmt.Sprintf("body: Read cannot set %s of %v: a pointer to a struct that is not exported is embedded", f.Name, t))
		case isObject(f.Type):
			to.form = append(to.form, Field{Path: path, Required: required})
			to.add(f.Type, path+".", inner)
		default:
			to.form = append(to.form, Field{Path: path, Kind: Kind{Read: reader(f.Type)}, Null: isNullable(f.Type), Required: required})
			to.fields[path] = inner
		}
	}
}

func (to *target) set(v reflect.Value, values map[string]any) {
	for path, value := range values {
		field := v
		for _, i := range to.fields[path] {
			if field.Kind() == reflect.Pointer { // to an embedded struct
				if field.IsNil() {
					field.Set(reflect.New(field.Type().Elem()))
				}
				field = field.Elem()
			}
			field = field.Field(i)
		}
		if field.SetZero(); value != nil {
			field.Set(reflect.ValueOf(value))
		}
	}
}

func isNullable(t reflect.Type) bool {
	return t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface
}

// isObject reports whether t is a struct that is read member by member.
func isObject(t reflect.Type) bool { return t.Kind() == reflect.Struct && !readsItself(t) }

func readsItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// maxDepth limits the nested objects and arrays of one value. The value is read once
// for each level.
const maxDepth = 16

// reader returns the Read of a Kind for values of type t.
func reader(t reflect.Type) func(text string) (any, string) {
	limits := loose
	limits.Depth = maxDepth
	return func(text string) (any, string) {
		if err := strictjson.Check(text, limits); err != nil {
			return nil, err.Error()
		}
		v := reflect.New(t).Elem()
		refused := decode(text, v)
		return v.Interface(), refused
	}
}

// decode reads a value into to.
func decode(text string, to reflect.Value) (refused string) {
	switch t := to.Type(); {
	case text == "null":
		if !isNullable(t) {
			return wanted(t)
		}
		return ""
	case readsItself(t):
		return decodeAny(text, to, "is not valid")
	case t.Kind() == reflect.Pointer:
		to.Set(reflect.New(t.Elem()))
		return decode(text, to.Elem())
	case t.Kind() == reflect.Struct:
		return decodeStruct(text, to)
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return decodeSlice(text, to)
	}
	if refused := decodeAny(text, to, wanted(to.Type())); refused != "" {
		return refused
	}
	if enum, ok := to.Interface().(envelope.Enum); ok && to.Kind() == reflect.String && !slices.Contains(enum.Values(), to.String()) {
		return "must be one of " + strings.Join(enum.Values(), ", ")
	}
	return ""
}

func decodeStruct(text string, to reflect.Value) (refused string) {
	t := targetOf(to.Type())
	values, _, err := t.form.Parse(text)
	if e, ok := errors.AsType[*auth.Error](err); ok {
		if len(e.Faults) == 0 {
			return wanted(to.Type()) // valid JSON, but no object
		}
		return e.Faults[0].Path + " " + e.Faults[0].Reason
	}
	t.set(to, values)
	return ""
}

func decodeSlice(text string, to reflect.Value) (refused string) {
	r := strictjson.New(text, loose)
	if r.Kind() != '[' {
		return wanted(to.Type())
	}
	to.Set(reflect.MakeSlice(to.Type(), 0, 0))
	for range r.Array {
		v := reflect.New(to.Type().Elem()).Elem()
		switch refused := decode(r.Skip(), v); {
		case refused == "":
		case v.Kind() == reflect.String && refused == wanted(v.Type()):
			return wanted(to.Type()) // which says it, too
		default:
			return fmt.Sprintf("[%d] %s", to.Len(), refused)
		}
		to.Set(reflect.Append(to, v))
	}
	return ""
}

// decodeAny reads a value with encoding/json, after it has checked that only one
// reading is possible.
func decodeAny(text string, to reflect.Value, refused string) string {
	if err := strictjson.Check(text, strictjson.Limits{Depth: maxParts, Members: maxParts}); errors.Is(err, strictjson.ErrNUL) {
		return "must not contain NUL"
	} else if err != nil {
		return err.Error()
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if decoder.Decode(to.Addr().Interface()) != nil {
		return refused
	}
	return ""
}

// wanted returns what a value of a type must be.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "must be a string"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("must be an integer of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprintf("must be an integer of %d bits, 0 or more", t.Bits())
	case reflect.Float32, reflect.Float64:
		return "must be a number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.String {
			return "must be an array of strings"
		}
		return "must be an array"
	case reflect.Struct, reflect.Map:
		return "must be an object"
	}
	return "has another type"
}
