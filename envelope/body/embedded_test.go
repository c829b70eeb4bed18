package body_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope/body"
)

type Note struct {
	Text string `json:"text"`
	Size int    `json:"size,omitempty"`
}

type Titled struct {
	Text  string
	Title string `json:"title"`
}

type Deep struct {
	Note
	*Titled
	Own bool `json:"own"`
}

type hidden struct {
	Kind string `json:"kind"`
}

// Other and Note are ambiguous about text.
type Other struct {
	Text string `json:"text"`
	Own  string
}

type Both struct {
	Note
	hidden
	Named Titled `json:"named"`
}

// TestReadOfAShadowedMember has the usual struct of a PATCH.
func TestReadOfAShadowedMember(t *testing.T) {
	type patch struct {
		Note
		Text *string `json:"text"`
	}
	for text, want := range map[string]patch{
		`{"text":"x"}`:          {Text: new("x")},
		`{}`:                    {},
		`{"text":null}`:         {},
		`{"text":"x","size":3}`: {Text: new("x"), Note: Note{Size: 3}},
	} {
		var got patch
		if err := readBody(text, &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
	}
	type hides struct {
		Text string `json:"text"`
		Note
	}
	var got hides
	if err := readBody(`{"text":"x"}`, &got); err != nil || got.Text != "x" || got.Note.Text != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReadThroughAnEmbeddedPointer(t *testing.T) {
	type in struct {
		*Note
		X string `json:"x"`
	}
	for text, want := range map[string]in{
		`{"x":"a"}`:            {X: "a"},
		`{"x":"a","text":"b"}`: {X: "a", Note: &Note{Text: "b"}},
		`{"x":"a","size":2}`:   {X: "a", Note: &Note{Size: 2}},
	} {
		var got in
		if err := readBody(text, &got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(text, diff)
		}
	}
	if err := readBody(`{"x":"a","Note":{}}`, new(in)); err == nil {
		t.Error("Note is a member")
	}
	defer func() {
		if recover() == nil {
			t.Error("a struct that nothing can set")
		}
	}()
	readBody(`{}`, new(struct{ *hidden }))
}

func readBody(text string, v any) error {
	_, err := body.Read(request(strings.NewReader(text)), 1<<20, v)
	return err
}

// TestReadHasTheMembersOfEncodingJSON reads random structs: those that embed others, with and
// without tags, have the members that encoding/json gives them, and the values go into the same
// fields.
func TestReadHasTheMembersOfEncodingJSON(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		typ := randomStruct(r)
		full := reflect.New(typ)
		fill(r, full.Elem())
		text, err := json.Marshal(full.Interface())
		if err != nil {
			t.Fatal(err)
		}
		want, got := reflect.New(typ), reflect.New(typ)
		if err := json.Unmarshal(text, want.Interface()); err != nil {
			t.Fatal(err)
		}
		if err := readBody(string(text), got.Interface()); err != nil {
			t.Fatalf("%v: %s: %v", typ, text, err)
		}
		if !reflect.DeepEqual(want.Interface(), got.Interface()) {
			t.Fatalf("%v: %s: %+v, want %+v", typ, text, got, want)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"text", "Text", "size", "title", "own", "kind", "Note", "Titled", "Deep", "Both", "Other", "Own", "named", "A", "x"} {
			if _, known := members[name]; known {
				continue
			}
			more := maps.Clone(members)
			more[name] = json.RawMessage("null")
			with, _ := json.Marshal(more)
			if err := readBody(string(with), reflect.New(typ).Interface()); err == nil {
				t.Fatalf("%v has %s: %s", typ, name, with)
			}
		}
	}
}

var embeddable = []reflect.Type{
	reflect.TypeFor[Note](), reflect.TypeFor[*Note](), reflect.TypeFor[Titled](), reflect.TypeFor[*Titled](),
	reflect.TypeFor[Deep](), reflect.TypeFor[*Deep](), reflect.TypeFor[Other](), reflect.TypeFor[*Other](), reflect.TypeFor[Both](), reflect.TypeFor[*Both](),
}

var memberTypes = []reflect.Type{
	reflect.TypeFor[string](), reflect.TypeFor[*string](), reflect.TypeFor[int](), reflect.TypeFor[[]string](), reflect.TypeFor[Note](),
}

func randomStruct(r *rand.Rand) reflect.Type {
	var fields []reflect.StructField
	tags := []string{"", "", "", `json:"text"`, `json:"title,omitempty"`, `json:"x"`, `json:"Note"`, `json:"-"`, `json:"a,b"`}
	for _, typ := range embeddable {
		name := strings.TrimPrefix(typ.String()[strings.LastIndexByte(typ.String(), '.')+1:], "*")
		if r.IntN(4) == 0 && !slices.ContainsFunc(fields, func(f reflect.StructField) bool { return f.Name == name }) {
			fields = append(fields, reflect.StructField{Name: name, Type: typ, Anonymous: true, Tag: reflect.StructTag(tags[r.IntN(len(tags))])})
		}
	}
	for i := range r.IntN(4) {
		name := []string{"Text", "A", "Title", fmt.Sprint("F", i)}[i]
		fields = append(fields, reflect.StructField{Name: name, Type: memberTypes[r.IntN(len(memberTypes))], Tag: reflect.StructTag(tags[r.IntN(len(tags))])})
	}
	r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return reflect.StructOf(fields)
}

// fill sets each field to a value that is not zero.
func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("s", r.IntN(1000)))
	case reflect.Int:
		v.SetInt(1 + r.Int64N(1000))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(r, v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	}
}
