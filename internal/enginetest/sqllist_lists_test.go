package enginetest

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	godiff "github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
	"github.com/tenantkit/tenantkit/paging/sqllist"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
	"github.com/tenantkit/tenantkit/scope"
)

type reply struct {
	envelope.Item `page:"id,uuid"`
	_             string `page:"tenant_id,uuid,tenant"`
	_             string `page:"comment_id,uuid"`
	Text          string `json:"text" page:"text,filter,sort"`
}

type comment struct {
	envelope.Item `page:"id,uuid"`
	_             string `page:"tenant_id,uuid,tenant"`
	Ticket        string `json:"ticket" page:"ticket,filter"`
	Text          string `json:"text" page:"text,filter,sort"`
	Size          *int64 `json:"size" page:"size,filter,sort"`
}

type ticket struct {
	envelope.Item `page:"id"`
	_             string `page:"tenant_id,uuid,tenant"`
	Title         string `json:"title" page:"title,filter,sort"`
}

// The ids of tickets are texts, and those of the others are uuid.
var (
	replies  = sqllist.Must[reply](sqllist.Declaration{Table: "replies", Object: "reply"})
	comments = sqllist.Must[comment](sqllist.Declaration{Table: "comments", Object: "comment", Lists: map[string]sqllist.Items{
		"replies": {List: replies, Parent: "comment_id"},
	}})
	tickets = sqllist.Must[ticket](sqllist.Declaration{Table: "tickets", Object: "ticket", Lists: map[string]sqllist.Items{
		"comments": {List: comments, Parent: "ticket"},
	}})
)

// ticketTables says where the items of the test are.
var ticketTables = []struct {
	list  *sqllist.List
	paths []string // in the order of the columns
}{
	{tickets, []string{"_id", "tenant", "title"}},
	{comments, []string{"_id", "tenant", "ticket", "text", "size"}},
	{replies, []string{"_id", "tenant", "comment", "text"}},
}

func ticketEngines(t testing.TB) []*engine {
	t.Helper()
	all := []*engine{{name: "SQLite", db: sqlite(t), dialect: sqlpage.SQLite}, {name: "PostgreSQL", db: postgres(t), dialect: sqlpage.PostgreSQL}}
	for _, e := range all {
		e.pages = &sqlpage.Pages{DB: e.db, Dialect: e.dialect}
		for _, create := range []string{
			"CREATE TABLE tickets (id text PRIMARY KEY, tenant_id uuid NOT NULL, title text NOT NULL);",
			"CREATE TABLE comments (id uuid PRIMARY KEY, tenant_id uuid NOT NULL, ticket text NOT NULL, text text NOT NULL, size bigint);",
			"CREATE TABLE replies (id uuid PRIMARY KEY, tenant_id uuid NOT NULL, comment_id uuid NOT NULL, text text NOT NULL);",
		} {
			if e.dialect == sqlpage.SQLite {
				create = strings.NewReplacer("uuid", "TEXT", "bigint", "INTEGER", ");", ") STRICT").Replace(create)
			}
			e.exec(t, create)
		}
		t.Cleanup(func() { e.exec(t, "DROP TABLE tickets; DROP TABLE comments; DROP TABLE replies") })
		for i, parent := range []string{"", "ticket", "comment_id"} {
			indexes, err := sqlpage.Indexes(*ticketTables[i].list.Schema(), ticketTables[i].list.Table(), e.dialect, strings.Fields(parent)...)
			if err != nil {
				t.Fatal(err)
			}
			for _, index := range indexes {
				e.exec(t, index)
			}
		}
	}
	return all
}

// tree has the items of each table.
type tree [3][]item

