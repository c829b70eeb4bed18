package paging_test

import (
	"encoding/json"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
)

func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	q := paging.Query{Paths: []string{"c_text", "c_meta.lang", "c_set[]"}}
	tests := map[string]struct {
		most float64
		run  func()
	}{
		"Wants":       {0, func() { q.Wants("c_set[]#c_foo.c_text") }},
		"Visible":     {0, func() { messages.Visible("c_meta.lang") }},
		"Compare":     {1, func() { paging.Compare(0, json.Number("1.5e-324")) }}, // a caller chooses what each item is compared with
		"ParseFilter": {16, func() { _, _ = paging.ParseFilter(filter211) }},
	}
	for name, tc := range tests {
		if got := testing.AllocsPerRun(100, tc.run); got > tc.most {
			t.Errorf("%s allocates %v times, not at most %v", name, got, tc.most)
		}
	}
}

// filter211 is a filter of 211 bytes.
const filter211 = `{"$or":[{"c_likes":{"$gte":5,"$lt":100}},{"c_author":{"$in":["5f1e","5f2e"]}}],` +
	`"c_sent":{"$gt":"2026-01-02T03:04:05.000Z"},"c_pinned":true,"c_text":{"$ne":"hello world"},` +
	`"_id":{"$gt":"64b000000000000000000000"}}`
