package sqllist_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

type thing struct {
	envelope.Item `page:"id"`
	_             string         `page:"tenant,tenant"`
	Text          *string        `json:"text" page:"text,filter"`
	At            *time.Time     `json:"at" page:"at"`
	Meta          map[string]any `json:"meta" page:"meta"`
	Size          int            `json:"size" page:"size"`
}

var things = sqllist.Must[thing](sqllist.Declaration{Table: "things", Object: "thing"})

var ownThings = sqllist.Must[thing](sqllist.Declaration{Table: "things", Object: "thing", Where: []string{"text"}})

const allPaths = "paths[]=text&paths[]=at&paths[]=meta&paths[]=size"

func page(t *testing.T, rows fakeRows, may scope.Set, raw string) (string, error) {
	t.Helper()
	list, err := things.Page(t.Context(), pagesOf(rows), "acme", may, raw)
	if err != nil {
		return "", err
	}
	text, err := envelope.Encode(list)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

func TestRowsAsJSON(t *testing.T) {
	at := time.Date(2026, 1, 2, 4, 4, 5, 6_007_008, time.FixedZone("", 3600))
	rows := fakeRows{
		columns: []string{"id", "text", "at", "meta", "size"},
		rows: [][]driver.Value{
			{"a", "é<\u2028\"\x00", at, []byte(`{"one": 1, "deep": {"x": [1, 2]}}`), int64(-5)},
			{"b", nil, nil, nil, int64(0)},
			{"c", "plain", "2026-01-02", `{"two":2}`, int64(7)},
		},
	}
	for raw, want := range map[string]string{
		allPaths: `{"object":"list","data":[` +
			`{"_id":"a","object":"thing","text":"é\u003c\u2028\"\u0000","at":"2026-01-02T03:04:05.006Z","meta":{"deep":{"x":[1,2]},"one":1},"size":-5},` +
			`{"_id":"b","object":"thing","text":null,"at":null,"meta":null,"size":0},` +
			`{"_id":"c","object":"thing","text":"plain","at":"2026-01-02T00:00:00.000Z","meta":{"two":2},"size":7}],"hasMore":false}`,
	} {
		got, err := page(t, rows, scope.Unscoped(), raw)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(raw, err, diff)
		}
	}
	for _, into := range sqllist.Kept(things) {
		if text, ok := into.(*string); ok && *text != "" {
			t.Errorf("%q of the last row is kept", *text)
		}
	}
}

// Arrays are those of PostgreSQL, or JSON in SQLite.
func TestArraysAsJSON(t *testing.T) {
	type row struct {
		envelope.Item `page:"id"`
		Tags          *[]*string `json:"tags" page:"tags,array"`
	}
	list := sqllist.Must[row](sqllist.Declaration{Table: "rows", Object: "row", SharedByAllTenants: true})
	for value, want := range map[any]string{
		nil: `null`, `{}`: `[]`, `[]`: `[]`, `{a,b}`: `["a","b"]`, `{{a,b},{c,d}}`: `["a","b","c","d"]`, `[2:3]={a,b}`: `["a","b"]`,
		`{NULL,"NULL",null}`:              `[null,"NULL","null"]`,
		`{"","a,b","{}"," \\ \" \\\"",é}`: `["","a,b","{}"," \\ \" \\\"","é"]`,
		"{\"a\nb\"}":                      `["a\nb"]`,
		` ["{a}", null,"\u00e9"] `:        `["{a}",null,"é"]`,
	} {
		rows := fakeRows{columns: []string{"id", "tags"}, rows: [][]driver.Value{{"a", value}}}
		page, err := list.Page(t.Context(), pagesOf(rows), "", scope.Unscoped(), "paths[]=tags")
		if err != nil || string(page.Data[0]) != `{"_id":"a","object":"row","tags":`+want+`}` {
			t.Errorf("%v: %s %v", value, page.Data, err)
		}
	}
	for _, value := range []string{``, `{a`, `[1]`, `x`} {
		rows := fakeRows{columns: []string{"id", "tags"}, rows: [][]driver.Value{{"a", value}}}
		if page, err := list.Page(t.Context(), pagesOf(rows), "", scope.Unscoped(), "paths[]=tags"); err == nil {
			t.Errorf("%s is an array: %s", value, page.Data)
		}
	}
}