func (r random) tree() (all tree) {
	of := func(items []item) string {
		return one(r, append(items, item{"_id": "00000000-0000-4000-8000-000000000000"})).id()
	}
	add := func(table, n int, more func() item) {
		for range n {
			i := more()
			i["_id"], i["tenant"] = r.uuid(false), one(r, tenants)
			i["object"] = ticketTables[table].list.Schema().Object
			all[table] = append(all[table], i)
		}
	}
	add(0, 1+r.IntN(8), func() item { return item{"title": one(r, texts)} })
	add(1, r.IntN(60), func() item {
		i := item{"ticket": of(all[0]), "text": one(r, texts)}
		if r.IntN(3) > 0 {
			i["size"] = one(r, counts)
		}
		return i
	})
	add(2, r.IntN(90), func() item { return item{"comment": of(all[1]), "text": one(r, texts)} })
	return all
}

func (e *engine) plant(t testing.TB, all tree) {
	t.Helper()
	for i, items := range all {
		e.exec(t, "DELETE FROM "+ticketTables[i].list.Table().Name)
		for _, it := range items {
			var args []any
			var marks []string
			for n, path := range ticketTables[i].paths {
				args, marks = append(args, e.value(sqlpage.Column{}, it[path])), append(marks, fmt.Sprintf("$%d", n+1))
			}
			e.exec(t, "INSERT INTO "+ticketTables[i].list.Table().Name+" VALUES ("+strings.Join(marks, ", ")+")", args...)
		}
	}
}

var ticketScopes = []string{
	"*", "*", "object.read.ticket", "object.read.ticket.*.title", "object.read.ticket.*.comments", "object.read.ticket.*.comments.text",
	"object.read.ticket.ID.comments", "object.read.ticket.ID.comments.size object.read.ticket.*.title", "object.read.ticket.*.comments.replies.text",
	"object.read.ticket.ID.comments.replies object.read.ticket.*.comments.text", "object.read.comment object.read.ticket.*.title", "object.read.ticket.ID",
}

var ticketPaths = []string{"title", "comments", "comments.text", "comments.size", "comments.ticket", "comments._id", "comments.tenant_id",
	"comments.replies", "comments.replies.text", "comments.replies.comment_id", "replies"}

// TestListsInLists is P25b for list properties: the lists of each object of a page are what the same
// query makes in memory of the items of the tenant that belong to this object.
func TestListsInLists(t *testing.T) {
	for _, e := range ticketEngines(t) {
		t.Run("P25b "+e.name, func(t *testing.T) {
			asked := 0
			for seed := range rounds(60) {
				r := newRandom(seed)
				all := r.tree()
				e.plant(t, all)
				for range 40 {
					if e.sameLists(t, r, all) {
						asked++
					}
				}
			}
			if asked < rounds(60)*10 {
				t.Errorf("only %d queries were answered", asked)
			}
		})
	}
}

func (e *engine) sameLists(t *testing.T, r random, all tree) bool {
	t.Helper()
	tenant, may := one(r, tenants), r.scopeOf(t, one(r, ticketScopes), all[0])
	raw := r.ticketQuery(all)
	got, err := tickets.Page(t.Context(), e.pages, tenant, may, raw)
	m := memory{all, tenant, may}
	want, wantErr := m.page(raw)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		t.Fatalf("%s: %v, want %v", raw, err, wantErr)
	}
	if diff := godiff.Diff(decoded(t, want), decoded(t, got)); diff != "" {
		t.Fatalf("%s: %s\n%s", tenant, raw, diff)
	}
	return err == nil
}

