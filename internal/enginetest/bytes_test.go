package enginetest

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

// longTicket is a ticket of ticketTables as a client reads it.
type longTicket struct {
	envelope.Item
	Title    string
	Comments envelope.List[struct {
		envelope.Item
		Text    string
		Replies envelope.List[struct {
			envelope.Item
			Text string
		}]
	}]
}

const longText = 100 << 10

// longTree has tickets, comments and replies with long texts. Some tickets have no comment.
func longTree() (all tree) {
	add := func(table, n int, path string, more item) {
		more["_id"], more["tenant"], more[path] = fmt.Sprintf("%08x-0000-4000-8000-%012x", table+1, n), tenants[0], strings.Repeat("<", longText/6)
		all[table] = append(all[table], more)
	}
	for n := range 60 {
		add(0, n, "title", item{})
	}
	for n := range 90 {
		add(1, n, "text", item{"ticket": all[0][n*n%47+3].id()})
	}
	for n := range 70 {
		add(2, n, "text", item{"comment": all[1][n*n%61].id()})
	}
	return all
}

// TestPagesAreBoundedInBytes is P30: a page of long items ends at paging.MaxBytes and one item of
// each list. What follows is met by cursors and by skip, once each.
func TestPagesAreBoundedInBytes(t *testing.T) {
	all := longTree()
	for _, e := range ticketEngines(t) {
		e.plant(t, all)
		page := func(query url.Values) (got envelope.List[longTicket]) {
			t.Helper()
			list, err := tickets.Page(t.Context(), e.pages, tenants[0], scope.Unscoped(), query.Encode())
			if err != nil {
				t.Fatal(err)
			}
			text, err := envelope.Encode(list)
			if err != nil || len(text) > paging.MaxBytes+3*(longText+1000) {
				t.Fatalf("a page of %d bytes, %v", len(text), err)
			}
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			return got
		}
		t.Run("P30 by cursors in "+e.name, func(t *testing.T) {
			for _, sort := range []string{"", `{"title":-1}`} {
				q := url.Values{"limit": {"1000"}, "paths[]": {"title"}, "sort": {sort}}
				if sort == "" {
					q.Del("sort")
				}
				var met []string
				for pages := 0; ; pages++ {
					got := page(q)
					for _, i := range got.Data {
						met = append(met, i.ID)
					}
					if !got.HasMore {
						if pages < 1 {
							t.Error("one page has all")
						}
						break
					}
					last := fmt.Sprintf(`{"_id":{"$gt":%q}}`, met[len(met)-1])
					if sort != "" {
						title := got.Data[len(got.Data)-1].Title[:10]
						last = fmt.Sprintf(`{"$or":[{"$nor":[{"title":{"$gte":%q}}]},{"title":{"$gte":%[1]q},"_id":{"$gt":%q}}]}`, title, met[len(met)-1])
					}
					q.Set("where", last)
				}
				if want := idsOf(all[0]); !slices.Equal(met, want) {
					t.Errorf("%s: met %d of %d", sort, len(met), len(want))
				}
			}
		})
		t.Run("P30 by skip in "+e.name, func(t *testing.T) {
			var met []string
			for more := true; more; {
				got := page(url.Values{"limit": {"1000"}, "paths[]": {"title"}, "skip": {fmt.Sprint(len(met))}})
				for _, i := range got.Data {
					met = append(met, i.ID)
				}
				more = got.HasMore
			}
			if want := idsOf(all[0]); !slices.Equal(met, want) {
				t.Errorf("met %d of %d", len(met), len(want))
			}
		})
		t.Run("P30 with lists in lists in "+e.name, func(t *testing.T) { e.meetsAllOf(t, page, all) })
	}
}

func (e *engine) meetsAllOf(t *testing.T, page func(url.Values) envelope.List[longTicket], all tree) {
	t.Helper()
	if pages := e.walksAllOf(t, page, paging.MaxBytes+3*(longText+1000), all); pages < 3 {
		t.Errorf("%d pages", pages)
	}
}