// A total is that of the rows that the caller may see, and a count that takes too long is a fault
// of the filter.
func TestTotals(t *testing.T) {
	list := sqllist.Must[thing](sqllist.Declaration{Table: "things", Object: "thing", Count: true})
	rows := fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{int64(7)}}}
	got, err := list.Page(t.Context(), pagesOf(rows), "acme", scope.Unscoped(), "count=true")
	if err != nil || got.Total == nil || got.Total.Items != 7 {
		t.Errorf("%+v %v", got, err)
	}
	pages := pagesOf(rows)
	pages.CountTime = -1 // it has ended before it begins
	if _, err := list.Page(t.Context(), pages, "acme", scope.Unscoped(), "count=true"); err != paging.ErrSlowCount {
		t.Error(err)
	}
	if _, err := things.Page(t.Context(), pagesOf(rows), "acme", scope.Unscoped(), "count=true"); err == nil {
		t.Error("a list without Count is counted")
	}
}

// TestPartsOfDocuments has a caller who may read one part of each document, and all of one.
func TestPartsOfDocuments(t *testing.T) {
	const a, b, c = "5b000000000000000000000a", "5b000000000000000000000b", "5b000000000000000000000c"
	rows := fakeRows{columns: []string{"id", "meta"}, rows: [][]driver.Value{
		{a, `{"one":1,"deep":{"x":[1,2],"y":1}}`}, {b, nil}, {c, `{"two":2,"deep":{"y":1}}`},
	}}
	may := chains(t, "object.read.thing.*.meta.deep", "object.read.thing."+c+".meta")
	for raw, want := range map[string][3]string{
		"paths[]=meta.deep.x&paths[]=meta.two": {`,"meta":{"deep":{"x":[1,2]}}`, ``, `,"meta":{"two":2}`},
		"paths[]=meta":                         {`,"meta":{"deep":{"x":[1,2],"y":1}}`, ``, `,"meta":{"deep":{"y":1},"two":2}`},
		"paths[]=meta.one":                     {},
	} {
		got, err := page(t, rows, may, raw)
		want := `{"object":"list","data":[{"_id":"` + a + `","object":"thing"` + want[0] + `},{"_id":"` + b + `","object":"thing"` + want[1] +
			`},{"_id":"` + c + `","object":"thing"` + want[2] + `}],"hasMore":false}`
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(raw, err, diff)
		}
	}
}

func chains(t *testing.T, chains ...string) scope.Set {
	t.Helper()
	set, err := scope.Compile("test", chains...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestPartsOfDocumentsInLists has a caller who may read one part of the documents of a list property.
func TestPartsOfDocumentsInLists(t *testing.T) {
	type comment struct {
		envelope.Item `page:"id"`
		_             string `page:"tenant,tenant"`
		_             string `page:"of"`
		Text          string `json:"text" page:"text"`
		Meta          struct {
			PO     string `json:"po" page:",filter"`
			Secret string `json:"secret"`
		} `json:"meta" page:"meta"`
	}
	type ticket struct {
		envelope.Item `page:"id"`
		_             string `page:"tenant,tenant"`
	}
	tickets := sqllist.Must[ticket](sqllist.Declaration{Table: "tickets", Object: "ticket", Lists: map[string]sqllist.Items{
		"comments": {List: sqllist.Must[comment](sqllist.Declaration{Table: "comments", Object: "comment"}), Parent: "of"},
	}})
	rows := fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{"5b000000000000000000000a"}}, below: &fakeRows{
		columns: []string{"an id", "id", "meta"},
		rows:    [][]driver.Value{{"5b000000000000000000000a", "c", `{"po":"A-7","secret":"x"}`}},
	}}
	page, err := tickets.Page(t.Context(), pagesOf(rows), "acme", chains(t, "object.read.ticket.*.comments.meta.po"), "paths[]=comments.meta")
	const want = `{"_id":"5b000000000000000000000a","object":"ticket","comments":` +
		`{"object":"list","data":[{"_id":"c","object":"comment","meta":{"po":"A-7"}}],"hasMore":false}}`
	if err != nil || len(page.Data) != 1 || string(page.Data[0]) != want {
		t.Errorf("%s %v", page.Data, err)
	}
}

