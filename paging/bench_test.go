package paging_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/tenantkit/tenantkit/paging"
)

// filter211 is a filter of 211 bytes.
const filter211 = `{"$or":[{"c_likes":{"$gte":5,"$lt":100}},{"c_author":{"$in":["5f1e","5f2e"]}}],` +
	`"c_sent":{"$gt":"2026-01-02T03:04:05.000Z"},"c_pinned":true,"c_text":{"$ne":"hello world"},` +
	`"_id":{"$gt":"64b000000000000000000000"}}`

func BenchmarkWhere(b *testing.B) {
	if len(filter211) != 211 {
		b.Fatal(len(filter211))
	}
	b.Run("json.Unmarshal into any", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal([]byte(filter211), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ParseFilter", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := paging.ParseFilter(filter211); err != nil {
				b.Fatal(err)
			}
		}
	})
	raw := "limit=50&" + url.Values{"where": {filter211}}.Encode()
	b.Run("Schema.Parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := messages.Parse(raw, readable); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkWants(b *testing.B) {
	q := paging.Query{Paths: []string{"c_text", "c_likes", "c_meta.lang", "c_set[]"}}
	b.ReportAllocs()
	for b.Loop() {
		_ = q.Wants("c_set[]#c_foo.c_text")
	}
}
