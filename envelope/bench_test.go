package envelope_test

import (
	"encoding/json"
	"testing"

	"github.com/tenantkit/tenantkit/envelope"
)

func BenchmarkSelect(b *testing.B) {
	item := json.RawMessage(`{"_id":"000000000000000000000001","object":"c_message","c_text":"The quick brown fox",` +
		`"c_author":"000000000000000000000002","c_likes":12,"c_sent":"2026-01-02T03:04:05.000Z","c_meta":{"lang":"en"}}`)
	keep := func(path string) bool { return path == "c_text" }
	for b.Loop() {
		if _, err := envelope.Select(item, keep); err != nil {
			b.Fatal(err)
		}
	}
}
