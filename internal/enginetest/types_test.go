package enginetest

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// adopted is a table as adopters of PostgreSQL have it: keys are uuid, times have microseconds and
// no text has the collation "C".
var adopted = sqlpage.Table{
	Name:   "adopted",
	Select: []string{"id"},
	Properties: map[string]sqlpage.Column{
		"_id":    {Name: "id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
		"tenant": {Name: "tenant_id", Type: paging.String, NotNull: true, Storage: sqlpage.UUID},
		"made":   {Name: "made", Type: paging.Date, NotNull: true},
		"ended":  {Name: "ended", Type: paging.Date},
		"due":    {Name: "due", Type: paging.Date, Storage: sqlpage.Day},
		"by":     {Name: "by_id", Type: paging.String, Storage: sqlpage.UUID},
		"title":  {Name: "title", Type: paging.String, NotNull: true},
		"size":   {Name: "size", Type: paging.Integer},
		"price":  {Name: "price", Type: paging.Number},
		"state":  {Name: "state", Type: paging.String, Storage: sqlpage.Enum},
		"tags[]": {Name: "tags", Type: paging.String, Storage: sqlpage.Array},

		"meta.po":   {Name: "meta", Base: "meta"},
		"meta.n.er": {Name: "meta", Base: "meta"},

		"label": {UnsafeExpression: "lower(title)", Type: paging.String, NotNull: true},
		"phase": {UnsafeExpression: "CASE state WHEN 'Closed' THEN 'Closed' WHEN 'a' THEN 'a' WHEN 'open' THEN 'open' END", Type: paging.String},
		"er":    {UnsafeExpression: "(meta -> 'n' ->> 'er')::numeric", Type: paging.Number},
	},
	Object: "item",
	Tenant: "tenant",
}

// adoptedBy returns adopted with the SQL of a dialect.
func adoptedBy(d sqlpage.Dialect) sqlpage.Table {
	table := adopted
	if d == sqlpage.SQLite {
		table.Properties = maps.Clone(adopted.Properties)
		table.Properties["er"] = sqlpage.Column{UnsafeExpression: "json_extract(meta, '$.n.er')", Type: paging.Number}
	}
	return table
}

var adoptedSchema = func() paging.Schema {
	s := paging.Schema{Object: "item"}
	for _, path := range adoptedPaths {
		p := paging.Property{Path: path, Type: adopted.Properties[path].Type, Filter: true, Sort: path != "state", Null: true}
		switch path {
		case "meta.po":
			p.Type = paging.String
		case "meta.n.er":
			p.Type = paging.Number
		}
		s.Properties = append(s.Properties, p)
	}
	s.Properties = append(s.Properties, paging.Property{Path: "tags[]", Type: paging.String, Filter: true, Null: true})
	return s
}()

// adoptedPaths are the paths that items are sorted by. The last have no column of their own.
var adoptedPaths = []string{"made", "ended", "due", "by", "title", "size", "price", "state", "meta.po", "meta.n.er", "label", "phase", "er"}

const adoptedColumns = 8 // of adoptedPaths

// adoptedEngines returns all databases with an adopted table and its indexes. In PostgreSQL its
// texts are in an order that is not bytewise.
func adoptedEngines(t testing.TB) []*engine {
	t.Helper()
	all := []*engine{{name: "SQLite", db: sqlite(t), dialect: sqlpage.SQLite}, {name: "PostgreSQL", db: postgres(t), dialect: sqlpage.PostgreSQL}}
	for _, e := range all {
		create := `CREATE TABLE adopted (id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, made TEXT NOT NULL, ended TEXT, due TEXT, by_id TEXT,
			title TEXT NOT NULL COLLATE NOCASE, size INTEGER, price ANY, state TEXT, tags TEXT, meta TEXT NOT NULL) STRICT`
		if e.dialect == sqlpage.PostgreSQL {
			// It stays, because statements of the pool that are prepared know it. Its labels are in no order.
			e.exec(t, "DO $$ BEGIN CREATE TYPE adopted_state AS ENUM ('open', 'Closed', 'a', ''); EXCEPTION WHEN duplicate_object THEN NULL; END $$")
			create = `CREATE TABLE adopted (id uuid PRIMARY KEY, tenant_id uuid NOT NULL, made timestamptz NOT NULL, ended timestamptz(6), due date, by_id uuid,
				title varchar(80) NOT NULL COLLATE "en-x-icu", size bigint, price numeric(30, 10), state adopted_state,
				tags text[], meta jsonb NOT NULL)`
		}
		e.exec(t, create)
		t.Cleanup(func() { e.exec(t, "DROP TABLE adopted") })
		e.table, e.pages = adoptedBy(e.dialect), &sqlpage.Pages{DB: e.db, Dialect: e.dialect}
		indexes, err := sqlpage.Indexes(adoptedSchema, e.table, e.dialect)
		if err != nil {
			t.Fatal(err)
		}
		for _, index := range indexes {
			e.exec(t, index)
		}
	}
	return all
}

// adopt replaces the content of the table.
func (e *engine) adopt(t testing.TB, items []item) {
	t.Helper()
	e.exec(t, "DELETE FROM adopted")
	for _, i := range items {
		args := []any{i["_id"], i["tenant"]}
		for _, path := range adoptedPaths[:adoptedColumns] {
			args = append(args, e.value(adopted.Properties[path], i[path]))
		}
		tags := "$11"
		if e.dialect == sqlpage.PostgreSQL {
			tags = "CASE WHEN $11::jsonb IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text($11::jsonb)) END"
		}
		args = append(args, asJSON(t, i["tags[]"]), asJSON(t, i.meta()))
		e.exec(t, "INSERT INTO adopted VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "+tags+", $12)", args...)
	}
}

// asJSON returns the JSON of a value, or nil of nil.
func asJSON(t testing.TB, v any) any {
	t.Helper()
	if v == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// meta is the document of the column meta.
func (i item) meta() map[string]any {
	meta := map[string]any{}
	if po, ok := i["meta.po"]; ok {
		meta["po"] = po
	}
	if er, ok := i["meta.n.er"]; ok {
		meta["n"] = map[string]any{"er": er}
	}
	return meta
}

// derive sets the properties that are expressions over others.
func (i item) derive() {
	i["label"] = strings.ToLower(i["title"].(string))
	for of, from := range map[string]string{"phase": "state", "er": "meta.n.er"} {
		if v, ok := i[from]; ok && v != "" {
			i[of] = v
		}
	}
}

var tenants = []string{"11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"}

// uuid is one of few if few is set.
func (r random) uuid(few bool) string {
	b := make([]byte, 16)
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	if few {
		b = bytes.Repeat([]byte{one(r, []byte{0, 9, 0x9a, 0xa0, 0xff})}, 16)
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

var adoptedTimes = []any{"1969-12-31T23:59:59.999Z", "2026-01-02T00:00:00.000Z", "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.001Z"}

// adoptedValue returns a value that an item can have.
func (r random) adoptedValue(path string) any {
	switch path {
	case "made", "ended":
		return one(r, adoptedTimes)
	case "due":
		return one(r, days)
	case "size":
		return one(r, integers)
	case "price", "meta.n.er", "er":
		return one(r, numbers("-1.5", "0", "0.1", "5", "12345678901"))
	case "state", "phase":
		return one(r, []any{"open", "Closed", "a", ""})
	case "title", "meta.po", "label":
		return one(r, texts)
	case "tags[]":
		return one(r, []any{"a", "A", "b", "", "é", `a"b`, "{}", "null"})
	}
	return r.uuid(true)
}

func (r random) adoptedItems(n int) (items []item) {
	for range n {
		i := item{"_id": r.uuid(false), "object": "item", "tenant": one(r, tenants)}
		for _, path := range adoptedPaths {
			if v := adopted.Properties[path]; v.UnsafeExpression == "" && (v.NotNull || r.IntN(4) > 0) {
				i[path] = r.adoptedValue(path)
			}
		}
		if r.IntN(4) > 0 {
			tags := []any{}
			for range r.IntN(4) {
				tags = append(tags, one(r, []any{r.adoptedValue("tags[]"), r.adoptedValue("tags[]"), nil}))
			}
			i["tags[]"] = tags
		}
		i.derive()
		items = append(items, i)
	}
	return items
}

// adoptedQuery returns a query with values that items can have.
func (r random) adoptedQuery(items []item) paging.Query {
	q := paging.Query{Sort: r.sort(append(adoptedPaths, "object")), Limit: 1 + r.IntN(40), Skip: max(r.IntN(9)-5, 0)}
	for range r.IntN(3) {
		path := one(r, append(adoptedPaths, "_id", "object", "tags[]", "tags[]"))
		operand := one(r, items)[path]
		switch {
		case path == "object":
			operand = one(r, []any{"item", "items", "a"})
		case path == "tags[]" && r.IntN(3) == 0:
			q.Where = paging.And(q.Where, r.ofTags())
			continue
		case path == "tags[]", path != "_id" && r.IntN(2) == 0:
			operand = r.adoptedValue(path)
		}
		operator := one(r, []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"})
		if path == "title" || path == "state" {
			operator = one(r, []string{operator, "$prefix"})
		}
		if operand == nil {
			operator = "$ne"
		}
		q.Where = one(r, []func(...paging.Filter) paging.Filter{paging.And, paging.Or})(q.Where, parsed(path, operator, operand))
		if r.IntN(3) == 0 {
			q.Where = paging.Not(q.Where)
		}
	}
	if r.IntN(2) == 0 {
		q = goOn(q, one(r, items))
	}
	return q
}

// ofTags returns a condition on the array that no single text makes.
func (r random) ofTags() paging.Filter {
	values := []any{r.adoptedValue("tags[]"), r.adoptedValue("tags[]"), one(r, []any{nil, json.Number("1"), true, "x"})}
	return one(r, []paging.Filter{parsed("tags[]", "$in", values), parsed("tags[]", "$nin", values), parsed("tags[]", "$eq", nil), parsed("tags[]", "$ne", nil),
		parsed("tags[]", "$exists", true), parsed("tags[]", "$exists", false), parsed("tags[]", "$in", values[2:]), parsed("tags[]", "$gt", json.Number("1"))})
}

func (e *engine) visiblePage(t testing.TB, q paging.Query, visible sqlpage.RowScope) (ids []string, more bool) {
	t.Helper()
	rows, err := e.pages.Query(t.Context(), q, e.table, visible)
	if err != nil {
		t.Fatalf("%s: where %s sort %v: %v", e.name, q.Where, q.Sort, err)
	}
	ids = readIDs(t, rows)
	return ids, rows.More()
}

func ofTenant(items []item, tenant string) []item {
	return slices.DeleteFunc(slices.Clone(items), func(i item) bool { return i["tenant"] != tenant })
}

// TestAdoptedPages is P25 and P26 with the column types that adopters have: each page is that of
// the tenant's items in memory.
func TestAdoptedPages(t *testing.T) {
	for _, e := range adoptedEngines(t) {
		t.Run("P26 "+e.name, func(t *testing.T) {
			for seed := range rounds(30) {
				e.samePages(t, newRandom(seed))
			}
		})
	}
}

// TestSessionsInAnotherTimeZone is TestAdoptedPages where the driver prepares nothing and the
// session's time zone is not UTC.
func TestSessionsInAnotherTimeZone(t *testing.T) {
	e := adoptedEngines(t)[1]
	zoned, err := sql.Open("pgx", started.server.source+"&default_query_exec_mode=exec&timezone=Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	defer zoned.Close()
	e.pages = &sqlpage.Pages{DB: zoned, Dialect: e.dialect}
	for seed := range rounds(10) {
		e.samePages(t, newRandom(seed))
	}
}

// samePages compares random pages of random items.
func (e *engine) samePages(t *testing.T, r random) {
	t.Helper()
	items := r.adoptedItems(60)
	e.adopt(t, items)
	for range 60 {
		tenant, q := one(r, tenants), r.adoptedQuery(items)
		want, wantMore := inMemory(ofTenant(items, tenant), q)
		got, more := e.visiblePage(t, q, sqlpage.RowScope{Tenant: tenant, AllIDs: true})
		if diff := cmp.Diff(want, got); diff != "" || more != wantMore {
			t.Fatalf("where %s sort %v skip %d limit %d: more %t\n%s", q.Where, q.Sort, q.Skip, q.Limit, more, diff)
		}
	}
}

// TestMicroseconds is P13 for times that differ only below the millisecond that a client sees: no
// item is lost or repeated.
func TestMicroseconds(t *testing.T) {
	for _, e := range adoptedEngines(t) {
		t.Run("P13 "+e.name, func(t *testing.T) {
			r := newRandom(9)
			items := r.adoptedItems(40)
			for _, i := range items {
				i["tenant"], i["made"] = tenants[0], one(r, adoptedTimes[2:])
			}
			e.adopt(t, items)
			for _, desc := range []bool{false, true} {
				whole := paging.Query{Sort: []paging.Key{{Path: "made", Desc: desc}}, Limit: len(items)}
				want, _ := inMemory(items, whole)
				var got []string
				for q := (paging.Query{Sort: whole.Sort, Limit: 1}); len(got) <= len(want); {
					page, more := e.visiblePage(t, q, sqlpage.RowScope{Tenant: tenants[0], AllIDs: true})
					if got = append(got, page...); !more {
						break
					}
					q = goOn(q, byID(items)[page[0]])
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("down %t:\n%s", desc, diff)
				}
			}
		})
	}
}

// TestMalformedUUIDs is P26: a text of another form matches nothing, and is no error.
func TestMalformedUUIDs(t *testing.T) {
	valid := "a0000000-0000-4000-8000-00000000000a"
	malformed := []string{"", "x", "a", strings.ToUpper(valid), "{" + valid + "}", "urn:uuid:" + valid, strings.ReplaceAll(valid, "-", ""),
		valid[:35], valid + "0", valid[:35] + "g", valid[:35] + "é", strings.Replace(valid, "-", "0", 1), "a-000000-0000-4000-8000-00000000000a", valid + " ", `'`}
	for _, e := range adoptedEngines(t) {
		r := newRandom(1)
		items := r.adoptedItems(20)
		for _, i := range items {
			i["tenant"], i["by"] = tenants[0], valid
		}
		e.adopt(t, items)
		visible := sqlpage.RowScope{Tenant: tenants[0], AllIDs: true}
		for _, text := range malformed {
			t.Run("P26 "+text+" in "+e.name, func(t *testing.T) {
				for _, path := range []string{"_id", "by"} {
					for _, operator := range []string{"$eq", "$gt", "$gte", "$lt", "$lte"} {
						f := parsed(path, operator, text)
						if ids, _ := e.visiblePage(t, paging.Query{Where: f, Limit: 30}, visible); ids != nil {
							t.Errorf("%s matches %d", f, len(ids))
						}
						if ids, _ := e.visiblePage(t, paging.Query{Where: paging.Not(f), Limit: 30}, visible); len(ids) != 20 {
							t.Errorf("not %s matches %d", f, len(ids))
						}
					}
					if ids, _ := e.visiblePage(t, paging.Query{Where: parsed(path, "$in", []string{text, text}), Limit: 30}, visible); ids != nil {
						t.Errorf("%d are in it", len(ids))
					}
					for _, desc := range []bool{false, true} {
						q := goOn(paging.Query{Sort: []paging.Key{{Path: path, Desc: desc}}, Limit: 30}, item{"_id": text, "by": text})
						if ids, _ := e.visiblePage(t, q, visible); ids != nil {
							t.Errorf("%d follow it, sorted by %s, down %t", len(ids), path, desc)
						}
					}
				}
				if ids, _ := e.visiblePage(t, paging.Query{Limit: 30}, sqlpage.RowScope{Tenant: tenants[0], IDs: []string{text}}); ids != nil {
					t.Errorf("%d are visible", len(ids))
				}
				if _, err := e.pages.Query(t.Context(), paging.Query{Limit: 30}, e.table, sqlpage.RowScope{Tenant: text, AllIDs: true}); err == nil {
					t.Error("it is a tenant")
				}
			})
		}
	}
}

// TestNoValueFails is P26: no value that a request can have is refused by the database.
func TestNoValueFails(t *testing.T) {
	hostile := slices.Concat(texts, integers, decimals, doubles, booleans, beyond, dates, days, uuids, adoptedTimes, []any{nil, "infinity", "-infinity", "NaN", "now", "epoch",
		"294277-01-01T00:00:00Z", "2026-02-30T00:00:00.000Z", "2026-01-02T03:04:05.000001Z", "2026-01-02", json.Number("1e400"), json.Number("-0"), strings.Repeat("9", 300), "\u0000"})
	for _, e := range adoptedEngines(t) {
		t.Run("P26 "+e.name, func(t *testing.T) {
			r := newRandom(3)
			e.adopt(t, r.adoptedItems(20))
			for asked := 0; asked < 2000; {
				where, sort := map[string]any{}, one(r, adoptedPaths)
				for range 1 + r.IntN(3) {
					where[one(r, append(adoptedPaths, "_id", "object", "tags[]"))] = map[string]any{one(r, []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$prefix"}): one(r, hostile)}
				}
				text, err := json.Marshal(where)
				if err != nil {
					t.Fatal(err)
				}
				raw := url.Values{"where": {string(text)}, "sort": {fmt.Sprintf(`{"%s":%d}`, sort, one(r, []int{1, -1}))}}.Encode()
				q, err := adoptedSchema.Parse(raw, func(path string) bool { return path != "object" })
				if err != nil {
					continue // 400
				}
				asked++
				if r.IntN(2) == 0 {
					if after, err := q.After(one(r, hostile), one(r, []any{"", "x", uuids[1]})); err == nil && adopted.Properties[sort].Type != paging.Date {
						q = after
					}
				}
				e.visiblePage(t, q, sqlpage.RowScope{Tenant: tenants[0], AllIDs: true})
			}
		})
	}
}

// TestExpressionsOfArrays has columns with the names that json_each of SQLite has.
func TestExpressionsOfArrays(t *testing.T) {
	for _, e := range adoptedEngines(t) {
		create, texts := `CREATE TABLE arrays (id TEXT NOT NULL, value TEXT NOT NULL, e TEXT NOT NULL) STRICT`, `["x"]`
		if e.dialect == sqlpage.PostgreSQL {
			create, texts = `CREATE TABLE arrays (id text NOT NULL, value text[] NOT NULL, e text[] NOT NULL)`, "{x}"
		}
		e.exec(t, create)
		defer e.exec(t, "DROP TABLE arrays")
		e.exec(t, "INSERT INTO arrays VALUES ('a', $1, $2)", texts, texts)
		e.table = sqlpage.Table{Name: "arrays", Select: []string{"id"}, SharedByAllTenants: true, Properties: map[string]sqlpage.Column{
			"_id":     {Name: "id", Type: paging.String, NotNull: true},
			"value[]": {UnsafeExpression: "value", Type: paging.String, Storage: sqlpage.Array},
			"e[]":     {UnsafeExpression: "e", Type: paging.String, Storage: sqlpage.Array},
		}}
		for _, path := range []string{"value[]", "e[]"} {
			for _, where := range []paging.Filter{paging.Eq(path, "x"), paging.Gt(path, "w"), paging.Not(paging.Null(path)), paging.Ne(path, "y")} {
				if ids, _ := e.page(t, paging.Query{Where: where, Limit: 2}); len(ids) != 1 {
					t.Errorf("%s: %s: %q", e.name, where, ids)
				}
			}
		}
	}
}

// TestAdoptedIndexes has deep pages read the indexes of Indexes, and those on uuid an index that an
// adopter has without them.
func TestAdoptedIndexes(t *testing.T) {
	visible := sqlpage.RowScope{Tenant: tenants[0], AllIDs: true}
	last := item{"_id": tenants[1], "made": adoptedTimes[0], "by": tenants[0], "due": days[1], "title": "a", "size": integers[1], "price": integers[1],
		"label": "a", "phase": "a", "er": integers[1]}
	for _, e := range adoptedEngines(t) {
		t.Run(e.name, func(t *testing.T) {
			for path := range last {
				for _, desc := range []bool{false, true} {
					index := "adopted_tenant_" + path + map[bool]string{true: "_desc"}[desc] + "__id"
					if path == "_id" {
						index = "adopted_tenant__id"
					}
					e.readsIndex(t, goOn(paging.Query{Sort: []paging.Key{{Path: path, Desc: desc}}, Limit: 9}, last), visible, index)
				}
			}
			e.sortsNoPart(t, goOn(paging.Query{Sort: []paging.Key{{Path: "ended"}}, Limit: 9}, last), visible)
			e.sortsNoPart(t, goOn(paging.Query{Sort: []paging.Key{{Path: "meta.po", Desc: true}}, Limit: 9}, item{"_id": last["_id"], "meta.po": "a"}), visible)
			e.exec(t, "DROP INDEX adopted_tenant__id")
			e.exec(t, "CREATE INDEX plain ON adopted (tenant_id, id)")
			e.readsIndex(t, goOn(paging.Query{Limit: 9}, last), visible, "plain")
		})
	}
}

// TestPrefixIndexes has a prefix read the range of an index on the text.
func TestPrefixIndexes(t *testing.T) {
	visible := sqlpage.RowScope{Tenant: tenants[0], AllIDs: true}
	for _, e := range adoptedEngines(t) {
		q := paging.Query{Where: paging.Prefix("title", "ab"), Sort: []paging.Key{{Path: "title"}}, Limit: 9}
		e.readsIndex(t, q, visible, "adopted_tenant_title__id")
		text, args, err := sqlpage.Statement(q, e.table, visible, e.dialect)
		if err != nil {
			t.Fatal(err)
		}
		want := "title>? AND title<?"
		if e.dialect == sqlpage.PostgreSQL {
			want = "(title >= 'ab'::text) AND (title < 'ac'::text)"
		}
		if plan := e.explain(t, text, args); !strings.Contains(plan, want) {
			t.Errorf("%s: no %s in\n%s", e.name, want, plan)
		}
	}
}

// TestPrefixIndexesOfDocuments is TestPrefixIndexes for a text in a document.
func TestPrefixIndexesOfDocuments(t *testing.T) {
	for _, e := range engines(t, "prefixed") {
		q := paging.Query{Where: paging.Prefix("c_text", "ab"), Sort: []paging.Key{{Path: "c_text"}}, Limit: 9}
		text, args, err := sqlpage.Statement(q, e.table, everyRow, e.dialect)
		if err != nil {
			t.Fatal(err)
		}
		plan, want := e.explain(t, text, args), "prefixed_c_text_desc__id (<expr>=? AND <expr>=? AND <expr>>? AND <expr><?)"
		if e.dialect == sqlpage.PostgreSQL {
			_, plan, _ = strings.Cut(plan, "Index Cond: ")
			want = "< 'ac'::text)"
		}
		if !strings.Contains(plan, want) {
			t.Errorf("%s: no %s in\n%s", e.name, want, plan)
		}
	}
}

// sortsNoPart checks that an index has the order of each part of a page in PostgreSQL.
func (e *engine) sortsNoPart(t *testing.T, q paging.Query, visible sqlpage.RowScope) {
	t.Helper()
	if e.dialect != sqlpage.PostgreSQL {
		return
	}
	text, args, err := sqlpage.Statement(q, e.table, visible, e.dialect)
	if err != nil {
		t.Fatal(err)
	}
	plan := e.explain(t, text, args)
	if part := regexp.MustCompile(`Sort  .*\n *Sort Key.*\n *->  Index`).FindString(plan); part != "" {
		t.Errorf("a part is sorted:\n%s\n%s", text, plan)
	}
}
