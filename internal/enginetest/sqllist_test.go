package enginetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/scope"
)

// adoptedRow declares the table of types_test.go. Callers never see the property secret.
type adoptedRow struct {
	envelope.Item `page:"id,uuid"`
	_             string      `page:"tenant_id,uuid,tenant"`
	Made          time.Time   `json:"made" page:"made,filter,sort"`
	Ended         *time.Time  `json:"ended" page:"ended,filter,sort"`
	Due           *time.Time  `json:"due" page:"due,day,filter,sort"`
	By            *string     `json:"by" page:"by_id,uuid,filter,sort"`
	Title         string      `json:"title" page:"title,filter,sort"`
	Size          *int64      `json:"size" page:"size,filter,sort"`
	Price         json.Number `json:"-" page:"price"`
	State         *string     `json:"state" page:"state,enum,filter"`
	Tags          *[]*string  `json:"tags" page:"tags,array,filter"`
	Meta          struct {
		PO *string `json:"po,omitempty" page:",filter,sort"`
		N  *struct {
			Er json.Number `json:"er"`
		} `json:"n,omitempty"`
	} `json:"meta" page:"meta"`
}

var adoptedList = sqllist.Must[adoptedRow](sqllist.Declaration{Table: "adopted", Object: "item", Count: true})

// listedPaths are the paths of adoptedList. Those of adopted that it has not are of expressions,
// of a number that callers never see, and of one below a pointer.
var listedPaths = []string{"made", "ended", "due", "by", "title", "size", "state", "tags[]", "meta", "meta.po", "meta.n.er"}

// listedScopes are what callers may read. The instances are replaced by ids of items.
var listedScopes = [][]string{
	{"*"}, {"object.read.item"}, {}, {"object.read.other"},
	{"object.read.item.*.title", "object.read.item.*.made", "object.read.item.*.size"},
	{"object.read.item.*.tags[]", "object.read.item.*.meta.po", "object.read.item.ID.meta.n"},
	{"object.read.item.ID"}, {"object.read.item.ID", "object.read.item.ID.by", "object.read.item.*.title"},
	{"object.read.item.ID.title", "object.read.item.ID.size"}, {"object.update.item"},
}