func (r random) scopeOf(t *testing.T, chains string, items []item) scope.Set {
	t.Helper()
	set, err := scope.Compile("test", strings.Fields(strings.ReplaceAll(chains, "ID", one(r, items).id()))...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// ticketQuery returns arguments for the list and the lists in it.
func (r random) ticketQuery(all tree) string {
	q := paging.Query{Limit: 1 + r.IntN(8), Lists: map[string]paging.Query{}}
	if r.IntN(3) > 0 {
		sub := r.subQuery(all[1], []string{"text", "size"})
		if r.IntN(2) == 0 {
			sub.Lists = map[string]paging.Query{"replies": r.subQuery(all[2], []string{"text"})}
		}
		q.Lists["comments"] = sub
	}
	values, err := url.ParseQuery(q.Encode())
	if err != nil {
		panic(err)
	}
	for range r.IntN(6) {
		values.Add("paths[]", one(r, ticketPaths))
	}
	return values.Encode()
}

func (r random) subQuery(items []item, paths []string) (q paging.Query) {
	for _, path := range paths {
		if r.IntN(2) == 0 {
			q.Sort = append(q.Sort, paging.Key{Path: path, Desc: r.IntN(2) == 0})
		}
	}
	if r.IntN(2) == 0 {
		q.Where = parsed("text", one(r, []string{"$gt", "$ne", "$lte"}), one(r, texts))
	}
	if len(items) > 0 && r.IntN(3) == 0 {
		q = goOn(q, one(r, items))
	}
	q.Limit, q.Skip = r.IntN(6), max(r.IntN(6)-3, 0)
	return q
}

// memory answers the lists of a caller from a tree.
type memory struct {
	tree
	tenant string
	may    scope.Set
}

func (m memory) page(raw string) (any, error) {
	grant := m.may.On(scope.Read, "ticket")
	q, err := tickets.Schema().Parse(raw, func(path string) bool {
		if path == "comments" || path == "comments.replies" {
			return m.may.Overlaps(scope.Object(scope.Read, "ticket", "", path))
		}
		return grant.Property(path)
	})
	if err != nil {
		return envelope.List[any]{}, err
	}
	ids, all := grant.IDs()
	items := slices.DeleteFunc(slices.Clone(m.tree[0]), func(i item) bool { return !all && !slices.Contains(ids, i.id()) })
	page, more := mempage.Page(ofTenant(items, m.tenant), q, get)
	list := envelope.List[any]{HasMore: more}
	for _, i := range page {
		list.Data = append(list.Data, m.shown(0, q, i, i.id(), ""))
	}
	return list, nil
}

var (
	ownPaths  = [3][]string{{"title"}, {"ticket", "text", "size"}, {"text"}}
	listPaths = [3]string{"comments", "replies", ""}
)

// shown is an item of a table as the caller sees it. prefix is the path of its list in the root.
func (m memory) shown(table int, q paging.Query, i item, root, prefix string) map[string]any {
	shown := map[string]any{"_id": i.id(), "object": i["object"]}
	reads := func(path string) bool { return m.may.Allows(scope.Object(scope.Read, "ticket", root, path)) }
	for _, path := range ownPaths[table] {
		if q.Wants(path) && reads(prefix+path) {
			shown[path] = i[path]
		}
	}
	list := listPaths[table]
	sub, asked := q.Lists[list]
	if !asked || !q.Wants(list) || !slices.ContainsFunc(m.pathsBelow(table, prefix), reads) {
		return shown
	}
	parent := cmp.Or(map[int]string{1: "comment"}[table], "ticket")
	below := slices.DeleteFunc(ofTenant(m.tree[table+1], m.tenant), func(j item) bool { return j[parent] != i.id() })
	page, more := mempage.Page(below, sub, get)
	in := envelope.List[any]{HasMore: more}
	for _, j := range page {
		in.Data = append(in.Data, m.shown(table+1, sub, j, root, prefix+list+"."))
	}
	shown[list] = in
	return shown
}

// pathsBelow returns the path of the list in the items of a table, and those of what is in it.
func (m memory) pathsBelow(table int, prefix string) []string {
	list := prefix + listPaths[table]
	paths := []string{list, list + "._id", list + ".object"}
	for _, path := range ownPaths[table+1] {
		paths = append(paths, list+"."+path)
	}
	if table+1 < 2 {
		paths = append(paths, m.pathsBelow(table+1, list+".")...)
	}
	return paths
}

// TestListsInListsAreBounded is P25b: it has 300 objects with 300 items each.
func TestListsInListsAreBounded(t *testing.T) {
	leftToTheGate(t)
	for _, e := range ticketEngines(t) {
		t.Run("P25b "+e.name, func(t *testing.T) {
			ids := "SELECT value AS i FROM json_each(?1)"
			if e.dialect == sqlpage.PostgreSQL {
				ids = "SELECT i::int AS i FROM json_array_elements_text($1::json) AS e (i)"
			}
			numbers, err := json.Marshal(func() (all []int) {
				for i := range 300 {
					all = append(all, i)
				}
				return all
			}())
			if err != nil {
				t.Fatal(err)
			}
			e.exec(t, "INSERT INTO tickets SELECT 't' || i, '"+tenants[0]+"', '' FROM ("+ids+") AS a", string(numbers))
			e.exec(t, "INSERT INTO comments SELECT CAST(substr(CAST(10000000 + a.i AS text), 1, 8) || '-0000-4000-8000-' || CAST(100000000000 + b.i AS text) AS "+
				map[sqlpage.Dialect]string{sqlpage.SQLite: "TEXT", sqlpage.PostgreSQL: "uuid"}[e.dialect]+"), '"+tenants[0]+"', 't' || a.i, '', 1 FROM ("+ids+") AS a CROSS JOIN ("+ids+") AS b", string(numbers))
			page, err := tickets.Page(t.Context(), e.pages, tenants[0], scope.Unscoped(), "limit=300&paths[]=comments._id&comments.limit=1000")
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range page.Data {
				var got struct{ Comments envelope.List[envelope.Item] }
				if err := json.Unmarshal(text, &got); err != nil || len(got.Comments.Data) != 33 || !got.Comments.HasMore {
					t.Fatal(len(got.Comments.Data), got.Comments.HasMore, err)
				}
			}
			_, err = tickets.Page(t.Context(), e.pages, tenants[0], scope.Unscoped(), "limit=300&paths[]=comments._id&comments.skip=34")
			if refused, ok := errors.AsType[*paging.Error](err); !ok || refused.Fault().Faults[0].Path != "comments.skip" {
				t.Error(err)
			}
			one, err := tickets.Get(t.Context(), e.pages, tenants[0], scope.Unscoped(), "t7", "paths[]=comments._id&comments.limit=1000&comments.skip=34")
			var got struct{ Comments envelope.List[envelope.Item] }
			if err := errors.Join(err, json.Unmarshal(one, &got)); err != nil || len(got.Comments.Data) != 266 || got.Comments.HasMore {
				t.Error(len(got.Comments.Data), err)
			}
		})
	}
}

// TestParentsThatCannotBe is P25b: ids that the database cannot compare have no rows and cause no
// error. A table whose ids have no bytewise collation has the rows of the page alone.
func TestParentsThatCannotBe(t *testing.T) {
	for _, e := range ticketEngines(t) {
		t.Run("P25b "+e.name, func(t *testing.T) {
			parent := uuids[0].(string)
			if e.dialect == sqlpage.SQLite {
				e.exec(t, "DROP TABLE replies; CREATE TABLE replies (id TEXT COLLATE NOCASE, tenant_id TEXT, comment_id TEXT, text TEXT) STRICT")
			}
			few := []string{"5b000000-0000-4000-8000-00000000000a", "5b000000-0000-4000-8000-00000000000b"}
			if e.dialect == sqlpage.SQLite {
				few[1] = strings.ToUpper(few[0])
			}
			for i, id := range few {
				e.exec(t, "INSERT INTO replies VALUES ($1, $2, $3, $4)", id, tenants[0], parent, fmt.Sprint(i))
			}
			q := paging.Query{Where: paging.Eq("text", "0"), Limit: 5}
			rows, err := e.pages.QueryEach(t.Context(), q, replies.Table(), sqlpage.RowScope{Tenant: tenants[0], AllIDs: true}, "comment_id",
				[]string{"", "x", "\xff", "a\x00", strings.ToUpper(parent) + "x", parent})
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var got []string
			for rows.Next() {
				var of, id, text string
				if err := rows.Scan(&of, &id, &text); err != nil {
					t.Fatal(err)
				}
				got = append(got, id)
			}
			if diff := godiff.Diff(few[:1], got); diff != "" || rows.Err() != nil {
				t.Error(diff, rows.Err())
			}
		})
	}
}

// captured is a database that keeps the statement that it is asked to run, and fails.
type captured struct {
	driver.Conn
	text string
	args []any
}

func (c *captured) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c *captured) Driver() driver.Driver                        { return nil }
func (c *captured) Close() error                                 { return nil }

func (c *captured) Prepare(text string) (driver.Stmt, error) { return nil, errors.New("not prepared") }

func (c *captured) QueryContext(_ context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.text, c.args = text, nil
	for _, a := range args {
		c.args = append(c.args, a.Value)
	}
	return nil, errors.New("only captured")
}

// TestListsInListsReadTheIndex has each list read a range of the index that begins with the tenant
// and the parent, also after a cursor.
func TestListsInListsReadTheIndex(t *testing.T) {
	for _, e := range ticketEngines(t) {
		c := &captured{}
		pages := &sqlpage.Pages{DB: sql.OpenDB(c), Dialect: e.dialect}
		for name, test := range map[string]struct {
			q     paging.Query
			index string
		}{
			"from the start":          {paging.Query{Limit: 5}, "comments_tenant_id_ticket__id"},
			"sorted":                  {paging.Query{Limit: 5, Sort: []paging.Key{{Path: "text"}}}, "comments_tenant_id_ticket_text__id"},
			"after a cursor":          {goOn(paging.Query{Limit: 5}, item{"_id": uuids[1]}), "comments_tenant_id_ticket__id"},
			"after a cursor of nulls": {goOn(paging.Query{Limit: 5, Sort: []paging.Key{{Path: "size"}}}, item{"_id": uuids[1]}), "comments_tenant_id_ticket_size__id"},
		} {
			t.Run(name+" in "+e.name, func(t *testing.T) {
				_, err := pages.QueryEach(t.Context(), test.q, comments.Table(), sqlpage.RowScope{Tenant: tenants[0], AllIDs: true}, "ticket", []string{"a", "b"})
				if err == nil || c.text == "" {
					t.Fatal(err)
				}
				plan := e.explain(t, c.text, c.args)
				if !strings.Contains(plan, " "+test.index+" ") || strings.Count(plan, "SCAN r\n") > strings.Count(plan, "CO-ROUTINE r\n") || strings.Contains(plan, "Seq Scan") {
					t.Errorf("%s\n%s", c.text, plan)
				}
			})
		}
	}
}

// BenchmarkListsInLists is a page of 100 objects with 10 items each: in one statement, and by one
// statement for each object.
func BenchmarkListsInLists(b *testing.B) {
	for _, e := range ticketEngines(b) {
		r := newRandom(1)
		var all tree
		for n := range 100 {
			parent := fmt.Sprintf("%024x", n)
			all[0] = append(all[0], item{"_id": parent, "tenant": tenants[0], "title": "A title"})
			for range 15 {
				all[1] = append(all[1], item{"_id": r.uuid(false), "tenant": tenants[0], "ticket": parent, "text": "A text of some length"})
			}
		}
		e.plant(b, all)
		b.Run(e.name+"/one statement", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				page, err := tickets.Page(b.Context(), e.pages, tenants[0], scope.Unscoped(), "paths[]=title&paths[]=comments.text&comments.limit=10")
				if err != nil || len(page.Data) != 100 {
					b.Fatal(err)
				}
			}
		})
		b.Run(e.name+"/one for each", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, i := range all[0] {
					if _, err := tickets.Get(b.Context(), e.pages, tenants[0], scope.Unscoped(), i.id(), "paths[]=title&paths[]=comments.text&comments.limit=10"); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