// A list that forgets its tenant or its scope gives away nothing.
func TestForgotten(t *testing.T) {
	rows := fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{"a"}}}
	if list, err := things.Page(t.Context(), pagesOf(rows), "", scope.Unscoped(), ""); err == nil || list.Data != nil {
		t.Error("without a tenant:", list, err)
	}
	if item, err := things.Get(t.Context(), pagesOf(rows), "", scope.Unscoped(), "a", ""); err == nil || item != nil {
		t.Error("without a tenant:", item, err)
	}
	for _, id := range []string{"a\x00", "\xff"} {
		if item, err := things.Get(t.Context(), pagesOf(rows), "acme", scope.Unscoped(), id, ""); err != sqllist.ErrNotFound || item != nil {
			t.Errorf("%q: %s %v", id, item, err)
		}
	}
	var asked string
	rows.asked = &asked
	if _, err := page(t, rows, scope.Set{}, ""); err != nil || !strings.Contains(asked, "FALSE") {
		t.Errorf("without a scope: %s %v", asked, err)
	}
}

// Structs are kept for the next request. No value of one gets into another, also at once and
// where a column is NULL or not read.
func TestRequestsShareNothing(t *testing.T) {
	may := scope.Unscoped()
	var all sync.WaitGroup
	for _, own := range []string{"acme", "globex", "initech", "umbrella"} {
		full := fakeRows{columns: []string{"id", "text", "meta"}, rows: [][]driver.Value{{"a", own, `{"` + own + `":1}`}, {"b", nil, nil}}}
		bare := fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{"a"}}}
		all.Go(func() {
			for range 200 {
				want := `{"object":"list","data":[{"_id":"a","object":"thing","text":"` + own + `","meta":{"` + own + `":1}},{"_id":"b","object":"thing","text":null,"meta":null}],"hasMore":false}`
				if got, err := page(t, full, may, "paths[]=text&paths[]=meta"); got != want || err != nil {
					t.Errorf("%s %v", got, err)
				}
				if got, err := page(t, bare, may, ""); got != `{"object":"list","data":[{"_id":"a","object":"thing"}],"hasMore":false}` || err != nil {
					t.Errorf("%s %v", got, err)
				}
			}
		})
	}
	all.Wait()
}

// Only the columns of the reply are read.
func TestColumnsOfTheReply(t *testing.T) {
	var asked string
	rows := fakeRows{columns: []string{"id", "size"}, asked: &asked}
	if _, err := page(t, rows, scope.Unscoped(), "paths[]=size&paths[]=tenant"); err != nil || !strings.HasPrefix(asked, `SELECT r."id", r."size" FROM`) {
		t.Error(asked, err)
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("connection reset")
	for _, test := range []struct {
		name   string
		rows   fakeRows
		raw    string
		status int
		want   any // for errors.As
	}{
		{"a property that cannot be filtered by", fakeRows{}, `where={"size":1}`, 400, new(*paging.Error)},
		{"the tenant is no property", fakeRows{}, `where={"tenant":"globex"}`, 400, new(*paging.Error)},
		{"an unknown argument", fakeRows{}, `status=open`, 400, new(*paging.Error)},
		{"the database refuses", fakeRows{err: broken}, "", 503, new(error)},
		{"the database ends", fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{"a"}}, end: broken}, "", 503, new(error)},
		{"NULL in a column that is NOT NULL", fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{nil}}}, "", 500, new(error)},
		{"a column that there is not", fakeRows{err: sqlState("42703")}, "", 500, new(error)},
		{"a value that an expression cannot cast", fakeRows{err: sqlState("22P02")}, "", 500, new(error)},
		{"too many connections", fakeRows{err: sqlState("53300")}, "", 503, new(error)},
		{"the database is told to stop", fakeRows{err: sqlState("57014")}, "", 503, new(error)},
		{"no such column in SQLite", fakeRows{err: code(1)}, "", 500, new(error)},
		{"a lock in SQLite", fakeRows{err: code(5)}, "", 503, new(error)},
	} {
		raw := strings.Replace(test.raw, test.raw[strings.Index(test.raw, "=")+1:], url.QueryEscape(test.raw[strings.Index(test.raw, "=")+1:]), 1)
		_, err := page(t, test.rows, scope.Unscoped(), raw)
		w := httptest.NewRecorder()
		auth.Fail(w, httptest.NewRequest("GET", "/", nil), err)
		if !errors.As(err, test.want) || w.Code != test.status {
			t.Errorf("%s: %d %v", test.name, w.Code, err)
		}
		if test.status == 503 && (w.Header().Get("Retry-After") == "" || strings.Contains(w.Body.String(), "reset")) {
			t.Errorf("%s: %v %s", test.name, w.Header(), w.Body)
		}
	}
}

