package envelope_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

func TestEncode(t *testing.T) {
	tests := map[string]struct {
		v    any
		body string
	}{
		"P20 an empty list":              {envelope.List[note]{}, `{"object":"list","data":[],"hasMore":false}`},
		"items that were encoded":        {envelope.List[envelope.Verbatim]{Data: []envelope.Verbatim{[]byte(`{"data":[1]}`), nil}, HasMore: true}, `{"object":"list","data":[{"data":[1]},null],"hasMore":true}`},
		"no items that were encoded":     {envelope.List[envelope.Verbatim]{}, `{"object":"list","data":[],"hasMore":false}`},
		"encoded items behind a pointer": {&envelope.List[envelope.Verbatim]{Data: []envelope.Verbatim{[]byte("1"), nil}}, `{"object":"list","data":[1,null],"hasMore":false}`},
		"a pointer":                      {&envelope.Result[int]{Data: 1}, `{"object":"result","data":1}`},
		"an object":                      {note{Text: "<a>"}, `{"_id":"","object":"","c_text":"\u003ca\u003e"}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := envelope.Encode(tc.v)
			if diff := cmp.Diff(tc.body, string(got)); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
	if got, err := envelope.Encode(envelope.List[any]{Data: []any{"first", func() {}}}); err == nil {
		t.Errorf("%s", got)
	}
}
