package enginetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// rounds returns how many of n seeds a test plays: all with LONG=1, the first fifth with GATE=1, else
// the first tenth. Under the race detector it is always the first tenth: SQLite is slow there, and the
// detector finds nothing in a loop.
func rounds(n int) int {
	switch {
	case raceEnabled:
	case os.Getenv("LONG") == "1":
		return n
	case os.Getenv("GATE") == "1":
		return max(n/5, 2)
	}
	return max(n/10, 2)
}

// TestSamePage compares pages of random items by random queries.
func TestSamePage(t *testing.T) {
	t.Parallel()
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
						q = r.resume(q)
					}
					compare(t, e, items, q)
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
	before func() // called before each page
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
	return l.walkQuery(paging.Query{Sort: sort}, size)
}

func (l *list) walkQuery(q paging.Query, size int) (ids []string) {
	l.t.Helper()
	q.Limit = size
	items := walk.List[envelope.Item]{Client: &http.Client{Transport: l}, URL: "http://localhost/items", Query: q}
	for i, err := range items.All(l.t.Context()) {
		if err != nil {
			l.t.Fatalf("sort %v, pages of %d: %v", q.Sort, size, err)
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

// walksAreSorts compares walks by random keys with the sort of all items.
func (e *engine) walksAreSorts(t *testing.T, r random, items []item) {
	t.Helper()
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

// TestWalk is P13: the pages of a client, one after the other, are all items in order.
func TestWalk(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "walked") {
		t.Run("P13 "+e.name, func(t *testing.T) {
			for seed := range rounds(12) {
				r := newRandom(seed)
				items := r.items(40)
				e.walksAreSorts(t, r, items)
			}
		})
	}
}

// TestMixedTypes is P13 where the values of a sort key have several types. The keysets of a client,
// one after the other, give the whole sort, as in memory.
func TestMixedTypes(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "mixed") {
		t.Run("P13 "+e.name, func(t *testing.T) {
			for seed := range rounds(10) {
				r := newRandom(seed)
				items := r.mixed(30)
				e.fill(t, items)
				index := byID(items)
				for range 3 {
					q := paging.Query{Sort: r.sort(paths)}
					switch r.IntN(4) {
					case 0:
						q.Where = paging.Not(r.condition())
					case 1:
						q.Where = r.longFilter()
					}
					for _, size := range []int{1, 3, 7} {
						q.Limit = size
						walkMixed(t, e, items, index, q)
					}
				}
				for range 20 {
					q := paging.Query{Where: r.filter(2), Sort: r.sort(paths), Limit: 30}
					compare(t, e, items, q)
					q = r.resume(q)
					compare(t, e, items, q)
				}
			}
		})
	}
}

// walkMixed walks by keysets in the database and in memory.
func walkMixed(t *testing.T, e *engine, items []item, index map[string]item, q paging.Query) {
	t.Helper()
	whole := q
	whole.Limit = len(items)
	want, _ := inMemory(items, whole)
	var got []string
	next := q
	for len(got) <= len(want) {
		compare(t, e, items, next)
		page, more := e.page(t, next)
		if got = append(got, page...); !more {
			break
		}
		next = goOn(q, index[page[len(page)-1]])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("where %s sort %v, pages of %d:\n%s", q.Where, q.Sort, q.Limit, diff)
	}
}

// TestWalkOfMixedTypes is TestMixedTypes with package walk. The schema must accept values of other
// types than its own in the requests of walk.
func TestWalkOfMixedTypes(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "walked_mixed") {
		t.Run("P13 "+e.name, func(t *testing.T) {
			for seed := range rounds(10) {
				r := newRandom(seed)
				items := r.mixed(30)
				e.walksAreSorts(t, r, items)
			}
		})
	}
}

// TestWalkDuringChanges is P12: a walk returns once each item that exists from its beginning to its
// end, and no other item twice.
func TestWalkDuringChanges(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	byKey := [][]paging.Key{{{Path: "_id"}}, {{Path: "_id", Desc: true}}, {{Path: "count", Desc: true}, {Path: "text"}, {Path: "_id"}}}
	for _, e := range engines(t, "changing") {
		t.Run("P12 "+e.name, func(t *testing.T) {
			for seed := range rounds(1000) {
				changes(t, e, newRandom(seed), byKey[seed%len(byKey)])
			}
		})
	}
}

func changes(t *testing.T, e *engine, r random, sort []paging.Key) {
	t.Helper()
	items := r.items(9)
	e.fill(t, items)
	surviving := byID(items)
	l := &list{t: t, items: byID(items), page: func(q paging.Query) ([]string, bool) { return e.page(t, q) }}
	n := 0
	l.before = func() {
		n++
		switch r.IntN(3) {
		case 0:
			added := r.item(fmt.Sprintf("%c%02d new %d", one(r, []rune("aBcD")), r.IntN(20), n))
			l.items[added.id()] = added
			e.insert(t, added)
		case 1:
			gone := one(r, items)
			delete(surviving, gone.id())
			e.remove(t, gone)
		case 2:
			// In a walk by _id all other properties of an item may change. In a sort by other keys
			// these must stay, because a change would move the item.
			changed := maps.Clone(l.items[one(r, items).id()])
			another := r.item(changed.id())
			for _, path := range paths {
				if len(sort) == 1 || path != "count" && path != "text" {
					changed[path] = another[path]
				}
			}
			l.items[changed.id()] = changed
			e.update(t, changed)
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

// TestWalkOfTheLargestFilter is P04 for more than one page: a filter exactly at the limits leaves
// room for the cursor of the next page.
func TestWalkOfTheLargestFilter(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	var many []paging.Filter
	for i := range 255 {
		if i < 200 {
			many = append(many, paging.Ne("c_number", 1000+i))
		} else {
			many = append(many, parsed("name", "$exists", true))
		}
	}
	longest := `{"name":{"$ne":""}}`
	longest = `{"name":{"$ne":"` + strings.Repeat("x", 8<<10-len(longest)) + `"}}`
	filters := map[string]paging.Filter{
		"256 conditions and 200 values": paging.And(many...),
		"8 KiB":                         parsedText(longest),
		"depth 16":                      parsedText(strings.Repeat(`{"$nor":[{"count":100000},`, 7) + `{"count":{"$lt":-100000}}` + strings.Repeat(`]}`, 7)),
	}
	sorts := [][]paging.Key{nil, {{Path: "count", Desc: true}}, {{Path: "c_number"}, {Path: "text", Desc: true}}}
	for _, e := range engines(t, "largest_filter") {
		t.Run("P04 "+e.name, func(t *testing.T) {
			items := newRandom(4).items(10)
			e.fill(t, items)
			l := &list{t: t, items: byID(items), page: func(q paging.Query) ([]string, bool) { return e.page(t, q) }}
			for name, where := range filters {
				for _, sort := range sorts {
					q := paging.Query{Where: where, Sort: sort, Limit: len(items)}
					want, _ := inMemory(items, q)
					if diff := cmp.Diff(want, l.walkQuery(q, 6)); diff != "" || len(want) < 7 {
						t.Errorf("%s, sort %v:\n%s", name, sort, diff)
					}
				}
			}
		})
	}
}

// TestWalkOfWhatLooksLikeAPlace is P13 where the caller's own filter has the form of a cursor in
// the sort of the walk.
func TestWalkOfWhatLooksLikeAPlace(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "like_a_place") {
		t.Run("P13 "+e.name, func(t *testing.T) {
			for seed := range rounds(20) {
				r := newRandom(seed)
				items := r.mixed(30)
				e.fill(t, items)
				l := &list{t: t, items: byID(items)}
				backends := map[string]func(paging.Query) ([]string, bool){
					"memory": func(q paging.Query) ([]string, bool) { return inMemory(items, q) },
					e.name:   func(q paging.Query) ([]string, bool) { return e.page(t, q) },
				}
				path := one(r, []string{"count", "number", "c_number", "c_text", "text"})
				value := one(r, valuesOf[path])
				for _, desc := range []bool{false, true} {
					beyond := parsed(path, "$gt", value)
					if desc {
						beyond = paging.Not(parsed(path, "$gte", value))
					}
					own := paging.Or(beyond, paging.And(parsed(path, "$eq", value), paging.Gt("_id", "a05")))
					if r.IntN(3) == 0 {
						own = paging.And(paging.Ne("name", "a"), own)
					}
					q := paging.Query{Where: own, Sort: []paging.Key{{Path: path, Desc: desc}}}
					whole := q
					whole.Limit = len(items)
					want, _ := inMemory(items, whole)
					for name, page := range backends {
						l.page = page
						for _, size := range []int{1, 2, 7} {
							if diff := cmp.Diff(want, l.walkQuery(q, size)); diff != "" {
								t.Fatalf("%s: where %s sort %v, pages of %d:\n%s", name, own, q.Sort, size, diff)
							}
						}
					}
				}
			}
		})
	}
}

// TestLongDecimals is P13 with decimals of more digits than a float64 has, which SQLite does not
// always convert to the nearest float64. All items have the same digits, because a walk compares
// exactly.
func TestLongDecimals(t *testing.T) {
	t.Parallel()
	for _, e := range engines(t, "long_decimals") {
		t.Run("P13 "+e.name, func(t *testing.T) {
			r := newRandom(1)
			for n := range rounds(60) {
				literal := json.Number(fmt.Sprintf("%d.%09d%09d", r.IntN(1000), r.IntN(1e9), r.IntN(1e9)))
				if n == 0 {
					literal = "248.463611712622181935"
				}
				items := []item{}
				for _, id := range []string{"a", "b", "c"} {
					items = append(items, item{"_id": id, "name": "n", "count": json.Number("1"), "c_number": literal})
				}
				e.fill(t, items)
				for _, operator := range []string{"$eq", "$gt", "$gte", "$lt", "$lte", "$ne"} {
					compare(t, e, items, paging.Query{Where: parsed("c_number", operator, literal), Limit: 9})
				}
				compare(t, e, items, paging.Query{Where: parsed("c_number", "$in", []any{literal}), Limit: 9})
				l := &list{t: t, items: byID(items), page: func(q paging.Query) ([]string, bool) { return e.page(t, q) }}
				for _, desc := range []bool{false, true} {
					sort := []paging.Key{{Path: "c_number", Desc: desc}}
					if diff := cmp.Diff([]string{"a", "b", "c"}, l.walk(sort, 1)); diff != "" {
						t.Fatalf("%s, down %t:\n%s", literal, desc, diff)
					}
				}
			}
		})
	}
}

// TestStrictColumns tries to store values of other types. The statements rely on the column's
// refusal.
func TestStrictColumns(t *testing.T) {
	for _, e := range engines(t, "strict_columns") {
		if e.dialect != sqlpage.SQLite {
			continue
		}
		e.fill(t, []item{{"_id": "1", "name": "", "count": json.Number("1")}})
		for column, values := range map[string][]any{
			"count":     {"text", []byte{0}, 2.5},
			"big":       {"text", []byte{0}, 2.5, 1e30},
			"dbl":       {"text", []byte{0}},
			"flag":      {"text", []byte{0}, 0.5},
			"some_text": {[]byte{0}},
			"at":        {[]byte{0}},
		} {
			for _, value := range values {
				if _, err := e.db.Exec("UPDATE strict_columns SET "+column+" = $1", value); err == nil {
					t.Errorf("%s was set to %v", column, value)
				}
			}
		}
	}
}
