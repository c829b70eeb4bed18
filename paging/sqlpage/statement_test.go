package sqlpage_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

var update = flag.Bool("update", false, "write what is compiled to testdata")

var dialects = map[string]sqlpage.Dialect{"postgresql": sqlpage.PostgreSQL, "sqlite": sqlpage.SQLite}

// notes has a property of each type, in columns and in a document.
var notes = sqlpage.Table{
	Name:   "public.notes",
	Select: []string{"id", "doc"},
	Properties: map[string]sqlpage.Column{
		"_id":     {Name: "id", Type: paging.String, NotNull: true},
		"org":     {Name: "org", Type: paging.String, NotNull: true},
		"title":   {Name: "title", Type: paging.String},
		"likes":   {Name: "likes", Type: paging.Integer, NotNull: true},
		"rank":    {Name: "rank", Type: paging.Integer},
		"price":   {Name: "price", Type: paging.Number},
		"weight":  {Name: "weight", Type: paging.Number, Double: true},
		"open":    {Name: "is_open", Type: paging.Boolean},
		"at":      {Name: "created_at", Type: paging.Date, NotNull: true},
		"c_a":     {Name: "doc"},
		"c_b.c-d": {Name: "doc"},
	},
}

// golden are queries, of which testdata has the statements.
var golden = []struct{ name, where, sort string }{
	{"everything", `{}`, ``},
	{"nothing", `{"$nor":[{}]}`, ``},
	{"equal text", `{"title":"a"}`, ``},
	{"equal null", `{"title":null}`, ``},
	{"not equal", `{"title":{"$ne":"a"}}`, ``},
	{"not null", `{"title":{"$ne":null}}`, ``},
	{"greater", `{"title":{"$gt":"a"}}`, ``},
	{"greater or equal", `{"likes":{"$gte":5}}`, ``},
	{"less", `{"price":{"$lt":5.25}}`, ``},
	{"less or equal", `{"weight":{"$lte":1e320}}`, ``},
	{"less or equal, double", `{"weight":{"$lte":0.1}}`, ``},
	{"in", `{"title":{"$in":["a",null,"b",5]}}`, ``},
	{"in nothing", `{"title":{"$in":[]}}`, ``},
	{"not in", `{"likes":{"$nin":[1,2.0,2.5]}}`, ``},
	{"exists", `{"title":{"$exists":true}}`, ``},
	{"exists not", `{"title":{"$exists":false}}`, ``},
	{"not", `{"likes":{"$not":{"$gt":5,"$lt":9}}}`, ``},
	{"and, or, nor", `{"title":"a","$or":[{"likes":1},{"likes":2,"rank":3}],"$nor":[{"rank":1},{"rank":2}]}`, ``},
	{"boolean", `{"open":{"$gte":true}}`, ``},
	{"date", `{"at":{"$gt":"2026-01-02T03:04:05.000Z"}}`, ``},
	{"a text for an integer", `{"likes":{"$gt":"5"}}`, ``},
	{"between integers", `{"likes":{"$gt":5.5},"rank":{"$gte":-5.5}}`, ``},
	{"below all integers", `{"likes":{"$gt":-1e30},"rank":{"$lt":-1e30}}`, ``},
	{"document equal text", `{"c_a":"x"}`, ``},
	{"document equal number", `{"c_b.c-d":1.50}`, ``},
	{"document null", `{"c_a":null}`, ``},
	{"document boolean", `{"c_a":{"$lte":true}}`, ``},
	{"document greater", `{"c_a":{"$gt":5}}`, ``},
	{"document not less", `{"c_a":{"$not":{"$lt":"x"}}}`, ``},
	{"document in", `{"c_a":{"$in":[1,"x",true,null,2]}}`, ``},
	{"document exists", `{"c_b.c-d":{"$exists":true}}`, ``},
	{"sort", `{}`, `{"title":-1,"likes":1}`},
	{"sort by a document", `{}`, `{"c_a":-1}`},
	{"sort by _id first", `{}`, `{"_id":-1,"title":1}`},
	{"keyset by _id", `{"_id":{"$gt":"n7"}}`, ``},
	{"keyset of one direction", `{"org":"acme","$or":[{"likes":{"$gt":5}},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":1}`},
	{"keyset of one direction down", `{"$or":[{"$nor":[{"likes":{"$gte":5}}]},{"likes":5,"_id":{"$lt":"n7"}}]}`, `{"likes":-1,"_id":-1}`},
	{"keyset of mixed directions", `{"org":"acme","$or":[{"likes":{"$lt":5}},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":-1}`},
	{"keyset from a null", `{"$or":[{"title":{"$ne":null}},{"title":null,"_id":{"$gt":"n7"}}]}`, `{"title":1}`},
	{"keyset down to null", `{"$or":[{"$nor":[{"title":{"$gte":"a"}}]},{"title":"a","_id":{"$gt":"n7"}}]}`, `{"title":-1}`},
	{"keyset of a document", `{"$or":[{"c_a":{"$gt":5}},{"c_a":5,"_id":{"$gt":"n7"}}]}`, `{"c_a":1}`},
	{"keyset of a document down", `{"$or":[{"$nor":[{"c_a":{"$gte":"x"}}]},{"c_a":"x","_id":{"$gt":"n7"}}]}`, `{"c_a":-1}`},
	{"keyset with null not last", `{"$or":[{"likes":{"$gt":5}},{"likes":5,"rank":null,"_id":{"$gt":"n7"}}]}`, `{"likes":1,"rank":-1}`},
	{"not the keyset of this sort", `{"$or":[{"likes":{"$gt":5}},{"likes":5,"_id":{"$gt":"n7"}}]}`, `{"likes":-1}`},
	{"not the same value", `{"$or":[{"likes":{"$gt":5}},{"likes":6,"_id":{"$gt":"n7"}}]}`, `{"likes":1}`},
	{"where null is, $lt is not behind", `{"$or":[{"title":{"$lt":"a"}},{"title":"a","_id":{"$gt":"n7"}}]}`, `{"title":-1}`},
}

