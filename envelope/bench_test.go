package envelope_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tenantkit/tenantkit/envelope"
)

type message struct {
	envelope.Item
	Text   string   `json:"c_text"`
	Author string   `json:"c_author"`
	Likes  int      `json:"c_likes"`
	Sent   string   `json:"c_sent"`
	Tags   []string `json:"c_tags"`
}

func page(n int) []byte {
	l := envelope.List[message]{HasMore: true}
	for i := range n {
		l.Data = append(l.Data, message{
			Item:   envelope.Item{ID: fmt.Sprintf("%024x", i), Object: "c_message"},
			Text:   "The quick brown fox jumps over the lazy dog.",
			Author: fmt.Sprintf("%024x", i*7),
			Likes:  i, Sent: "2026-01-02T03:04:05.000Z", Tags: []string{"a", "b"},
		})
	}
	body, err := json.Marshal(l)
	if err != nil {
		panic(err)
	}
	return body
}

// BenchmarkDecodePage measures decoding a page of 1000 items. Its floor is one
// json.Unmarshal of a body in memory.
func BenchmarkDecodePage(b *testing.B) {
	body := page(1000)
	b.Run("floor", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var plain struct {
				Object  string    `json:"object"`
				Data    []message `json:"data"`
				HasMore bool      `json:"hasMore"`
			}
			if err := json.Unmarshal(body, &plain); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Decode", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			var l envelope.List[message]
			if err := envelope.Decode(bytes.NewReader(body), 1<<24, &l); err != nil {
				b.Fatal(err)
			}
		}
	})
}

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
