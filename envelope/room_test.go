package envelope_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
)

// plain is a list that encoding/json reads without a prepared slice.
type plain struct {
	Object  string `json:"object"`
	Data    []note `json:"data"`
	HasMore bool   `json:"hasMore"`
}

func TestListsReadAsPlainOnes(t *testing.T) {
	items := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"_id":"%d","object":"c_note","c_text":"%d"}`, i, i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for name, members := range map[string]string{
		"no items":                       `"data":[]`,
		"no items, and an id elsewhere":  `"data":[],"c_x":{"_id":"1"}`,
		"one item":                       `"data":` + items(1),
		"a thousand items":               `"data":` + items(1000),
		"items whose ids are spaced out": `"data":[{"_id" : "1"}, {"_id" : "2"}]`,
		"items without ids":              `"data":[{"c_text":"a"},{"c_text":"b"}]`,
		"items with further ids":         `"data":[{"_id":"1","c_x":{"_id":"2","c_y":[{"_id":"3"}]}}]`,
		"ids in texts":                   `"data":[{"_id":"1","c_text":"\"_id\":\"_id\":"}]`,
		"an item that is null":           `"data":[{"_id":"1","c_text":"a"},null,{"_id":"3"}]`,
		"data twice, the longer first":   `"data":` + items(3) + `,"data":[{"_id":"9"}]`,
		"data twice, the shorter first":  `"data":[{"_id":"9","c_text":"x"}],"data":[{},{},{}]`,
		"data thrice":                    `"data":` + items(3) + `,"data":[{}],"data":[{},{},{},{}]`,
		"data and then none":             `"data":` + items(2) + `,"data":[]`,
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"object":"list",` + members + `,"hasMore":true}`
			var want plain
			var got envelope.List[note]
			if err := errors.Join(json.Unmarshal([]byte(body), &want), json.Unmarshal([]byte(body), &got)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Data, got.Data); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAListWithoutDataIsRefused(t *testing.T) {
	for name, members := range map[string]string{
		"none":                         ``,
		"none, and an id elsewhere":    `,"c_x":{"_id":"1"}`,
		"null":                         `,"data":null`,
		"null, and an id elsewhere":    `,"data":null,"c_x":{"_id":"1"}`,
		"items that are taken back":    `,"data":[{"_id":"1"}],"data":null`,
		"an id that is text elsewhere": `,"c_x":"\"_id\":"`,
	} {
		t.Run(name, func(t *testing.T) {
			var l envelope.List[note]
			body := `{"object":"list"` + members + `,"hasMore":false}` + strings.Repeat(" ", 1000)
			if err := envelope.Decode(strings.NewReader(body), 1<<20, &l); !errors.Is(err, envelope.ErrShape) {
				t.Errorf("got %v, and %+v", err, l)
			}
		})
	}
}

func TestAListHasRoomForItsItemsAlone(t *testing.T) {
	want := envelope.List[note]{}
	for i := range 777 {
		want.Data = append(want.Data, note{envelope.Item{ID: fmt.Sprintf("%024d", i), Object: "c_note"}, "some text or other"})
	}
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got envelope.List[note]
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if cap(got.Data) != len(got.Data) {
		t.Errorf("room for %d items, and %d are there", cap(got.Data), len(got.Data))
	}
}

// Many ids in a reply must not make its reader reserve more memory than the reply
// has.
func TestRoomIsBoundedByTheBody(t *testing.T) {
	type wide struct{ _ [1024]byte }
	body := `{"object":"list","data":[{}],"c_x":[` + strings.Repeat(`{"_id":0},`, 5000) + `0],"hasMore":false}`
	var l envelope.List[wide]
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatal(err)
	}
	if size := cap(l.Data) * int(unsafe.Sizeof(wide{})); size > len(body) {
		t.Errorf("%d bytes for a body of %d", size, len(body))
	}
	var none envelope.List[struct{}]
	if err := json.Unmarshal([]byte(body), &none); err != nil || len(none.Data) != 1 {
		t.Errorf("items without a size: %d, %v", len(none.Data), err)
	}
}