func TestGolden(t *testing.T) {
	for name, dialect := range dialects {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			for _, g := range golden {
				text, args, err := sqlpage.Statement(query(t, g.where, g.sort), notes, dialect)
				if err != nil {
					fmt.Fprintf(&got, "-- %s\n-- %v\n\n", g.name, err)
					continue
				}
				checkPlaceholders(t, text, args, dialect)
				fmt.Fprintf(&got, "-- %s\n%s;\n-- %#v\n\n", g.name, text, args)
			}
			compareGolden(t, name+".sql", got.String())
		})
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// query reads a where, and a sort as the interface has it.
func query(t *testing.T, where, sort string) paging.Query {
	t.Helper()
	f, err := paging.ParseFilter(where)
	if err != nil {
		t.Fatal(err)
	}
	return paging.Query{Where: f, Sort: sortKeys(sort), Limit: 10}
}

func sortKeys(sort string) (keys []paging.Key) {
	for element := range strings.FieldsFuncSeq(sort, func(r rune) bool { return strings.ContainsRune("{},", r) }) {
		path, direction, _ := strings.Cut(element, ":")
		keys = append(keys, paging.Key{Path: strings.Trim(path, `"`), Desc: direction == "-1"})
	}
	return keys
}

var numbered = map[sqlpage.Dialect]*regexp.Regexp{
	sqlpage.PostgreSQL: regexp.MustCompile(`\$(\d+)::`),
	sqlpage.SQLite:     regexp.MustCompile(`\?(\d+)`),
}

// checkPlaceholders wants each argument to be used, and no other.
func checkPlaceholders(t *testing.T, text string, args []any, dialect sqlpage.Dialect) {
	t.Helper()
	var numbers []int
	for _, match := range numbered[dialect].FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(match[1])
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	if len(numbers) != len(args) || len(args) > 0 && (numbers[0] != 1 || numbers[len(args)-1] != len(args)) {
		t.Errorf("placeholders %v for %d arguments in\n%s", numbers, len(args), text)
	}
}

func TestSkip(t *testing.T) {
	keyset := `{"$or":[{"likes":{"$lt":5}},{"likes":5,"_id":{"$gt":"n7"}}]}`
	for _, where := range []string{`{}`, keyset} {
		q := query(t, where, `{"likes":-1}`)
		q.Skip = 30
		text, args, err := sqlpage.Statement(q, notes, sqlpage.SQLite)
		if err != nil {
			t.Fatal(err)
		}
		checkPlaceholders(t, text, args, sqlpage.SQLite)
		n := len(args)
		if !strings.HasSuffix(text, fmt.Sprintf(" LIMIT ?%d OFFSET ?%d", n-1, n)) || args[n-2] != int64(11) || args[n-1] != int64(30) {
			t.Errorf("%s\n%v", text, args)
		}
		if where == keyset && !slices.Contains(args, any(int64(41))) {
			t.Errorf("a range stops before what is skipped: %v", args)
		}
	}
}