// walksAllOf walks tickets with their comments, and these with their replies. It must meet all. most is
// how many bytes one object has at most.
func (e *engine) walksAllOf(t *testing.T, page func(url.Values) envelope.List[longTicket], most int, all tree) (pages int) {
	one := func(id string, arguments ...string) (got longTicket) {
		t.Helper()
		q := url.Values{"paths[]": {"comments.text", "comments.replies.text"}}
		for i := 0; i < len(arguments); i += 2 {
			q.Set(arguments[i], arguments[i+1])
		}
		text, err := tickets.Get(t.Context(), e.pages, tenants[0], scope.Unscoped(), id, q.Encode())
		if err != nil || json.Unmarshal(text, &got) != nil || len(text) > most {
			t.Fatal(len(text), err)
		}
		return got
	}
	after := func(id string) string { return fmt.Sprintf(`{"_id":{"$gt":%q}}`, id) }
	var met [3][]string
	q := url.Values{"limit": {"1000"}, "paths[]": {"title", "comments.text", "comments.replies.text"}, "comments.limit": {"1000"}}
	for more := true; more; pages++ {
		got := page(q)
		for _, ticket := range got.Data {
			met[0] = append(met[0], ticket.ID)
			for {
				for _, comment := range ticket.Comments.Data {
					met[1] = append(met[1], comment.ID)
					for {
						for _, reply := range comment.Replies.Data {
							met[2] = append(met[2], reply.ID)
						}
						if !comment.Replies.HasMore {
							break
						}
						last := comment.Replies.Data[len(comment.Replies.Data)-1].ID
						comment = one(ticket.ID, "comments.where", fmt.Sprintf(`{"_id":%q}`, comment.ID), "comments.replies.where", after(last)).Comments.Data[0]
					}
				}
				if !ticket.Comments.HasMore {
					break
				}
				ticket = one(ticket.ID, "comments.where", after(ticket.Comments.Data[len(ticket.Comments.Data)-1].ID), "comments.limit", "1000")
			}
		}
		if more = got.HasMore; more {
			q.Set("where", after(met[0][len(met[0])-1]))
		}
	}
	for table := range met {
		want := idsOf(all[table])
		if table == 2 { // of comments that exist
			want = slices.DeleteFunc(want, func(id string) bool {
				return !slices.Contains(met[1], all[2][slices.Index(idsOf(all[2]), id)]["comment"].(string))
			})
		}
		slices.Sort(met[table])
		if !slices.Equal(met[table], want) {
			t.Errorf("table %d: met %d of %d", table, len(met[table]), len(want))
		}
	}
	return pages
}

// TestItemsLongerThanAPage is P30 for items that alone are longer than paging.MaxBytes, in lists and in
// lists of lists: no page is empty, and each is met once. Only SQLite takes such texts into an index.
func TestItemsLongerThanAPage(t *testing.T) {
	e := ticketEngines(t)[0]
	for seed := range rounds(20) {
		r := newRandom(seed)
		var all tree
		add := func(table, n int, path string, more item) {
			length := one(r, []int{1, 1, 1, 1000, paging.MaxBytes / 3, paging.MaxBytes + 1})
			more["_id"], more["tenant"], more[path] = fmt.Sprintf("%08x-0000-4000-8000-%012x", table+1, n), tenants[0], strings.Repeat("a", length)
			all[table] = append(all[table], more)
		}
		for n := range 1 + r.IntN(6) {
			add(0, n, "title", item{})
		}
		for n := range r.IntN(6) {
			add(1, n, "text", item{"ticket": one(r, all[0]).id()})
		}
		for n := range r.IntN(6) * min(1, len(all[1])) {
			add(2, n, "text", item{"comment": one(r, all[1]).id()})
		}
		e.plant(t, all)
		page := func(query url.Values) (got envelope.List[longTicket]) {
			t.Helper()
			list, err := tickets.Page(t.Context(), e.pages, tenants[0], scope.Unscoped(), query.Encode())
			if err != nil {
				t.Fatal(err)
			}
			text, err := envelope.Encode(list)
			if err != nil || json.Unmarshal(text, &got) != nil || got.HasMore && len(got.Data) == 0 {
				t.Fatalf("a page of %d items says that there are more; %v", len(got.Data), err)
			}
			return got
		}
		e.walksAllOf(t, page, 8*paging.MaxBytes, all)
		if t.Failed() {
			t.Fatal("seed ", seed)
		}
	}
}

