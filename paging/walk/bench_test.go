package walk_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

func list(n int) (l envelope.List[envelope.Item]) {
	for i := range n {
		l.Data = append(l.Data, envelope.Item{ID: fmt.Sprintf("%024x", i+1), Object: "c_message"})
	}
	return l
}

// BenchmarkIterator is what giving out items costs, without asking for them.
func BenchmarkIterator(b *testing.B) {
	const n = 1000
	page := list(n)
	pages := func(yield func(envelope.List[envelope.Item], error) bool) { yield(page, nil) }
	for b.Loop() {
		for _, err := range walk.Items(pages) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
}

// BenchmarkPage is a page of 1000 items beside its floor, one json.Unmarshal.
func BenchmarkPage(b *testing.B) {
	body, err := json.Marshal(list(1000))
	if err != nil {
		b.Fatal(err)
	}
	answer := func(*http.Request) (*http.Response, error) { return raw(200, string(body)), nil }
	walked := walk.List[envelope.Item]{Client: &http.Client{Transport: always(answer)}, URL: listURL}
	byKeys := walked
	byKeys.Query.Sort = []paging.Key{{Path: "object"}}

	b.Run("floor", func(b *testing.B) {
		for b.Loop() {
			var plain struct {
				Object  string          `json:"object"`
				Data    []envelope.Item `json:"data"`
				HasMore bool            `json:"hasMore"`
			}
			if err := json.Unmarshal(body, &plain); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, l := range map[string]walk.List[envelope.Item]{"by _id": walked, "by keys": byKeys} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, err := range l.All(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

type always func(*http.Request) (*http.Response, error)

func (a always) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }
