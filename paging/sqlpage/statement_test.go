package sqlpage_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

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
		"weight":  {Name: "weight", Type: paging.Number, Storage: sqlpage.Double},
		"open":    {Name: "is_open", Type: paging.Boolean},
		"pinned":  {Name: "is_pinned", Type: paging.Boolean, NotNull: true},
		"at":      {Name: "created_at", Type: paging.Date, NotNull: true, Storage: sqlpage.Milliseconds},
		"moment":  {Name: "changed_at", Type: paging.Date},
		"day":     {Name: "day", Type: paging.Date, Storage: sqlpage.Day},
		"state":   {Name: "state", Type: paging.String, NotNull: true, Storage: sqlpage.Enum},
		"by":      {Name: "author", Type: paging.String, Storage: sqlpage.UUID},
		"c_a":     {Name: "doc"},
		"c_b.c-d": {Name: "doc"},
		"tags[]":  {Name: "tags", Type: paging.String, Storage: sqlpage.Array},
		"meta.po": {Name: "meta", Base: "meta"},
		"email":   {UnsafeExpression: "lower(email)", Type: paging.String},
	},
	Tenant: "org",
}

// acme is what a caller sees whose scope has all items of its org.
var acme = sqlpage.RowScope{Tenant: "acme", AllIDs: true}

// query reads a where, and a sort in the form of the interface.
func query(t *testing.T, where, sort string) paging.Query {
	t.Helper()
	f, err := paging.ParseFilter(where)
	if err != nil {
		t.Fatal(err)
	}
	return withCursor(paging.Query{Where: f, Sort: sortKeys(sort), Limit: 10})
}

// withCursor takes the last condition for a cursor if it has the form of one, like
// Parse.
func withCursor(q paging.Query) paging.Query {
	conditions := conjuncts(q.Where)
	own := len(conditions) - 1
	if own < 0 || conditions[own].Op() != paging.OpOr || len(conditions[own].Filters()) == 0 {
		return q
	}
	alternatives := conditions[own].Filters()
	var values []any
	for _, c := range conjuncts(alternatives[len(alternatives)-1]) {
		values = append(values, c.Values()...)
	}
	next := q
	next.Where = paging.And(conditions[:own]...)
	next, err := next.After(values...)
	if err != nil || next.Where.String() != q.Where.String() {
		return q
	}
	return next
}

func conjuncts(f paging.Filter) []paging.Filter {
	if f.Op() == paging.OpAnd {
		return f.Filters()
	}
	return []paging.Filter{f}
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

// checkPlaceholders checks that the text uses each argument and no other.
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
	keyset := `{"$or":[{"$nor":[{"likes":{"$gte":5}}]},{"likes":5,"_id":{"$gt":"n7"}}]}`
	for _, where := range []string{`{}`, keyset} {
		q := query(t, where, `{"likes":-1}`)
		q.Skip = 30
		text, args, err := sqlpage.Statement(q, notes, acme, sqlpage.SQLite)
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
	_, args, err := sqlpage.Statement(paging.Query{}, notes, acme, sqlpage.SQLite)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"acme", int64(0)}, args); diff != "" {
		t.Error(diff)
	}
	text, _, err := sqlpage.Statement(paging.Query{}, notes, acme, sqlpage.PostgreSQL)
	if err != nil || !strings.HasSuffix(text, " LIMIT 0") {
		t.Error(text, err)
	}
}

// TestDocumentID has an _id inside a document. A filter may compare it with any type.
func TestDocumentID(t *testing.T) {
	table := sqlpage.Table{Name: "t", Select: []string{"doc"}, Properties: map[string]sqlpage.Column{"_id": {Name: "doc"}, "a": {Name: "doc"}}, SharedByAllTenants: true}
	for _, id := range []string{`"n7"`, `5`, `true`, `false`} {
		q := query(t, `{"org":1,"$or":[{"a":{"$gt":"x"}},{"a":"x","_id":{"$gt":`+id+`}}]}`, `{"a":1}`)
		table.Properties["org"] = sqlpage.Column{Name: "org", Type: paging.Integer}
		for name, dialect := range dialects {
			text, args, err := sqlpage.Statement(q, table, acme, dialect)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			checkPlaceholders(t, text, args, dialect)
		}
	}
}

// TestInjection is P14: values from a request are bound or refused.
func TestInjection(t *testing.T) {
	hostile := []string{`'; DROP TABLE notes; --`, `"`, `\`, `%`, `_`, `$1`, `?1`, `' OR '1'='1`, `{a,b}`, "/*", "é\u2028"}
	clean := map[sqlpage.Dialect]string{}
	for _, dialect := range dialects {
		text, _, err := sqlpage.Statement(paging.Query{Where: valued("x"), Limit: 1}, notes, acme, dialect)
		if err != nil {
			t.Fatal(err)
		}
		clean[dialect] = text
	}
	for _, value := range hostile {
		t.Run("P14 value "+value, func(t *testing.T) {
			for _, dialect := range dialects {
				text, args, err := sqlpage.Statement(paging.Query{Where: valued(value), Limit: 1}, notes, acme, dialect)
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
				if text, _, err := sqlpage.Statement(q, notes, acme, sqlpage.PostgreSQL); err == nil {
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
		table := sqlpage.Table{Name: "t", Select: []string{"a"}, Properties: map[string]sqlpage.Column{"_id": {Name: "a", Type: paging.String}}, SharedByAllTenants: true}
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
		"a type that is none":           property("b", sqlpage.Column{Name: "b", Type: "text"}),
		"an array in a document":        property("b[]", sqlpage.Column{Name: "b"}),
		"a quote in a document's path":  property("b'", sqlpage.Column{Name: "b"}),
		"a storage of another type":     property("b", sqlpage.Column{Name: "b", Type: paging.Integer, Storage: sqlpage.UUID}),
		"a storage that is none":        property("b", sqlpage.Column{Name: "b", Type: paging.Date, Storage: 99}),
		"an empty segment":              property("b..c", sqlpage.Column{Name: "b"}),
		"a name and an expression":      property("b", sqlpage.Column{Name: "b", UnsafeExpression: "lower(b)", Type: paging.String}),
		"a base of no document":         property("b.c", sqlpage.Column{Name: "b", Base: "b", Type: paging.String}),
		"a base that is not above":      property("bc.d", sqlpage.Column{Name: "b", Base: "b"}),
		"a base that is the property":   property("b", sqlpage.Column{Name: "b", Base: "b"}),
		"an array without []":           property("b", sqlpage.Column{Name: "b", Type: paging.String, Storage: sqlpage.Array}),
		"a [] without an array":         property("b[]", sqlpage.Column{Name: "b", Type: paging.String}),
		"a tenant in an array": with(func(t *sqlpage.Table) {
			t.Tenant, t.SharedByAllTenants = "org[]", false
			t.Properties["org[]"] = sqlpage.Column{Name: "orgs", Type: paging.String, Storage: sqlpage.Array}
		}),
		"an object with a quote": with(func(t *sqlpage.Table) { t.Object = "a'" }),
		"an object that has a column": with(func(t *sqlpage.Table) {
			t.Object, t.Properties["object"] = "a", sqlpage.Column{Name: "object", Type: paging.String}
		}),
		"neither a tenant nor shared":  with(func(t *sqlpage.Table) { t.SharedByAllTenants = false }),
		"a tenant and shared":          with(func(t *sqlpage.Table) { t.Tenant = "_id" }),
		"a tenant that is no property": with(func(t *sqlpage.Table) { t.Tenant, t.SharedByAllTenants = "org", false }),
		"a tenant in a document": with(func(t *sqlpage.Table) {
			t.Tenant, t.SharedByAllTenants, t.Properties["org"] = "org", false, sqlpage.Column{Name: "doc"}
		}),
	}
	for name, table := range tables {
		t.Run(name, func(t *testing.T) {
			var named []paging.Filter
			for path := range table.Properties {
				named = append(named, paging.Null(path))
			}
			if text, _, err := sqlpage.Statement(paging.Query{Where: paging.And(named...)}, table, acme, sqlpage.SQLite); err == nil {
				t.Error("Statement accepted it: ", text)
			}
			if indexes, err := sqlpage.Indexes(paging.Schema{}, table, sqlpage.SQLite); err == nil {
				t.Error("Indexes accepted it: ", indexes)
			}
		})
	}
	t.Run("not a column of 63 bytes", func(t *testing.T) {
		if _, _, err := sqlpage.Statement(paging.Query{}, property("b", sqlpage.Column{Name: strings.Repeat("b", 63)}), acme, sqlpage.SQLite); err != nil {
			t.Error(err)
		}
	})
	t.Run("a sort by an array", func(t *testing.T) {
		if text, _, err := sqlpage.Statement(paging.Query{Sort: []paging.Key{{Path: "tags[]"}}}, notes, acme, sqlpage.SQLite); err == nil {
			t.Error("Statement accepted it: ", text)
		}
		schema := paging.Schema{Properties: []paging.Property{{Path: "tags[]", Type: paging.String, Sort: true}}}
		if indexes, err := sqlpage.Indexes(schema, notes, sqlpage.SQLite); err == nil {
			t.Error("Indexes accepted it: ", indexes)
		}
	})
	filters := map[string]paging.Filter{
		"a text in an array with NUL":   paging.Eq("tags[]", "a\x00"),
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
				if text, _, err := sqlpage.Statement(paging.Query{Where: f}, notes, acme, dialect); err == nil {
					t.Error("accepted: ", text)
				}
			}
		})
	}
	t.Run("no dialect", func(t *testing.T) {
		if _, _, err := sqlpage.Statement(paging.Query{}, notes, acme, 0); err == nil {
			t.Error("Statement accepted it")
		}
		if _, err := sqlpage.Indexes(paging.Schema{}, notes, 3); err == nil {
			t.Error("Indexes accepted it")
		}
	})
}
