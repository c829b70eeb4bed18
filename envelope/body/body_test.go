package body_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

func faultOf(t *testing.T, err error) *envelope.Fault {
	t.Helper()
	refused, ok := err.(*auth.Error)
	if !ok {
		t.Fatalf("got error %v, want an *auth.Error", err)
	}
	return refused.Fault()
}

// reasons returns the reasons of a fault's children by path, or its own reason at "".
func reasons(f *envelope.Fault) map[string]string {
	if len(f.Faults) == 0 {
		return map[string]string{"": f.Reason}
	}
	all := map[string]string{}
	for _, child := range f.Faults {
		all[child.Path] = child.Reason
	}
	return all
}

var noteForm = body.Form{
	{Path: "text", Kind: body.String, Required: true},
	{Path: "likes", Kind: body.Integer, Null: true},
	{Path: "pinned", Kind: body.Boolean},
	{Path: "tags", Kind: body.Strings},
	{Path: "extra", Kind: body.Object},
	{Path: "meta", Null: true},
	{Path: "meta.lang", Kind: body.String, Null: true},
	{Path: "meta.from", Kind: body.String, Required: true},
}

func TestFormTakes(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		values map[string]any
		named  []string
	}{
		"each kind": {`{"text":"a\u0062","likes":-5,"pinned":true,"tags":["x",""],"meta":{"from":"me"}}`,
			map[string]any{"text": "ab", "likes": int64(-5), "pinned": true, "tags": []string{"x", ""}, "meta.from": "me"},
			[]string{"text", "likes", "pinned", "tags", "meta.from"}},
		"an object as it is written": {`{"text":"","extra":{"a":[ 1.0 ],"b":{"c":"\u0000"}}}`,
			map[string]any{"text": "", "extra": map[string]json.RawMessage{"a": json.RawMessage(`[ 1.0 ]`), "b": json.RawMessage(`{"c":"\u0000"}`)}},
			[]string{"text", "extra"}},
		"null":               {`{"text":"","likes":null}`, map[string]any{"text": "", "likes": nil}, []string{"text", "likes"}},
		"null for all of it": {`{"meta":null,"text":""}`, map[string]any{"text": "", "meta.lang": nil, "meta.from": nil}, []string{"meta", "text"}},
	} {
		t.Run(name, func(t *testing.T) {
			values, named, err := noteForm.Read(request(strings.NewReader(test.body)), 1<<10)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.values, values) + cmp.Diff(test.named, named); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("an empty object is named", func(t *testing.T) {
		form := body.Form{{Path: "meta.lang", Kind: body.String}}
		if _, named, err := form.Parse(`{"meta":{}}`); err != nil || !cmp.Equal(named, []string{"meta"}) {
			t.Errorf("%v, %v", named, err)
		}
	})
	t.Run("any members", func(t *testing.T) {
		whole := body.Form{{Kind: body.Object}}
		values, _, err := whole.Parse(` {"":1,"a":[]} `)
		want := map[string]any{"": map[string]json.RawMessage{"": json.RawMessage("1"), "a": json.RawMessage("[]")}}
		if diff := cmp.Diff(want, values); err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
		if _, _, err := whole.Parse(`{"a":{"b":1,"\u0062":2}}`); !cmp.Equal(reasons(faultOf(t, err)), map[string]string{"": "has a name more than once"}) {
			t.Errorf("a name twice: %v", err)
		}
	})
}

// refusedBodies are bodies that noteForm refuses, with the reasons by path.
var refusedBodies = []struct {
	name, body string
	want       map[string]string // nil: the body is no valid JSON
}{
	{"not JSON", `text`, nil},
	{"nothing", ``, nil},
	{"blanks", `  `, nil},
	{"null", `null`, nil},
	{"an array", `[{"text":"x"}]`, nil},
	{"cut short", `{"text":"x"`, nil},
	{"wrong, and cut short", `{"nope":1,"text":"x"`, nil},
	{"trailing data", `{"text":"x"}{}`, nil},
	{"a trailing comma", `{"text":"x",}`, nil},
	{"a missing colon", `{"text" "x"}`, nil},
	{"not UTF-8", "{\"text\":\"\xff\"}", nil},
	{"not UTF-8 after the object", `{"text":"x"}` + "\xff", nil},
	{"half of a surrogate pair", `{"text":"\ud800"}`, nil},
	{"too many members", `{"extra":{` + strings.Repeat(`"a":1,`, 1000) + `"a":1}}`, nil},
	{"too many elements", `{"tags":[` + strings.Repeat(`"a",`, 1000) + `"a"]}`, nil},
	{"too deep", strings.Repeat(`{"meta":`, 2000), nil},
	{"unknown members", `{"text":"","nope":1,"Text":2,"":3}`, map[string]string{"nope": "unknown field", "Text": "unknown field", "": "unknown field"}},
	{"an unknown member below", `{"text":"","meta":{"from":"","x":{}}}`, map[string]string{"meta.x": "unknown field"}},
	{"a path for a name", `{"text":"","meta.lang":"en"}`, map[string]string{"meta.lang": "unknown field"}},
	{"a member twice", `{"text":"x","t\u0065xt":"y"}`, map[string]string{"text": "given more than once"}},
	{"an object twice", `{"text":"","meta":null,"meta":{}}`, map[string]string{"meta": "given more than once"}},
	{"a name twice below", `{"text":"","extra":{"a":[{"b":1,"b":2}]}}`, map[string]string{"extra": "has a name more than once"}},
	{"other types", `{"text":1,"likes":1.0,"pinned":"true","tags":"x","extra":[],"meta":"en"}`, map[string]string{
		"text": "must be a string", "likes": "must be an integer of 64 bits", "pinned": "must be true or false",
		"tags": "must be an array of strings", "extra": "must be an object", "meta": "must be an object"}},
	{"null for what always has a value", `{"text":null,"pinned":null,"tags":[null]}`, map[string]string{
		"text": "must be a string", "pinned": "must be true or false", "tags": "must be an array of strings"}},
	{"2^63", `{"text":"","likes":9223372036854775808}`, map[string]string{"likes": "must be an integer of 64 bits"}},
	{"NUL", `{"text":"\u0000","tags":["","\u0000"]}`, map[string]string{"text": "must not contain NUL", "tags": "[1] must not contain NUL"}},
	{"missing, and other things", `{"meta":{"lang":2}}`, map[string]string{
		"text": "is required", "meta.lang": "must be a string", "meta.from": "is required"}},
}

func TestFormRefuses(t *testing.T) {
	for _, test := range refusedBodies {
		t.Run(test.name, func(t *testing.T) {
			values, named, err := noteForm.Read(request(strings.NewReader(test.body)), 1<<20)
			fault := faultOf(t, err)
			if values != nil || named != nil || fault.Status != 400 || fault.Detail != auth.DetailBody {
				t.Errorf("%v, %v, %v", values, named, err)
			}
			if test.want == nil {
				if fault.Reason == "" || len(fault.Faults) > 0 {
					t.Errorf("got %v", err)
				}
				return
			}
			if diff := cmp.Diff(test.want, reasons(fault)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("nonsense has a short answer", func(t *testing.T) {
		long := strings.Repeat("é", 10_000)
		_, _, err := noteForm.Parse(`{` + strings.Repeat(`"`+long+`":1,`, 900) + `"text":""}`)
		if f := faultOf(t, err); len(f.Faults) != 32 || len(f.Encode("")) > 16<<10 {
			t.Errorf("%d children, %d bytes", len(f.Faults), len(f.Encode("")))
		}
	})
	t.Run("much that is missing has a short answer", func(t *testing.T) {
		var form body.Form
		for i := range 40 {
			form = append(form, body.Field{Path: fmt.Sprint("c", i), Kind: body.String, Required: true})
		}
		_, _, err := form.Parse(`{}`)
		if f := faultOf(t, err); len(f.Faults) != 32 {
			t.Errorf("%d children", len(f.Faults))
		}
	})
}

func TestBodyFrame(t *testing.T) {
	status := func(header, value string) int {
		r := request(strings.NewReader(`{"text":"x"}`))
		r.Header.Set(header, value)
		_, _, err := noteForm.Read(r, 1<<10)
		if err == nil {
			return 200
		}
		return faultOf(t, err).Status
	}
	for _, charset := range []string{"", "; charset=utf-8", "; charset=UTF-8", `; charset="utf-8"`} {
		if got := status("Content-Type", "application/json"+charset); got != 200 {
			t.Errorf("%s: %d", charset, got)
		}
	}
	for _, mediaType := range []string{"", ";", "text/plain", "application/jsonx", "application/json, text/plain", "application/json; charset=utf-16", `application/json; charset=""`} {
		if got := status("Content-Type", mediaType); got != 415 {
			t.Errorf("%s: %d", mediaType, got)
		}
	}
	for _, coding := range []string{"gzip", "identity"} {
		if got := status("Content-Encoding", coding); got != 415 {
			t.Errorf("%s: %d", coding, got)
		}
	}
}

// counted counts the bytes that are read of a body. It does not tell its length.
type counted struct {
	from io.Reader
	read int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += int64(n)
	return n, err
}

func TestBodyLength(t *testing.T) {
	const text = `{"text":"x"}`
	for limit, ok := range map[int64]bool{0: false, 11: false, 12: true, 1<<63 - 1: true} {
		for _, in := range []io.Reader{strings.NewReader(text), &counted{from: strings.NewReader(text)}} {
			_, _, err := noteForm.Read(request(in), limit)
			if ok != (err == nil) || !ok && faultOf(t, err).Status != 413 {
				t.Errorf("at most %d: %v", limit, err)
			}
		}
	}
	t.Run("one that says it is too long is not read", func(t *testing.T) {
		in := strings.NewReader(text)
		if _, _, err := noteForm.Read(request(in), 5); err == nil || in.Len() != len(text) {
			t.Errorf("%v, %d bytes left", err, in.Len())
		}
	})
	t.Run("nothing is read after the last member", func(t *testing.T) {
		for _, part := range []string{`"a":1,`, `"a":{`, `[`, `,`} {
			in := &counted{from: strings.NewReader("{" + strings.Repeat(part, 500_000))}
			if _, _, err := noteForm.Read(request(in), 1<<30); err == nil || in.read > 8<<10 {
				t.Errorf("%s: %v, %d bytes read", part, err, in.read)
			}
		}
	})
	t.Run("a bound outside", func(t *testing.T) {
		r := request(&counted{from: strings.NewReader(text)})
		r.Body = http.MaxBytesReader(nil, r.Body, 5)
		_, _, err := noteForm.Read(r, 1<<10)
		if f := faultOf(t, err); f.Status != 413 || !errors.As(err, new(*http.MaxBytesError)) {
			t.Error(err)
		}
	})
	t.Run("a connection that breaks", func(t *testing.T) {
		_, _, err := noteForm.Read(request(io.MultiReader(strings.NewReader(`{"text`), broken{})), 1<<10)
		if f := faultOf(t, err); f.Status != 400 || f.Reason != "ends early" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error(err)
		}
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

type order struct {
	envelope.Item // embedded members count as members of the struct

	Name    string            `json:"name"`
	Count   uint8             `json:"count,omitempty"`
	Due     time.Time         `json:"due,omitzero"`
	Note    *string           `json:"note"`
	Lines   []line            `json:"lines,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Address struct {
		City   string  `json:"city,omitempty"`
		Street *string `json:"street"`
	} `json:"address,omitempty"`
	Any    any `json:"any,omitempty"`
	Hidden int `json:"-"`
}

type line struct {
	Article string  `json:"article"`
	Price   float64 `json:"price,omitempty"`
	Parts   []line  `json:"parts,omitempty"`
}

const wholeOrder = `{"_id":"1","object":"order","name":"a\u00e9","count":255,"due":"2026-01-02T03:04:05Z","note":"n",` +
	`"lines":[{"article":"x","price":1.5,"parts":[{"article":"y"}]}],"labels":{"a":"b"},"address":{"city":"c","street":null},"any":[1,{"a":null}]}`

func TestReadIntoAStruct(t *testing.T) {
	var got, want order
	named, err := body.Read(request(strings.NewReader(wholeOrder)), 1<<10, &got)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(wholeOrder), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("encoding/json reads it otherwise (-want +got):\n%s", diff)
	}
	wantNamed := []string{"_id", "object", "name", "count", "due", "note", "lines", "labels", "address.city", "address.street", "any"}
	if diff := cmp.Diff(wantNamed, named); diff != "" {
		t.Errorf("named (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, test := range []struct {
		body string
		want map[string]string
	}{
		{`{}`, map[string]string{"_id": "is required", "object": "is required", "name": "is required"}},
		{`{"NAME":1,"Hidden":1,"-":1}`, map[string]string{"NAME": "unknown field", "Hidden": "unknown field", "-": "unknown field",
			"_id": "is required", "object": "is required", "name": "is required"}},
		{`{"_id":"","object":"","name":null,"count":256,"due":"today","note":1,"labels":{"a":1},"address":null}`, map[string]string{
			"name": "must be a string", "count": "must be an integer of 8 bits, 0 or more", "due": "is not valid", "note": "must be a string",
			"labels": "must be an object", "address": "must be an object"}},
		{`{"_id":"","object":"","name":"\u0000","lines":[{"article":""},{"article":"","Price":2}],"any":{"a":1,"\u0061":2},"address":{"city":[],"x":1}}`, map[string]string{
			"name": "must not contain NUL", "lines": "[1] Price unknown field", "any": "a name occurs twice", "address.city": "must be a string", "address.x": "unknown field"}},
		{`{"_id":"","object":"","name":"","lines":[{"parts":[]}]}`, map[string]string{"lines": "[0] article is required"}},
		{`{"_id":"","object":"","name":"","lines":[null]}`, map[string]string{"lines": "[0] must be an object"}},
	} {
		v := order{Name: "before"}
		named, err := body.Read(request(strings.NewReader(test.body)), 1<<10, &v)
		if diff := cmp.Diff(test.want, reasons(faultOf(t, err))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.body, diff)
		}
		if named != nil || v.Name != "before" {
			t.Errorf("%s: %v, %+v", test.body, named, v)
		}
	}
}

func TestReadBoundsDepth(t *testing.T) {
	for levels, want := range map[int]string{8: "is required", 9: "nested too deeply"} {
		text := strings.Repeat(`{"article":"","parts":[`, levels-1) + `{}` + strings.Repeat(`]}`, levels-1)
		_, err := body.Read(request(strings.NewReader(`{"_id":"","object":"","name":"","lines":[`+text+`]}`)), 1<<20, new(order))
		if got := reasons(faultOf(t, err))["lines"]; !strings.HasSuffix(got, want) {
			t.Errorf("%d levels: %s", levels, got)
		}
	}
}

func TestReadTellsNullFromAbsent(t *testing.T) {
	before := "before"
	for text, want := range map[string]*string{`{"_id":"","object":"","name":""}`: &before, `{"_id":"","object":"","name":"","note":null}`: nil} {
		v := order{Note: &before}
		named, err := body.Read(request(strings.NewReader(text)), 1<<10, &v)
		if err != nil || v.Note != want || (len(named) == 4) != (want == nil) {
			t.Errorf("%s: %v, %v, %v", text, v.Note, named, err)
		}
	}
}

func TestReadNeedsAStruct(t *testing.T) {
	named := new(struct {
		//lint:ignore SA5008 The wrong name is the case.
		A string `json:"a\"b"` // a name in one version of Go, and another one in the next
	})
	for _, v := range []any{nil, order{}, new(int), new(map[string]any), named} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%T: no panic", v)
				}
			}()
			_, _ = body.Read(request(strings.NewReader(`{}`)), 10, v)
		}()
	}
}

// FuzzRead compares Form.Read and Read with encoding/json. It must accept what they
// accept, with the same values. No body is read further than one byte beyond its
// limit.
func FuzzRead(f *testing.F) {
	f.Add(wholeOrder, int64(len(wholeOrder)))
	for _, test := range refusedBodies {
		f.Add(test.body, int64(1<<20))
	}
	for _, text := range []string{
		`{"text":"a","likes":null,"meta":{"from":"x","lang":null},"tags":["\ud83d\ude00"],"extra":{"a":[1e400]}}`, `{"text":"","meta":null}`,
		`{"c_text":"x","c_text":"y"}`, `{"c_meta":{"lang":"en","x":{}}}`, `{"c_likes":1e3}`, `{"text":"x","likes":-0}`,
		`{"_id":"","object":"","name":"","any":1e400}`, `{"_id":"","object":"","name":"","labels":{"a":null}}`,
		`{"_id":"","object":"","name":"","lines":[{"article":"","parts":[{"article":"","PRICE":1}]}]}`,
	} {
		f.Add(text, int64(len(text)))
	}
	f.Fuzz(func(t *testing.T, text string, limit int64) {
		limit = max(limit, 0)
		in := &counted{from: strings.NewReader(text)}
		values, named, err := noteForm.Read(request(in), limit)
		if in.read-1 > limit {
			t.Fatalf("%d bytes read, of at most %d", in.read, limit)
		}
		var want struct {
			Text   *string                    `json:"text"`
			Likes  *int64                     `json:"likes"`
			Pinned *bool                      `json:"pinned"`
			Tags   []string                   `json:"tags"`
			Extra  map[string]json.RawMessage `json:"extra"`
			Meta   struct {
				Lang *string `json:"lang"`
				From *string `json:"from"`
			} `json:"meta"`
		}
		if err != nil {
			if values != nil || named != nil {
				t.Fatalf("%v, and %v %v", err, values, named)
			}
			faultOf(t, err)
		} else if int64(len(text)) > limit {
			t.Fatalf("%d bytes taken, of at most %d", len(text), limit)
		} else if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", text, err)
		} else {
			all := map[string]any{"extra": want.Extra, "tags": want.Tags}
			set(all, "text", want.Text)
			set(all, "likes", want.Likes)
			set(all, "pinned", want.Pinned)
			set(all, "meta.lang", want.Meta.Lang)
			set(all, "meta.from", want.Meta.From)
			for path, value := range values {
				if diff := cmp.Diff(all[path], value); diff != "" {
					t.Fatalf("%q at %s (-want +got):\n%s", text, path, diff)
				}
				delete(all, path)
			}
			for path, value := range all {
				if path != "extra" && path != "tags" && value != nil {
					t.Fatalf("%q: %s is lost", text, path)
				}
			}
		}

		var got, other order
		if _, err := body.Read(request(strings.NewReader(text)), limit, &got); err != nil {
			return
		}
		decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&other); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", text, err)
		}
		if diff := cmp.Diff(other, got); diff != "" {
			t.Fatalf("encoding/json reads %q otherwise (-want +got):\n%s", text, diff)
		}
	})
}

// set sets all[path] to the value of a pointer, or to nil if the pointer is nil.
func set[T any](all map[string]any, path string, value *T) {
	if all[path] = nil; value != nil {
		all[path] = *value
	}
}

// TestObjectIsReadOnce bounds what a member of an Object costs: its name and its text.
func TestObjectIsReadOnce(t *testing.T) {
	const members = 500
	var text strings.Builder
	for i := range members {
		fmt.Fprintf(&text, `,"c_%d":{"a":[1,2,3]}`, i)
	}
	object := "{" + text.String()[1:] + "}"
	got := testing.AllocsPerRun(5, func() {
		if value, refused := body.Object.Read(object); refused != "" || len(value.(map[string]json.RawMessage)) != members {
			t.Fatal(refused)
		}
	})
	if got > 2.5*members {
		t.Errorf("%v allocations for %d members", got, members)
	}
}
