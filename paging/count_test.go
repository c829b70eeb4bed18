package paging_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

var counted = paging.Schema{Count: true, Properties: []paging.Property{
	{Path: "c_likes", Type: paging.Integer, Filter: true},
	{Path: "replies", List: &paging.Schema{Count: true}},
}}

func TestParseCount(t *testing.T) {
	for query, tc := range map[string]struct {
		schema paging.Schema
		want   int
	}{
		"":                      {counted, 0},
		"count=false":           {counted, 0},
		"count=true":            {counted, 10_000},
		"count=true&limit=1":    {counted, 10_000},
		"count=false&limit=2":   {paging.Schema{}, 0},
		"count=true&replies=on": {counted, 10_000},
	} {
		q, err := tc.schema.Parse(query, readable)
		if err != nil || q.CountTo != tc.want {
			t.Errorf("%s: %d, %v", query, q.CountTo, err)
		}
		again, err := tc.schema.Parse(q.Encode(), readable)
		if err != nil || again.CountTo != tc.want {
			t.Errorf("%s became %s: %d, %v", query, q.Encode(), again.CountTo, err)
		}
	}
}

func TestParseRefusesCounts(t *testing.T) {
	readable := func(path string) bool { return path == "replies" }
	for query, tc := range map[string]struct {
		schema paging.Schema
		want   string
	}{
		"P27 count=true":                           {paging.Schema{}, "paging: count cannot be counted"},
		"P27 count=1":                              {counted, "paging: count must be true or false"},
		"P27 count=":                               {counted, "paging: count must be true or false"},
		"P27 count=TRUE":                           {counted, "paging: count must be true or false"},
		"P27 count=true&count=true":                {counted, "paging: count given more than once"},
		"P27 Count=true":                           {counted, "paging: Count unknown argument; did you mean count?"},
		"P27 replies.count=true":                   {counted, "paging: replies.count cannot be counted"},
		"P27 nosuch.count=true":                    {counted, "paging: nosuch.count unknown property"},
		`P27 count=true&where={"c_likes":5}`:       {counted, "paging: where /c_likes: unknown property"},
		`P27 count=true&where={"nosuch":5}`:        {counted, "paging: where /nosuch: unknown property"},
		`P27 count=true&where={"_id":{"$gt":null}`: {counted, "paging: where a comma is missing at byte 19"},
	} {
		t.Run(query, func(t *testing.T) {
			q, err := tc.schema.Parse(query[4:], readable)
			if err == nil || err.Error() != tc.want || q.CountTo != 0 {
				t.Errorf("%+v, %v", q, err)
			}
		})
	}
	if _, err := counted.ParseObject("count=true", readable); err == nil {
		t.Error("one object is counted")
	}
}

func TestTotals(t *testing.T) {
	for matching, want := range map[int]envelope.Total{0: {}, 4: {Items: 4}, 5: {Items: 5}, 6: {Items: 5, AtLeast: true}, 900: {Items: 5, AtLeast: true}} {
		if diff := cmp.Diff(&want, paging.Query{CountTo: 5}.Total(matching)); diff != "" {
			t.Error(diff)
		}
	}
	if total := (paging.Query{}).Total(7); total != nil {
		t.Errorf("%v, which nobody asked for", total)
	}
}

func TestASlowCountIsNoReasonToRepeat(t *testing.T) {
	fault := paging.ErrSlowCount.(*paging.Error).Fault()
	if fault.Status != 400 || fault.Detail != "invalidArgument.query" || fault.Faults[0].Path != "count" {
		t.Errorf("%+v", fault)
	}
	fault.Faults[0].Path = "total" // as the client calls it
	if again := paging.ErrSlowCount.(*paging.Error).Fault(); again.Faults[0].Path != "count" {
		t.Errorf("one answer changed the next: %+v", again.Faults[0])
	}
}
