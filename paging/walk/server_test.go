package walk_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

// record is an item of the server. A nil field is not sent.
type record struct {
	envelope.Item
	Group *string `json:"group,omitempty"`
	Rank  *int    `json:"rank,omitempty"`
	Inner struct {
		Done *bool `json:"done,omitempty"`
	} `json:"inner"`
}

func get(r record, path string) (any, bool) {
	switch path {
	case "_id":
		return r.ID, true
	case "group":
		return known(r.Group)
	case "rank":
		return known(r.Rank)
	case "inner.done":
		return known(r.Inner.Done)
	}
	return nil, false
}

func known[T any](v *T) (any, bool) {
	if v == nil {
		return nil, false
	}
	return *v, true
}

var schema = &paging.Schema{
	Object: "record",
	Count:  true,
	Properties: []paging.Property{
		{Path: "group", Type: paging.String, Filter: true, Sort: true, Null: true},
		{Path: "rank", Type: paging.Integer, Filter: true, Sort: true, Null: true},
		{Path: "inner.done", Type: paging.Boolean, Filter: true, Sort: true, Null: true},
	},
}

// parent has the same records as a list property.
var parent = &paging.Schema{Properties: []paging.Property{{Path: "in.records", List: schema}}}

// server is a RoundTripper that answers from its records. At /records it has the
// list, and at /parent an object with the list as a property.
type server struct {
	mu      sync.Mutex
	records []record
	queries []string
	before  func(*server) // called before each answer
}

func (s *server) client() *http.Client { return &http.Client{Transport: s} }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	s.queries = append(s.queries, r.URL.RawQuery)
	if s.before != nil {
		s.before(s)
	}
	nested := strings.HasSuffix(r.URL.Path, "/parent")
	q, err := s.parse(r.URL.RawQuery, nested)
	if err != nil {
		return reply(http.StatusBadRequest, err.(*paging.Error).Fault()), nil
	}
	list := s.page(q)
	if nested {
		return reply(http.StatusOK, map[string]any{"_id": "p", "object": "parent", "in": map[string]any{"records": list}}), nil
	}
	return reply(http.StatusOK, list), nil
}

func (s *server) parse(raw string, nested bool) (paging.Query, error) {
	everything := func(string) bool { return true }
	if !nested {
		return schema.Parse(raw, everything)
	}
	q, err := parent.Parse(raw, everything)
	return q.Lists["in.records"], err
}

func (s *server) page(q paging.Query) (list envelope.List[json.RawMessage]) {
	page, more := mempage.Page(s.records, q, get)
	for _, r := range page {
		item, err := envelope.Select(r, q.Wants)
		if err != nil {
			panic(err)
		}
		list.Data = append(list.Data, item)
	}
	list.HasMore, list.Total = more, mempage.Count(s.records, q, get)
	return list
}

// sorted returns the ids of all records in the order of a sort.
func (s *server) sorted(sort []paging.Key) []string {
	all, _ := mempage.Page(s.records, paging.Query{Sort: sort, Limit: len(s.records) + 1}, get)
	return idsOf(all)
}

func idsOf(records []record) (ids []string) {
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	return ids
}

func (s *server) remove(id string) {
	s.records = slices.DeleteFunc(s.records, func(r record) bool { return r.ID == id })
}

func (s *server) add(r record) {
	r.Object = "record"
	at, _ := slices.BinarySearchFunc(s.records, r, func(a, b record) int { return cmp.Compare(a.ID, b.ID) })
	s.records = slices.Insert(s.records, at, r)
}

func reply(status int, v any) *http.Response {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw(status, string(body))
}

func raw(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status,
		Header:     http.Header{},
		Body:       io.NopCloser(bytes.NewReader([]byte(body))),
	}
}

// script answers with one reply after the other, and repeats the last one.
type script struct {
	replies  []always
	requests []*http.Request
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := s.replies[min(len(s.requests), len(s.replies)-1)]
	s.requests = append(s.requests, r)
	return answer(r)
}

func (s *script) client() *http.Client { return &http.Client{Transport: s} }

// bodies answers 200 with each body in turn.
func bodies(bodies ...string) *script {
	s := new(script)
	for _, body := range bodies {
		s.replies = append(s.replies, func(*http.Request) (*http.Response, error) { return raw(200, body), nil })
	}
	return s
}

// always is a transport that gives each request the same answer.
type always func(*http.Request) (*http.Response, error)

func (a always) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }
func (a always) client() *http.Client                              { return &http.Client{Transport: a} }

func numbered(n int) *server {
	s := new(server)
	for i := range n {
		s.add(record{Item: envelope.Item{ID: fmt.Sprintf("%03d", i)}})
	}
	return s
}

// random returns records with many ties and missing properties.
func random(seed uint64, n int) *server {
	r := rand.New(rand.NewPCG(seed, 13))
	s := new(server)
	for i := range n {
		s.add(randomRecord(r, fmt.Sprintf("%03d", i*7%n)))
	}
	return s
}

func randomRecord(r *rand.Rand, id string) record {
	one := record{Item: envelope.Item{ID: id}}
	if r.IntN(4) > 0 {
		group := []string{"", "A", "a", "é", "\"<&>\\"}[r.IntN(5)]
		one.Group = &group
	}
	if r.IntN(4) > 0 {
		rank := r.IntN(4) - 1
		one.Rank = &rank
	}
	if r.IntN(4) > 0 {
		done := r.IntN(2) == 0
		one.Inner.Done = &done
	}
	return one
}

func (s *server) rank(id string) int {
	for _, r := range s.records {
		if r.ID == id && r.Rank != nil {
			return *r.Rank
		}
	}
	return -9
}
