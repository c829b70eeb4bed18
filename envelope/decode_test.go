package envelope_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

func TestDecode(t *testing.T) {
	body := `{"object":"list","data":[{"_id":"1","object":"c_note","c_text":"a"}],"hasMore":"true"}` + "\n"
	var got envelope.List[note]
	if err := envelope.Decode(strings.NewReader(body), int64(len(body)), &got); err != nil {
		t.Fatal(err)
	}
	want := envelope.List[note]{Data: []note{{envelope.Item{ID: "1", Object: "c_note"}, "a"}}, HasMore: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// chunk is a body without end. It must not fill the memory.
type chunk struct{ read int }

func (c *chunk) Read(p []byte) (int, error) {
	c.read += len(p)
	return copy(p, strings.Repeat(" ", len(p))), nil
}

func TestDecodeStopsReadingAtItsLimit(t *testing.T) {
	endless := new(chunk)
	err := envelope.Decode(endless, 1<<10, new(envelope.List[note]))
	if !errors.Is(err, envelope.ErrTooLarge) {
		t.Errorf("P18 got %v", err)
	}
	if endless.read > 1<<10+1 {
		t.Errorf("P18 read %d bytes", endless.read)
	}
}

func TestDecodeRefuses(t *testing.T) {
	const list = `{"object":"list","data":[],"hasMore":false}`
	failed := errors.New("connection reset")
	tests := map[string]struct {
		body  io.Reader
		limit int64
		want  error
	}{
		"P18 one byte over the limit":  {strings.NewReader(list), int64(len(list)) - 1, envelope.ErrTooLarge},
		"a limit of nothing":           {strings.NewReader(list), 0, envelope.ErrTooLarge},
		"a negative limit":             {strings.NewReader(list), -1, envelope.ErrTooLarge},
		"P18 an HTML page":             {strings.NewReader("<!doctype html><title>Sign in</title>"), 1 << 10, envelope.ErrNotJSON},
		"P18 truncated in an item":     {strings.NewReader(`{"object":"list","data":[{"_id":"1`), 1 << 10, envelope.ErrNotJSON},
		"truncated after the data":     {strings.NewReader(`{"object":"list","data":[]`), 1 << 10, envelope.ErrNotJSON},
		"an empty body":                {strings.NewReader(""), 1 << 10, envelope.ErrNotJSON},
		"blanks only":                  {strings.NewReader(" \n"), 1 << 10, envelope.ErrNotJSON},
		"shorter than its length":      {iotest.ErrReader(io.ErrUnexpectedEOF), 1 << 10, envelope.ErrNotJSON},
		"a connection that breaks":     {iotest.ErrReader(failed), 1 << 10, failed},
		"a second value":               {strings.NewReader(list + "{}"), 1 << 10, envelope.ErrNotJSON},
		"a byte order mark":            {strings.NewReader("\ufeff" + list), 1 << 10, envelope.ErrNotJSON},
		"a bare word":                  {strings.NewReader("upstream timed out"), 1 << 10, envelope.ErrNotJSON},
		"P18 another object":           {strings.NewReader(`{"object":"c_note","data":[],"hasMore":false}`), 1 << 10, envelope.ErrShape},
		"P18 no object":                {strings.NewReader(`{"data":[],"hasMore":false}`), 1 << 10, envelope.ErrShape},
		"data that is no array":        {strings.NewReader(`{"object":"list","data":{}}`), 1 << 10, envelope.ErrShape},
		"an item of the wrong type":    {strings.NewReader(`{"object":"list","data":[1]}`), 1 << 10, envelope.ErrShape},
		"a bare array":                 {strings.NewReader(`[1]`), 1 << 10, envelope.ErrShape},
		"null":                         {strings.NewReader(`null`), 1 << 10, envelope.ErrShape},
		"a list whose data is null":    {strings.NewReader(`{"object":"list","data":[{"_id":"1"}],"data":null}`), 1 << 10, envelope.ErrShape},
		"a list without data":          {strings.NewReader(`{"object":"list","hasMore":false}`), 1 << 10, envelope.ErrShape},
		"the largest limit there is":   {strings.NewReader(`{"object":"c_note"}`), math.MaxInt64, envelope.ErrShape},
		"a fault only further inside":  {strings.NewReader(`{"object":"c","data":{"object":"fault"}}`), 1 << 10, envelope.ErrShape},
		"a fault cut off in the midst": {strings.NewReader(`{"object":"fault","errCode":"serv`), 1 << 10, envelope.ErrNotJSON},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var l envelope.List[note]
			err := envelope.Decode(tc.body, tc.limit, &l)
			if !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
			if diff := cmp.Diff(envelope.List[note]{}, l); diff != "" {
				t.Errorf("partly decoded:\n%s", diff)
			}
		})
	}
}