// TestMemoryOfAPage is P30: what a page of 1000 rows with 64 KiB each holds.
func TestMemoryOfAPage(t *testing.T) {
	e := ticketEngines(t)[0]
	e.exec(t, "INSERT INTO tickets SELECT printf('%08d', value), ?1, ?2 FROM (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 1000) SELECT value FROM n)", tenants[0], strings.Repeat("a", 64<<10))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	list, err := tickets.Page(t.Context(), e.pages, tenants[0], scope.Unscoped(), "limit=1000&paths[]=title")
	if err != nil {
		t.Fatal(err)
	}
	text, err := envelope.Encode(list)
	runtime.ReadMemStats(&after)
	got := after.TotalAlloc - before.TotalAlloc
	t.Logf("allocated %d KiB for a reply of %d KiB", got>>10, len(text)>>10)
	if err != nil || got > 6*paging.MaxBytes {
		t.Error(got, err)
	}
}

// scanned is a Scanner that keeps a text where nobody sees it.
type scanned struct{ text []byte }

func (k *scanned) Scan(value any) error {
	k.text = append([]byte{}, value.(string)...)
	return nil
}

// behind is a Scanner that keeps a text behind a pointer of its own.
type behind struct{ tree *scanned }

func (p *behind) Scan(value any) error {
	p.tree = new(scanned)
	return p.tree.Scan(value)
}

// configured is a Scanner that has more than the row: what it reads rows by.
type configured struct {
	scanned
	Config []string
}

var config = slices.Repeat([]string{strings.Repeat("a", 1<<10)}, paging.MaxBytes>>10)

// TestRowsEndWithThePage is P30 for rows that a program scans, whatever it scans them into.
func TestRowsEndWithThePage(t *testing.T) {
	e := ticketEngines(t)[0]
	for n := range 9 {
		e.exec(t, "INSERT INTO tickets VALUES ($1, $2, $3)", fmt.Sprint(n), tenants[0], strings.Repeat("a", paging.MaxBytes/4))
	}
	for name, into := range map[string]func() any{
		"string":     func() any { return new(string) },
		"[]byte":     func() any { return new([]byte) },
		"RawBytes":   func() any { return new(sql.RawBytes) },
		"pointer":    func() any { return new(*string) },
		"any":        func() any { return new(any) },
		"NullString": func() any { return new(sql.NullString) },
		"a Scanner":  func() any { return new(scanned) },

		"a Scanner that keeps it behind a pointer": func() any { return new(behind) },
		"a Scanner of its caller's memory":         func() any { return &configured{Config: config} },
	} {
		t.Run("P30 "+name, func(t *testing.T) {
			for limit, want := range map[int]int{2: 2, 4: 4, 9: 4, 1000: 4} {
				rows, err := e.pages.Query(t.Context(), paging.Query{Limit: limit}, tickets.Table(), sqlpage.RowScope{Tenant: tenants[0], AllIDs: true})
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for ; rows.Next(); n++ {
					if err := rows.Scan(new(string), into()); err != nil {
						t.Fatal(err)
					}
				}
				if n != want || !rows.More() || rows.Err() != nil {
					t.Errorf("limit %d: %d rows, more %t, %v", limit, n, rows.More(), rows.Err())
				}
			}
		})
	}
}