type sqlState string

func (s sqlState) Error() string    { return string(s) }
func (s sqlState) SQLState() string { return string(s) }

type code int

func (c code) Error() string { return "code" }
func (c code) Code() int     { return int(c) }

// One time has one spelling in a list and in a reply of the same struct.
func TestTimesOfListsAndReplies(t *testing.T) {
	type sent struct {
		envelope.Item `page:"id"`
		_             string         `page:"tenant,tenant"`
		At            envelope.Time  `json:"at" page:"at,filter,sort"`
		Maybe         *envelope.Time `json:"maybe" page:"maybe"`
	}
	list := sqllist.Must[sent](sqllist.Declaration{Table: "sents", Object: "sent"})
	at := time.Date(2026, 1, 2, 3, 4, 41, 90_000_000, time.FixedZone("", 3600))
	page, err := list.Page(t.Context(), pagesOf(fakeRows{columns: []string{"id", "at", "maybe"}, rows: [][]driver.Value{{"a", at, at}, {"b", "2026-01-02T03:04:05.000Z", nil}}}),
		"acme", scope.Unscoped(), "paths[]=at&paths[]=maybe&sort=at")
	if err != nil {
		t.Fatal(err)
	}
	reply, err := json.Marshal(sent{Item: envelope.Item{ID: "a", Object: "sent"}, At: envelope.Time{Time: at}, Maybe: &envelope.Time{Time: at}})
	if diff := cmp.Diff(string(reply), string(page.Data[0])); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if got := string(page.Data[1]); !strings.HasSuffix(got, `"at":"2026-01-02T03:04:05.000Z","maybe":null}`) {
		t.Error(got)
	}
}

// To repeat a request does not help against a mistake in the program, or a scope of thousands of objects.
func TestPermanentErrors(t *testing.T) {
	var many scope.Set // of 20 roles
	for n := range 20 {
		var chains []string
		for m := range 1000 {
			chains = append(chains, fmt.Sprintf("object.read.thing.%024x", n*1000+m))
		}
		role, err := scope.Compile("test", chains...)
		if err != nil {
			t.Fatal(err)
		}
		many = many.Union(role)
	}
	for name, test := range map[string]struct {
		list   *sqllist.List
		tenant string
		may    scope.Set
		status int
	}{
		"no tenant":                {things, "", scope.Unscoped(), 500},
		"a scope of many objects":  {things, "acme", many, 400},
		"a tenant that is no text": {things, "a\x00", scope.Unscoped(), 500},
		"no value for the Where":   {ownThings, "acme", scope.Unscoped(), 500},
		"nothing is wrong":         {things, "acme", scope.Unscoped(), 200},
	} {
		t.Run("P32 "+name, func(t *testing.T) {
			w := httptest.NewRecorder()
			page, err := test.list.Page(t.Context(), pagesOf(fakeRows{columns: []string{"id"}}), test.tenant, test.may, "")
			if err != nil {
				auth.Fail(w, httptest.NewRequest("GET", "/", nil), err)
			} else {
				auth.Reply(w, httptest.NewRequest("GET", "/", nil), page)
			}
			if w.Code != test.status {
				t.Errorf("%d %v", w.Code, err)
			}
		})
	}
}

func TestFaultsAreThoseOfAuth(t *testing.T) {
	_, failed := page(t, fakeRows{err: errors.New("x")}, scope.Unscoped(), "")
	for _, pair := range [][2]error{{failed, auth.ErrUnavailable}, {sqllist.ErrNotFound, auth.ErrNotFound}} {
		ours, theirs := httptest.NewRecorder(), httptest.NewRecorder()
		auth.Fail(ours, httptest.NewRequest("GET", "/", nil), pair[0])
		auth.Fail(theirs, httptest.NewRequest("GET", "/", nil), pair[1])
		if diff := cmp.Diff(theirs.Body.String(), ours.Body.String()); diff != "" || ours.Code != theirs.Code {
			t.Error(ours.Code, diff)
		}
	}
}