func TestDecodeReturnsAFaultWhateverWasExpected(t *testing.T) {
	const body = `{"object":"fault","name":"error","code":"kAccessDenied","errCode":"service.accessDenied.scope",` +
		`"status":403,"message":"Missing a required token scope.","reason":"object.read.c_note","faults":[]}`
	want := &envelope.Fault{
		Detail: "accessDenied.scope", Code: "kAccessDenied", Status: 403,
		Message: "Missing a required token scope.", Reason: "object.read.c_note",
	}
	targets := map[string]any{
		"a list":    new(envelope.List[note]),
		"a result":  new(envelope.Result[string]),
		"an object": new(note),
		"anything":  new(any),
		"a fault":   new(envelope.Fault),
	}
	for name, v := range targets {
		t.Run("P18 where "+name+" was expected", func(t *testing.T) {
			before, _ := json.Marshal(v)
			err := envelope.Decode(strings.NewReader(body), 1<<10, v)
			got, ok := errors.AsType[*envelope.Fault](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if after, _ := json.Marshal(v); string(after) != string(before) {
				t.Errorf("changed to %s", after)
			}
		})
	}
}

func TestDecodeTakesAFaultWithFieldsOfOtherTypes(t *testing.T) {
	const body = `{"object":"fault","status":"403","message":7,"errCode":"acme.accessDenied.scope","faults":[null,{"path":"x"}]}`
	err := envelope.Decode(strings.NewReader(body), 1<<10, new(envelope.List[note]))
	want := &envelope.Fault{Detail: "accessDenied.scope", Faults: []*envelope.Fault{{Path: "x"}}}
	if diff := cmp.Diff(error(want), err); diff != "" {
		t.Error(diff)
	}
}

// The buffer of a reply is used again for the next one. A decoded value must not
// share its memory.
func TestDecodedKeepsNothingOfTheBody(t *testing.T) {
	decode := func(text string, v any) error {
		return envelope.Decode(strings.NewReader(text), int64(len(text)), v)
	}
	const list = `{"object":"list","data":[{"_id":"1","object":"c_note","c_text":"a"},"b",3],"hasMore":true}`
	const result = `{"object":"result","data":{"a":["b"]}}`
	const fault = `{"object":"fault","errCode":"service.notFound.x","code":"x","path":"a.b","reason":"r","status":404,"message":"m"}`
	for range 100 { // the pool may return any buffer, and the collector may take some away
		var l envelope.List[json.RawMessage]
		var r envelope.Result[json.RawMessage]
		var plain struct{ Data json.RawMessage }
		if err := errors.Join(decode(list, &l), decode(result, &r), decode(`{"data":[1,"two"]}`, &plain)); err != nil {
			t.Fatal(err)
		}
		refused := decode(fault, &l)
		said := refused.Error()
		for _, text := range []string{list, result, fault} {
			var other json.RawMessage
			if err := decode(`"`+strings.Repeat("#", len(text)-2)+`"`, &other); err != nil {
				t.Fatal(err)
			}
		}
		want := [][]byte{[]byte(`{"_id":"1","object":"c_note","c_text":"a"}`), []byte(`"b"`), []byte(`3`), []byte(`{"a":["b"]}`), []byte(`[1,"two"]`)}
		got := [][]byte{l.Data[0], l.Data[1], l.Data[2], r.Data, plain.Data}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if refused.Error() != said {
			t.Fatalf("%s became %s", said, refused)
		}
	}
}
