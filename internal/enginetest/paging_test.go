package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// rounds returns how often to repeat a test. With the race detector, by which
// SQLite becomes slow and which finds nothing in a loop, that is less often.
func rounds(n int) int {
	if raceEnabled {
		return max(n/10, 2)
	}
	return n
}

// TestSamePage compares pages of random items by random queries.
func TestSamePage(t *testing.T) {
	for _, e := range engines(t, "same_page") {
		t.Run(e.name, func(t *testing.T) {
			for seed := range rounds(30) {
				r := newRandom(seed)
				items := r.items(r.IntN(60))
				e.fill(t, items)
				for range 50 {
					q := paging.Query{Where: r.filter(3), Sort: r.sort(paths), Limit: 1 + r.IntN(60)}
					if r.IntN(3) == 0 {
						q.Skip = r.IntN(10)
					}
					if r.IntN(2) == 0 {
						q = q.And(r.behind(q.Sort))
					}
					compare(t, e, items, q)
				}
			}
		})
	}
}

// TestSameKeyset is TestSamePage of keysets alone, with which filters hardly
// ever leave anything.
func TestSameKeyset(t *testing.T) {
	for _, e := range engines(t, "same_keyset") {
		t.Run(e.name, func(t *testing.T) {
			for seed := range rounds(10) {
				r := newRandom(seed)
				items := r.items(60)
				e.fill(t, items)
				for range 100 {
					q := paging.Query{Sort: r.sort(paths), Limit: 1 + r.IntN(60)}
					compare(t, e, items, q.And(r.behind(q.Sort)))
				}
			}
		})
	}
}

func compare(t *testing.T, e *engine, items []item, q paging.Query) {
	t.Helper()
	want, wantMore := inMemory(items, q)
	got, more := e.page(t, q)
	if diff := cmp.Diff(want, got); diff != "" || more != wantMore {
		t.Fatalf("where %s sort %v skip %d limit %d: more %t\n%s", q.Where, q.Sort, q.Skip, q.Limit, more, diff)
	}
}

// list answers the list calls of package walk from an engine.
type list struct {
	t      *testing.T
	page   func(paging.Query) (ids []string, more bool)
	items  map[string]item
	before func() // each page
}

func (l *list) RoundTrip(r *http.Request) (*http.Response, error) {
	if l.before != nil {
		l.before()
	}
	q, err := schema.Parse(r.URL.RawQuery, func(string) bool { return true })
	if err != nil {
		l.t.Fatal(err)
	}
	ids, more := l.page(q)
	page := envelope.List[json.RawMessage]{HasMore: more}
	for _, id := range ids {
		page.Data = append(page.Data, l.items[id].json())
	}
	body, err := json.Marshal(page)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}}, err
}

func (l *list) walk(sort []paging.Key, size int) (ids []string) {
	l.t.Helper()
	items := walk.List[envelope.Item]{Client: &http.Client{Transport: l}, URL: "http://localhost/items",
		Query: paging.Query{Sort: sort}, PageSize: size}
	for i, err := range items.All(l.t.Context()) {
		if err != nil {
			l.t.Fatalf("sort %v, pages of %d: %v", sort, size, err)
		}
		ids = append(ids, i.ID)
	}
	return ids
}

func byID(items []item) map[string]item {
	index := map[string]item{}
	for _, i := range items {
		index[i.id()] = i
	}
	return index
}

// sortable are the paths by which a client can walk.
func sortable() (paths []string) {
	for _, p := range schema.Properties {
		paths = append(paths, p.Path)
	}
	return paths
}

// TestWalk is P13: the pages of a client one after the other are all items in
// order.
func TestWalk(t *testing.T) {
	for _, e := range engines(t, "walked") {
		t.Run("P13 "+e.name, func(t *testing.T) {
			for seed := range rounds(12) {
				r := newRandom(seed)
				items := r.items(40)
				e.fill(t, items)
				l := &list{t: t, items: byID(items), page: func(q paging.Query) ([]string, bool) { return e.page(t, q) }}
				for range 3 {
					sort := r.sort(sortable())
					want, _ := inMemory(items, paging.Query{Sort: sort, Limit: len(items)})
					for _, size := range []int{1, 3, 7} {
						if diff := cmp.Diff(want, l.walk(sort, size)); diff != "" {
							t.Fatalf("sort %v, pages of %d:\n%s", sort, size, diff)
						}
					}
				}
			}
		})
	}
}

// TestWalkDuringChanges is P12: what is there from the beginning to the end of
// a walk is given out once, and nothing else twice.
func TestWalkDuringChanges(t *testing.T) {
	byKey := [][]paging.Key{{{Path: "_id"}}, {{Path: "_id", Desc: true}}, {{Path: "count", Desc: true}, {Path: "text"}, {Path: "_id"}}}
	for _, e := range engines(t, "changing") {
		t.Run("P12 "+e.name, func(t *testing.T) {
			for seed := range rounds(150) {
				changes(t, e, newRandom(seed), byKey[seed%len(byKey)])
			}
		})
	}
}

func changes(t *testing.T, e *engine, r random, sort []paging.Key) {
	t.Helper()
	items := r.items(20)
	e.fill(t, items)
	surviving := byID(items)
	l := &list{t: t, items: byID(items), page: func(q paging.Query) ([]string, bool) { return e.page(t, q) }}
	n := 0
	l.before = func() {
		n++
		added := r.item(fmt.Sprintf("%c%02d new %d", one(r, []rune("aBcD")), r.IntN(20), n))
		l.items[added.id()] = added
		e.insert(t, added)
		if gone := one(r, items); r.IntN(2) == 0 {
			delete(surviving, gone.id())
			e.remove(t, gone)
		}
	}
	got := l.walk(sort, one(r, []int{1, 3, 7}))
	slices.Sort(got)
	if once := slices.Compact(slices.Clone(got)); len(once) != len(got) {
		t.Fatalf("sort %v: an item came twice: %q", sort, got)
	}
	for id := range surviving {
		if !slices.Contains(got, id) {
			t.Fatalf("sort %v: %s was not given out: %q", sort, id, got)
		}
	}
}

// TestTextForNumber has a row with a text where others have numbers.
func TestTextForNumber(t *testing.T) {
	items := []item{
		{"_id": "1", "name": "", "count": json.Number("1"), "c_number": json.Number("1")},
		{"_id": "2", "name": "", "count": json.Number("2"), "c_number": "text"},
		{"_id": "3", "name": "", "count": json.Number("3"), "c_number": json.Number("3")},
	}
	for _, e := range engines(t, "text_for_number") {
		t.Run(e.name, func(t *testing.T) {
			e.fill(t, items)
			for _, operator := range []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"} {
				q := paging.Query{Where: parsed("c_number", operator, json.Number("2")), Sort: []paging.Key{{Path: "c_number"}}, Limit: 9}
				compare(t, e, items, q)
			}
		})
	}
	t.Run("a column of SQLite", func(t *testing.T) {
		e := engines(t, "text_for_integer")[0]
		e.fill(t, items)
		e.exec(t, "UPDATE text_for_integer SET count = 'text' WHERE id = '2'")
		items[1]["count"] = "text"
		for _, operator := range []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"} {
			q := paging.Query{Where: parsed("count", operator, json.Number("2")), Sort: []paging.Key{{Path: "count"}}, Limit: 9}
			compare(t, e, items, q)
		}
	})
}