func TestTheZeroQueryReadsNothing(t *testing.T) {
	_, args, err := sqlpage.Statement(paging.Query{}, notes, sqlpage.PostgreSQL)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{int64(0)}, args); diff != "" {
		t.Error(diff)
	}
}

// TestDocumentID has an _id in a document, which a filter may take for anything.
func TestDocumentID(t *testing.T) {
	table := sqlpage.Table{Name: "t", Select: []string{"doc"}, Properties: map[string]sqlpage.Column{"_id": {Name: "doc"}, "a": {Name: "doc"}}}
	for _, id := range []string{`"n7"`, `5`, `true`, `false`} {
		q := query(t, `{"org":1,"$or":[{"a":{"$gt":"x"}},{"a":"x","_id":{"$gt":`+id+`}}]}`, `{"a":1}`)
		table.Properties["org"] = sqlpage.Column{Name: "org", Type: paging.Integer}
		for name, dialect := range dialects {
			text, args, err := sqlpage.Statement(q, table, dialect)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			checkPlaceholders(t, text, args, dialect)
		}
	}
}

// TestInjection is P14: what a request brings is bound, or refused.
func TestInjection(t *testing.T) {
	hostile := []string{`'; DROP TABLE notes; --`, `"`, `\`, `%`, `_`, `$1`, `?1`, `' OR '1'='1`, `{a,b}`, "/*", "é\u2028"}
	clean := map[sqlpage.Dialect]string{}
	for _, dialect := range dialects {
		text, _, err := sqlpage.Statement(paging.Query{Where: valued("x"), Limit: 1}, notes, dialect)
		if err != nil {
			t.Fatal(err)
		}
		clean[dialect] = text
	}
	for _, value := range hostile {
		t.Run("P14 value "+value, func(t *testing.T) {
			for _, dialect := range dialects {
				text, args, err := sqlpage.Statement(paging.Query{Where: valued(value), Limit: 1}, notes, dialect)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(clean[dialect], text); diff != "" {
					t.Errorf("the value is in the text:\n%s", diff)
				}
				if n := slices.Index(args, any(value)); n < 0 {
					t.Errorf("the value is not among the arguments %q", args)
				}
			}
		})
		t.Run("P14 property "+value, func(t *testing.T) {
			for _, q := range []paging.Query{
				{Where: paging.Eq(value, 1), Limit: 1},
				{Where: paging.Null("c_a." + value), Limit: 1},
				{Sort: []paging.Key{{Path: value}}, Limit: 1},
			} {
				if text, _, err := sqlpage.Statement(q, notes, sqlpage.PostgreSQL); err == nil {
					t.Errorf("became %s", text)
				}
			}
		})
	}
}

func valued(v string) paging.Filter {
	return paging.Or(paging.Eq("title", v), paging.Gt("c_a", v), paging.In("c_b.c-d", v, v), paging.Ne("org", v))
}

func TestRefused(t *testing.T) {
	with := func(change func(*sqlpage.Table)) sqlpage.Table {
		table := sqlpage.Table{Name: "t", Select: []string{"a"}, Properties: map[string]sqlpage.Column{"_id": {Name: "a", Type: paging.String}}}
		change(&table)
		return table
	}
	property := func(path string, c sqlpage.Column) sqlpage.Table {
		return with(func(t *sqlpage.Table) { t.Properties[path] = c })
	}
	tables := map[string]sqlpage.Table{
		"no name":                       with(func(t *sqlpage.Table) { t.Name = "" }),
		"a name with a quote":           with(func(t *sqlpage.Table) { t.Name = `t" --` }),
		"a name of three parts":         with(func(t *sqlpage.Table) { t.Name = "a.b.c" }),
		"nothing to select":             with(func(t *sqlpage.Table) { t.Select = nil }),
		"a selected expression":         with(func(t *sqlpage.Table) { t.Select = []string{"count(*)"} }),
		"no _id":                        with(func(t *sqlpage.Table) { t.Properties = nil }),
		"a column without a name":       property("b", sqlpage.Column{}),
		"a column with a quote":         property("b", sqlpage.Column{Name: `b"`}),
		"a column with a digit first":   property("b", sqlpage.Column{Name: "1b"}),
		"a column longer than 63 bytes": property("b", sqlpage.Column{Name: strings.Repeat("b", 64)}),
		"a type that is none":           property("b", sqlpage.Column{Name: "b", Type: 99}),
		"an array in a document":        property("b[]", sqlpage.Column{Name: "b"}),
		"a quote in a document's path":  property("b'", sqlpage.Column{Name: "b"}),
		"an empty segment":              property("b..c", sqlpage.Column{Name: "b"}),
	}
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			if text, _, err := sqlpage.Statement(paging.Query{}, table, sqlpage.SQLite); err == nil {
				t.Error("Statement accepted it: ", text)
			}
			if indexes, err := sqlpage.Indexes(paging.Schema{}, table, sqlpage.SQLite); err == nil {
				t.Error("Indexes accepted it: ", indexes)
			}
		})
	}
	filters := map[string]paging.Filter{
		"a text with NUL":               paging.Eq("title", "a\x00"),
		"a text that is not UTF-8":      paging.Eq("c_a", "a\xff"),
		"one among others":              paging.In("title", "a", "b\x00"),
		"a date that is none":           paging.Gt("at", "tomorrow"),
		"one among dates":               paging.In("at", "tomorrow"),
		"a property that is not there":  paging.Null("nosuch"),
		"a property below a document's": paging.Null("c_a.b"),
	}
	for name, f := range filters {
		t.Run(name, func(t *testing.T) {
			for _, dialect := range dialects {
				if text, _, err := sqlpage.Statement(paging.Query{Where: f}, notes, dialect); err == nil {
					t.Error("accepted: ", text)
				}
			}
		})
	}
	t.Run("no dialect", func(t *testing.T) {
		if _, _, err := sqlpage.Statement(paging.Query{}, notes, 0); err == nil {
			t.Error("Statement accepted it")
		}
		if _, err := sqlpage.Indexes(paging.Schema{}, notes, 3); err == nil {
			t.Error("Indexes accepted it")
		}
	})
}