func FuzzTexts(f *testing.F) {
	for _, seed := range []string{"", "plain", "é", "<&>", "\u2028", "\xff", "\x7f\x00\\\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := json.Marshal(text)
		if got := sqllist.AppendText([]byte("["), text); err != nil || string(got) != "["+string(want) {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// fakeRows is a database that answers each query with the same rows.
type fakeRows struct {
	columns  []string
	rows     [][]driver.Value
	err, end error
	asked    *string
	below    *fakeRows // what the statement of a list property gets
}

func pagesOf(rows fakeRows) *sqlpage.Pages {
	return &sqlpage.Pages{DB: sql.OpenDB(rows), Dialect: sqlpage.PostgreSQL}
}

func (f fakeRows) Driver() driver.Driver                        { return nil }
func (f fakeRows) Connect(context.Context) (driver.Conn, error) { return f, nil }
func (f fakeRows) Begin() (driver.Tx, error)                    { return nil, driver.ErrSkip }
func (f fakeRows) Prepare(string) (driver.Stmt, error)          { return nil, driver.ErrSkip }
func (f fakeRows) Close() error                                 { return nil }

func (f fakeRows) QueryContext(_ context.Context, text string, _ []driver.NamedValue) (driver.Rows, error) {
	if f.asked != nil {
		*f.asked = text
	}
	if f.below != nil && strings.Contains(text, "parents") {
		f = *f.below
	}
	return &cursor{fakeRows: f}, f.err
}

type cursor struct {
	fakeRows
	at int
}

func (c *cursor) Columns() []string { return c.columns }

func (c *cursor) Next(values []driver.Value) error {
	if c.at == len(c.rows) {
		if c.end != nil {
			return c.end
		}
		return io.EOF
	}
	copy(values, c.rows[c.at])
	c.at++
	return nil
}

// What is NULL is left out, unknown arguments are the program's own, and a query that was read
// before shows the same as Get.
func TestOmittedAndRead(t *testing.T) {
	type part struct {
		envelope.Item `page:"id"`
		_             string  `page:"tenant,tenant"`
		Text          *string `json:"text,omitempty" page:"text"`
		Meta          *struct {
			Code *string `json:"code"`
		} `json:"meta,omitempty" page:"meta"`
	}
	parts := sqllist.Must[part](sqllist.Declaration{Table: "parts", Object: "part", IgnoreUnknown: true})
	for want, row := range map[string][]driver.Value{
		`{"_id":"a","object":"part"}`:                                        {"a", nil, nil},
		`{"_id":"a","object":"part","text":"null","meta":{"code":null}}`:     {"a", "null", []byte(`{"code":null}`)},
		`{"_id":"a","object":"part","text":"","meta":{"code":"\u003cnull"}}`: {"a", "", `{"code":"<null"}`},
	} {
		pages := pagesOf(fakeRows{columns: []string{"id", "text", "meta"}, rows: [][]driver.Value{row}})
		q, err := parts.Schema().ParseObject("mine=1&paths[]=text&paths[]=meta.code", nil)
		if err != nil {
			t.Fatal(err)
		}
		narrow, err := scope.Compile("test", "object.read.part.*.text", "object.read.part.*.meta.code")
		if err != nil {
			t.Fatal(err)
		}
		for _, may := range []scope.Set{scope.Unscoped(), narrow} {
			if got, err := parts.Read(t.Context(), pages, "acme", may, "a", q); err != nil || string(got) != want {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		}
	}
}

// TestPagesKeepNothingThatIsNotShown has documents of 7 MB in all, of which the caller may read a
// number each. A page is kept for as long as a slow client takes to read it.
func TestPagesKeepNothingThatIsNotShown(t *testing.T) {
	rows := fakeRows{columns: []string{"id", "meta"}}
	for size := 1 << 10; size < 2<<20; size += size / 3 {
		rows.rows = append(rows.rows, []driver.Value{"5b000000000000000000000a", `{"one":1,"two":"` + strings.Repeat("x", size) + `"}`})
	}
	pages, may := pagesOf(rows), chains(t, "object.read.thing.*.meta.one")
	kept := func() uint64 {
		runtime.GC()
		runtime.GC() // a sync.Pool keeps what it has for one
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := kept()
	page, err := things.Page(t.Context(), pages, "acme", may, "paths[]=meta.one")
	after := kept()
	if err != nil || len(page.Data) < 20 || !strings.HasSuffix(string(page.Data[0]), `"meta":{"one":1}}`) {
		t.Fatal(page, err)
	}
	if after > before+512<<10 {
		t.Errorf("%d bytes are kept", after-before)
	}
	runtime.KeepAlive(page)
	runtime.KeepAlive(rows)
}
