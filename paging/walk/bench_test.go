package walk_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// note is an item of the usual size in a list of notes or messages.
type note struct {
	envelope.Item
	Text   string   `json:"c_text"`
	Author string   `json:"c_author"`
	Likes  int      `json:"c_likes"`
	Sent   string   `json:"c_sent"`
	Tags   []string `json:"c_tags"`
}

func notes(n int) (l envelope.List[note]) {
	for i := range n {
		l.Data = append(l.Data, note{
			Item:   envelope.Item{ID: fmt.Sprintf("%024x", i+1), Object: "c_note"},
			Text:   "The quick brown fox jumps over the lazy dog.",
			Author: fmt.Sprintf("%024x", i*7),
			Likes:  i, Sent: "2026-01-02T03:04:05.000Z", Tags: []string{"a", "b"},
		})
	}
	return l
}

// BenchmarkIterator measures returning items without requesting them. Larger items
// cost more, because they are copied.
func BenchmarkIterator(b *testing.B) {
	const n = 1000
	page := envelope.List[envelope.Item]{Data: make([]envelope.Item, n)}
	pages := func(yield func(envelope.List[envelope.Item], error) bool) { yield(page, nil) }
	least := fastest(b, func() {
		for _, err := range walk.Items(pages) {
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.ReportMetric(float64(least[0].Nanoseconds())/n, "min-ns/item")
}

// BenchmarkPage measures a page of 1000 items. Its floor is one json.Unmarshal of a
// body in memory.
func BenchmarkPage(b *testing.B) {
	body, err := json.Marshal(notes(1000))
	if err != nil {
		b.Fatal(err)
	}
	floor := func() {
		var plain struct {
			Object  string `json:"object"`
			Data    []note `json:"data"`
			HasMore bool   `json:"hasMore"`
		}
		if err := json.Unmarshal(body, &plain); err != nil {
			b.Fatal(err)
		}
	}
	answer := func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, nil
	}
	byID := walk.List[note]{Client: always(answer).client(), URL: listURL}
	byKeys := byID
	byKeys.Query.Sort = []paging.Key{{Path: "c_likes"}}
	whole := func(l walk.List[note]) func() {
		return func() {
			for _, err := range l.All(b.Context()) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	least := fastest(b, floor, whole(byID), whole(byKeys))
	b.ReportMetric(float64(least[0].Microseconds()), "floor-µs")
	b.ReportMetric(float64(least[1])/float64(least[0]), "by-_id/floor")
	b.ReportMetric(float64(least[2])/float64(least[0]), "by-keys/floor")
}

// fastest runs the functions in turn, so that all of them meet the same load of other
// processes. It returns the least time of each, which is its time without that load.
func fastest(b *testing.B, run ...func()) []time.Duration {
	least := make([]time.Duration, len(run))
	for i := range least {
		least[i] = math.MaxInt64
	}
	for b.Loop() {
		for i, f := range run {
			start := time.Now()
			f()
			least[i] = min(least[i], time.Since(start))
		}
	}
	return least
}