func TestIndexes(t *testing.T) {
	schema := paging.Schema{Properties: []paging.Property{
		{Path: "likes", Type: paging.Integer, Sort: true},
		{Path: "title", Type: paging.String, Sort: true, Null: true},
		{Path: "c_b.c-d", Type: paging.Number, Sort: true},
		{Path: "rank", Type: paging.Integer, Filter: true},
		{Path: "price", Type: paging.Number, Sort: true, Hidden: true},
	}}
	for name, dialect := range dialects {
		t.Run(name, func(t *testing.T) {
			indexes, err := sqlpage.Indexes(schema, notes, dialect, "org")
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, name+"_indexes.sql", strings.Join(indexes, ";\n")+";\n")
		})
	}
	if _, err := sqlpage.Indexes(schema, notes, sqlpage.SQLite, "nosuch"); err == nil {
		t.Error("a leading property that is not there was accepted")
	}
}

func TestIndexNamesDiffer(t *testing.T) {
	long := strings.Repeat("long", 9) + "."
	table := sqlpage.Table{Name: "t", Select: []string{"a"}, Properties: map[string]sqlpage.Column{"_id": {Name: "a"}}}
	schema := paging.Schema{}
	for _, path := range []string{"a-b", "a_b", "a.b", long + long + "a", long + long + "b"} {
		table.Properties[path] = sqlpage.Column{Name: "doc"}
		schema.Properties = append(schema.Properties, paging.Property{Path: path, Type: paging.String, Sort: true})
	}
	indexes, err := sqlpage.Indexes(schema, table, sqlpage.PostgreSQL)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, index := range indexes {
		name := strings.Split(index, `"`)[1]
		if names[name] || len(name) > 63 {
			t.Errorf("%s is too long or was there before", name)
		}
		names[name] = true
	}
	if len(names) != 11 {
		t.Errorf("%d indexes", len(names))
	}
}

// FuzzStatement compiles any filter and sort twice, for both data bases.
func FuzzStatement(f *testing.F) {
	for _, g := range golden {
		f.Add(g.where, g.sort, uint16(3))
	}
	f.Fuzz(func(t *testing.T, where, sort string, skip uint16) {
		filter, err := paging.ParseFilter(where)
		if err != nil {
			return
		}
		q := paging.Query{Where: filter, Sort: sortKeys(sort), Skip: int(skip), Limit: 10}
		for _, dialect := range dialects {
			text, args, err := sqlpage.Statement(q, notes, dialect)
			if err != nil {
				return
			}
			checkPlaceholders(t, text, args, dialect)
			again, argsAgain, err := sqlpage.Statement(q, notes, dialect)
			if err != nil || again != text || !cmp.Equal(args, argsAgain) {
				t.Fatalf("%s became\n%s\n%s", q.Where, text, again)
			}
			if strings.ContainsAny(text, ";\\%") || strings.Count(text, `"`)%2 != 0 || strings.Count(text, "(") != strings.Count(text, ")") {
				t.Fatalf("%s became %s", q.Where, text)
			}
		}
	})
}
