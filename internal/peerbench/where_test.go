package main

import (
	"encoding/json"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
)

// filter211 is a filter of 211 bytes.
const filter211 = `{"$or":[{"c_likes":{"$gte":5,"$lt":100}},{"c_author":{"$in":["5f1e","5f2e"]}}],` +
	`"c_sent":{"$gt":"2026-01-02T03:04:05.000Z"},"c_pinned":true,"c_text":{"$ne":"hello world"},` +
	`"_id":{"$gt":"64b000000000000000000000"}}`

func TestWhere(t *testing.T) {
	if len(filter211) != 211 {
		t.Errorf("the filter has %d bytes", len(filter211))
	}
	check(t, "Where", filters())
}

func BenchmarkWhere(b *testing.B) { race(b, filters()) }

func filters() []contender {
	of := func(name string, parse func(string) error) contender {
		return contender{name: name, good: func() error { return parse(filter211) }, bad: map[string]func() error{
			"cut":                 func() error { return parse(filter211[:200]) },
			"an unknown operator": func() error { return parse(`{"c_likes":{"$near":5}}`) },
			"a member twice":      func() error { return parse(`{"c_likes":{"$gt":5,"$gt":6}}`) },
			"$in without a list":  func() error { return parse(`{"c_likes":{"$in":5}}`) },
		}}
	}
	return []contender{
		of(ours, func(text string) error {
			_, err := paging.ParseFilter(text)
			return err
		}),
		of("json into any", func(text string) error {
			var v any
			return json.Unmarshal([]byte(text), &v)
		}),
	}
}
