package paging_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestParseSort(t *testing.T) {
	id := paging.Key{Path: "_id"}
	tests := map[string][]paging.Key{
		`{"c_sent":-1,"c_author":1}`: {{Path: "c_sent", Desc: true}, {Path: "c_author"}, id},
		`{"c_author":1,"c_sent":-1}`: {{Path: "c_author"}, {Path: "c_sent", Desc: true}, id},
		`{"_id":-1}`:                 {{Path: "_id", Desc: true}},
		`{"c_sent":1,"_id":-1}`:      {{Path: "c_sent"}, {Path: "_id", Desc: true}},
		`{"object":1}`:               {{Path: "object"}, id},
		` { "c_likes" : 1 } `:        {{Path: "c_likes"}, id},
		`{}`:                         {id},
		`c_meta.lang`:                {{Path: "c_meta.lang"}, id},
		`_id`:                        {id},
	}
	for text, want := range tests {
		if diff := cmp.Diff(want, accepted(t, sorted(text)).Sort); diff != "" {
			t.Errorf("P09 %s:\n%s", text, diff)
		}
	}

	const hint = `: a sort is one property, or an object like {"name":-1}`
	wrong := map[string]string{
		`{"c_sent":0}`:              "sort /c_sent must be 1 or -1",
		`{"c_sent":"1"}`:            "sort /c_sent must be 1 or -1",
		`{"c_sent":{}}`:             "sort /c_sent must be 1 or -1",
		`{"c_sent":1.0}`:            "sort /c_sent must be 1 or -1",
		`{"c_sent":true}`:           "sort /c_sent must be 1 or -1",
		`{"c_sent":null}`:           "sort /c_sent must be 1 or -1",
		`{"c_sent":1,"c_sent":1}`:   "sort  a name occurs twice at byte 20",
		`{"c_text":1}`:              "sort /c_text cannot be sorted by",
		`{"c_blob":1}`:              "sort /c_blob cannot be sorted by",
		`{"connections":1}`:         "sort /connections cannot be sorted by",
		`c_text`:                    "sort  cannot be sorted by",
		`-c_sent`:                   "sort  unknown property" + hint,
		`-c_secret`:                 "sort  unknown property" + hint,
		`c_sent,c_likes`:            "sort  unknown property" + hint,
		`c_sent desc`:               "sort  unknown property" + hint,
		``:                          "sort  unknown property",
		`["c_sent"]`:                "sort  unknown property" + hint,
		`"c_sent"`:                  "sort  unknown property" + hint,
		`null`:                      "sort  unknown property",
		`{"c_sent":1`:               "sort  a comma is missing at byte 11",
		`{"c_sent":1}{"c_likes":1}`: "sort  something follows the value at byte 12",
		`{"_id":1,"object":1,"c_author":1,"c_likes":1,"c_sent":1,"c_meta.lang":1,"name.first":1,"name.last":1,"x":1}`: "sort /x unknown property",
	}
	for text, want := range wrong {
		if diff := cmp.Diff([]string{want}, refused(t, sorted(text))); diff != "" {
			t.Errorf("P09 %s:\n%s", text, diff)
		}
	}

	nine := paging.Schema{}
	var keys []string
	for i := range 9 {
		path := fmt.Sprintf("k%d", i)
		nine.Properties = append(nine.Properties, paging.Property{Path: path, Type: paging.Number, Sort: true})
		keys = append(keys, fmt.Sprintf("%q:1", path))
	}
	all := func(string) bool { return true }
	if _, err := nine.Parse(sorted("{"+strings.Join(keys[:8], ",")+"}"), all); err != nil {
		t.Errorf("P09 8 keys: %v", err)
	}
	if _, err := nine.Parse(sorted("{"+strings.Join(keys, ",")+"}"), all); err == nil {
		t.Error("P09 9 keys accepted")
	}
}

// TestTheLastDeclarationCounts is for a program that appends to the properties of another list what
// it does not allow.
func TestTheLastDeclarationCounts(t *testing.T) {
	s := paging.Schema{Properties: []paging.Property{
		{Path: "c_text", Type: paging.String, Filter: true, Sort: true},
		{Path: "c_text", Type: paging.String},
	}}
	for _, query := range []string{"sort=c_text", `where={"c_text":"a"}`} {
		if _, err := s.Parse(query, func(string) bool { return true }); err == nil {
			t.Errorf("P09 %s is accepted", query)
		}
	}
}
