package envelope_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

func TestWrite(t *testing.T) {
	tests := map[string]struct {
		v      any
		status int
		body   string
	}{
		"P20 an empty list":              {envelope.List[note]{}, 200, `{"object":"list","data":[],"hasMore":false}`},
		"items that were encoded":        {envelope.List[envelope.Verbatim]{Data: []envelope.Verbatim{[]byte(`{"data":[1]}`), nil}, HasMore: true}, 200, `{"object":"list","data":[{"data":[1]},null],"hasMore":true}`},
		"no items that were encoded":     {envelope.List[envelope.Verbatim]{}, 200, `{"object":"list","data":[],"hasMore":false}`},
		"encoded items behind a pointer": {&envelope.List[envelope.Verbatim]{Data: []envelope.Verbatim{[]byte("1"), nil}}, 200, `{"object":"list","data":[1,null],"hasMore":false}`},
		"a pointer":                      {&envelope.Result[int]{Data: 1}, 200, `{"object":"result","data":1}`},
		"an object":                      {note{Text: "<a>"}, 200, `{"_id":"","object":"","c_text":"\u003ca\u003e"}`},
		"what does not encode": {
			envelope.List[any]{Data: []any{"first", func() {}}}, 500,
			`{"object":"fault","name":"error","code":"kError","errCode":"service.error.unspecified",` +
				`"status":500,"message":"Internal error.","faults":[]}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			envelope.Write(w, tc.v)
			if w.Code != tc.status {
				t.Errorf("status %d", w.Code)
			}
			if diff := cmp.Diff(tc.body, w.Body.String()); diff != "" {
				t.Error(diff)
			}
			want := http.Header{
				"Content-Type":           {"application/json; charset=utf-8"},
				"Cache-Control":          {"no-store"},
				"X-Content-Type-Options": {"nosniff"},
			}
			if diff := cmp.Diff(want, w.Header()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