func (r random) listedScope(t *testing.T, items []item) scope.Set {
	t.Helper()
	var chains []string
	for _, chain := range one(r, listedScopes) {
		chains = append(chains, strings.Replace(chain, "ID", one(r, items).id(), 1))
	}
	set, err := scope.Compile("test", chains...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestDeclaredLists is P25: a declared list answers what the same query makes in memory of the
// items of the caller's tenant that the caller's scope has, with the properties that the caller
// asks for and may read, whatever the arguments are.
func TestDeclaredLists(t *testing.T) {
	for _, e := range adoptedEngines(t) {
		t.Run("P25 "+e.name, func(t *testing.T) {
			for seed := range rounds(40) {
				r := newRandom(seed)
				items := r.adoptedItems(60)
				e.adopt(t, items)
				for range 60 {
					e.sameList(t, r, items)
				}
			}
		})
	}
}

func (e *engine) sameList(t *testing.T, r random, items []item) {
	t.Helper()
	tenant, may := one(r, tenants), r.listedScope(t, items)
	q := r.listedQuery(t, items)
	values, err := url.ParseQuery(q.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if r.IntN(3) == 0 {
		values.Set("count", "true")
	}
	for range r.IntN(5) {
		values.Add("paths[]", one(r, append(listedPaths, "tenant", "tenant_id", "price", "_id", "none")))
	}
	raw := values.Encode()
	got, err := adoptedList.Page(t.Context(), e.pages, tenant, may, raw)
	want, wantErr := inMemoryList(items, tenant, may, raw)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%s: %v, want %v", raw, err, wantErr)
	}
	if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
		t.Fatalf("%s: %s\n%s", tenant, raw, diff)
	}
}

// listedQuery returns a query that a caller who reads everything can ask for.
func (r random) listedQuery(t *testing.T, items []item) paging.Query {
	t.Helper()
	for range 100 {
		q := r.adoptedQuery(items)
		if _, err := adoptedList.Schema().Parse(q.Encode(), func(string) bool { return true }); err == nil {
			return q
		}
	}
	t.Fatal("no query is accepted")
	return paging.Query{}
}

// inMemoryList is what a list call answers, by the filter, the order and the scope that the other packages test.
func inMemoryList(items []item, tenant string, may scope.Set, raw string) (page envelope.List[map[string]any], err error) {
	grant := may.On(scope.Read, "item")
	q, err := adoptedList.Schema().Parse(raw, grant.Property)
	if err != nil {
		return page, err
	}
	ids, all := grant.IDs()
	visible := slices.DeleteFunc(ofTenant(items, tenant), func(i item) bool { return !all && !slices.Contains(ids, i.id()) })
	rows, more := mempage.Page(visible, q, get)
	page.HasMore = more
	for _, i := range rows {
		page.Data = append(page.Data, shownItem(i, may, q.Wants))
	}
	if q.CountTo > 0 {
		q.Skip, q.Limit = 0, len(visible)
		all, _ := mempage.Page(visible, q, get)
		page.Total = &envelope.Total{Items: len(all)}
	}
	return page, nil
}

// shownItem has the properties of an item that are asked for and may be read. The document meta is
// there if anything of it is, or if all of it may be read.
func shownItem(i item, may scope.Set, asked func(path string) bool) map[string]any {
	shown := map[string]any{"_id": i.id(), "object": "item"}
	for _, path := range listedPaths {
		if !asked(path) || !may.Allows(scope.Object(scope.Read, "item", i.id(), path)) {
			continue
		}
		name, inMeta := strings.CutPrefix(path, "meta.")
		switch value, known := i[path]; {
		case path == "meta":
			if len(i.meta()) == 0 {
				shown["meta"] = map[string]any{}
			}
		case !inMeta:
			shown[strings.TrimSuffix(path, "[]")] = value
		case known:
			meta, _ := shown["meta"].(map[string]any)
			shown["meta"] = i.within(meta, name, value)
		}
	}
	return shown
}

// within adds a property to a document, which may be nil.
func (item) within(document map[string]any, path string, value any) map[string]any {
	if document == nil {
		document = map[string]any{}
	}
	if name, rest, deeper := strings.Cut(path, "."); deeper {
		document[name] = item{}.within(nil, rest, value)
	} else {
		document[path] = value
	}
	return document
}

// decoded returns v as its JSON is read, with the digits of its numbers.
func decoded(t *testing.T, v any) (all any) {
	t.Helper()
	text, err := envelope.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return jsonOf(t, text)
}

func jsonOf(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestDeclaredObjects is P25 for one object: it is the item of the list with all that may be read,
// or it is not found, also by an id that is none.
func TestDeclaredObjects(t *testing.T) {
	for _, e := range adoptedEngines(t) {
		t.Run("P25 "+e.name, func(t *testing.T) {
			for seed := range rounds(20) {
				r := newRandom(seed)
				items := r.adoptedItems(20)
				e.adopt(t, items)
				for range 40 {
					tenant, may := one(r, tenants), r.listedScope(t, items)
					id := one(r, []string{one(r, items).id(), one(r, items).id(), "", "x", strings.ToUpper(items[0].id()), tenant})
					raw := one(r, []string{"", "paths[]=title&paths[]=by", "paths[]=none"})
					got, err := adoptedList.Get(t.Context(), e.pages, tenant, may, id, raw)
					want := inMemoryObject(items, tenant, may, id, raw)
					if errors.Is(err, sqllist.ErrNotFound) && want == nil {
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(decoded(t, want), jsonOf(t, got)); diff != "" {
						t.Fatalf("%s: %s %s\n%s", tenant, id, raw, diff)
					}
				}
			}
		})
	}
}

// inMemoryObject is what a call for one object answers. It is nil if nothing may be read.
func inMemoryObject(items []item, tenant string, may scope.Set, id, raw string) map[string]any {
	for _, i := range ofTenant(items, tenant) {
		if i.id() != id || !may.Overlaps(scope.Object(scope.Read, "item", id, "")) {
			continue
		}
		return shownItem(i, may, func(path string) bool { return raw == "" || strings.Contains(raw, "="+path) })
	}
	return nil
}
