package envelope_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

type note struct {
	envelope.Item
	Text string `json:"c_text"`
}

func TestListOnTheWire(t *testing.T) {
	tests := map[string]struct {
		list any
		want string
	}{
		"P20 nil data": {
			envelope.List[note]{},
			`{"object":"list","data":[],"hasMore":false}`,
		},
		"items with their identity first": {
			envelope.List[note]{Data: []note{{envelope.Item{ID: "1", Object: "c_note"}, "a"}}, HasMore: true},
			`{"object":"list","data":[{"_id":"1","object":"c_note","c_text":"a"}],"hasMore":true}`,
		},
		"as a property": {
			struct {
				Notes envelope.List[int] `json:"c_notes"`
			}{},
			`{"c_notes":{"object":"list","data":[],"hasMore":false}}`,
		},
		"a total": {
			envelope.List[int]{Total: &envelope.Total{}},
			`{"object":"list","data":[],"hasMore":false,"total":0}`,
		},
		"a total that is one of many": {
			envelope.List[int]{HasMore: true, Total: &envelope.Total{Items: 10_000, AtLeast: true}},
			`{"object":"list","data":[],"hasMore":true,"totalIsAtLeast":10000}`,
		},
		"a result": {
			envelope.Result[bool]{Data: true},
			`{"object":"result","data":true}`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(tc.list)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestResultComesBack(t *testing.T) {
	want := envelope.Result[[]string]{Data: []string{"a", "b"}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got envelope.Result[[]string]
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestItemsAreIdentified(t *testing.T) {
	// A walk finds the identifier by this method, embedded or not.
	var walked interface{ ItemID() string } = note{Item: envelope.Item{ID: "5f1"}}
	if got := walked.ItemID(); got != "5f1" {
		t.Errorf("got %q", got)
	}
}

func TestTotalsAreRead(t *testing.T) {
	for text, want := range map[string]*envelope.Total{
		``:                              nil,
		`,"total":0`:                    {},
		`,"total":7`:                    {Items: 7},
		`,"totalIsAtLeast":10000`:       {Items: 10_000, AtLeast: true},
		`,"total":7,"totalIsAtLeast":5`: {Items: 7},
		`,"total":"7"`:                  nil,
		`,"total":null`:                 nil,
		`,"total":-1`:                   nil,
		`,"total":7.5`:                  nil,
		`,"total":{"value":7}`:          nil,
		`,"total":99999999999999999999`: nil,
	} {
		var l envelope.List[int]
		if err := json.Unmarshal([]byte(`{"object":"list","data":[1]`+text+`}`), &l); err != nil {
			t.Fatal(text, err)
		}
		if diff := cmp.Diff(want, l.Total); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

func TestHasMore(t *testing.T) {
	tests := map[string]bool{
		`"hasMore":true`:    true,
		`"hasMore":"true"`:  true,
		`"hasMore":false`:   false,
		`"hasMore":"false"`: false,
		`"hasMore":"TRUE"`:  false,
		`"hasMore":" true"`: false,
		`"hasMore":1`:       false,
		`"hasMore":null`:    false,
		`"hasMore":[true]`:  false,
		`"hasMore":{}`:      false,
		`"x":1`:             false,
	}
	for member, want := range tests {
		t.Run("P16 "+member, func(t *testing.T) {
			got := envelope.List[int]{HasMore: !want}
			if err := json.Unmarshal([]byte(`{"object":"list","data":[1],`+member+`}`), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(envelope.List[int]{Data: []int{1}, HasMore: want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUnmarshalRefusesAnotherObject(t *testing.T) {
	tests := map[string]any{
		`{"data":[1],"hasMore":true}`:                       new(envelope.List[int]),
		`{"object":"List","data":[1],"hasMore":true}`:       new(envelope.List[int]),
		`{"object":"c_note","data":[1],"hasMore":true}`:     new(envelope.List[int]),
		`{"object":null,"data":[1]}`:                        new(envelope.List[int]),
		`null`:                                              new(envelope.Result[int]),
		`{"object":"list","data":1}`:                        new(envelope.Result[int]),
		`{"object":"c_note","errCode":"service.a.b"}`:       new(envelope.Fault),
		`{"errCode":"service.accessDenied.scope","code":1}`: new(envelope.Fault),
	}
	for body, v := range tests {
		t.Run(body, func(t *testing.T) {
			before, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.(json.Unmarshaler).UnmarshalJSON([]byte(body)); err == nil {
				t.Fatal("accepted")
			} else if typed := new(json.UnmarshalTypeError); !errors.Is(err, envelope.ErrShape) && !errors.As(err, &typed) {
				t.Errorf("got %v", err)
			}
			if after, _ := json.Marshal(v); string(after) != string(before) {
				t.Errorf("changed to %s", after)
			}
		})
	}
}
