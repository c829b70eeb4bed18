package paging_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestCursor(t *testing.T) {
	up, down := paging.Key{Path: "a"}, paging.Key{Path: "a", Desc: true}
	id := paging.Key{Path: "_id"}
	tests := map[string]struct {
		where string
		sort  []paging.Key
		want  []any // nil without a cursor
		rest  string
	}{
		"up":                      {`{"$or":[{"a":{"$gt":5}},{"a":5,"_id":{"$gt":"n"}}]}`, []paging.Key{up, id}, []any{json.Number("5"), "n"}, `{}`},
		"a sort without _id":      {`{"$or":[{"a":{"$gt":5}},{"a":5,"_id":{"$gt":"n"}}]}`, []paging.Key{up}, []any{json.Number("5"), "n"}, `{}`},
		"down":                    {`{"$or":[{"$nor":[{"a":{"$gte":"x"}}]},{"a":"x","_id":{"$gt":"n"}}]}`, []paging.Key{down, id}, []any{"x", "n"}, `{}`},
		"from null":               {`{"$or":[{"a":{"$ne":null}},{"a":null,"_id":{"$gt":"n"}}]}`, []paging.Key{up, id}, []any{nil, "n"}, `{}`},
		"beside other conditions": {`{"org":"acme","$and":[{"$or":[{"b":1},{"c":1}]}],"$or":[{"a":{"$gt":true}},{"a":true,"_id":{"$gt":"n"}}]}`, []paging.Key{up, id}, []any{true, "n"}, `{"$and":[{"org":"acme"},{"$or":[{"b":1},{"c":1}]}]}`},
		"two of this form":        {`{"$and":[{"$or":[{"a":{"$gt":1}},{"a":1,"_id":{"$gt":"n"}}]},{"$or":[{"a":{"$gt":5}},{"a":5,"_id":{"$gt":"n"}}]}]}`, []paging.Key{up, id}, []any{json.Number("5"), "n"}, `{"$or":[{"a":{"$gt":1}},{"$and":[{"a":1},{"_id":{"$gt":"n"}}]}]}`},
		"before other conditions": {`{"$and":[{"$or":[{"a":{"$gt":5}},{"a":5,"_id":{"$gt":"n"}}]},{"org":"acme"}]}`, []paging.Key{up, id}, nil, ""},
		"another direction":       {`{"$or":[{"a":{"$gt":5}},{"a":5,"_id":{"$gt":"n"}}]}`, []paging.Key{down, id}, nil, ""},
		"another value":           {`{"$or":[{"a":{"$gt":5}},{"a":6,"_id":{"$gt":"n"}}]}`, []paging.Key{up, id}, nil, ""},
		"another operator":        {`{"$or":[{"a":{"$gte":5}},{"a":5,"_id":{"$gt":"n"}}]}`, []paging.Key{up, id}, nil, ""},
		"less, which lacks null":  {`{"$or":[{"a":{"$lt":5}},{"a":5,"_id":{"$gt":"n"}}]}`, []paging.Key{down, id}, nil, ""},
		"one of a list":           {`{"$or":[{"a":{"$gt":5}},{"a":{"$in":[5]},"_id":{"$gt":"n"}}]}`, []paging.Key{up, id}, nil, ""},
		"more keys":               {`{"$or":[{"a":{"$gt":5}},{"a":5,"_id":{"$gt":"n"}}]}`, []paging.Key{up, {Path: "b"}, id}, nil, ""},
		"more alternatives":       {`{"$or":[{"a":{"$gt":5}},{"b":1},{"a":5,"_id":{"$gt":"n"}}]}`, []paging.Key{up, id}, nil, ""},
		"no alternatives":         {`{"a":null,"_id":{"$gt":"n"}}`, []paging.Key{down, id}, nil, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			f, err := paging.ParseFilter(tc.where)
			if err != nil {
				t.Fatal(err)
			}
			values, rest, ok := inLetters(t, f, tc.sort).Cursor()
			if tc.want == nil {
				tc.rest = f.String()
			}
			if diff := cmp.Diff(tc.want, values); diff != "" || ok != (tc.want != nil) || rest.String() != tc.rest {
				t.Errorf("%t, the rest %s\n%s", ok, rest, diff)
			}
		})
	}
}

// letters are properties that may be compared with anything at the end of a where.
var letters = &paging.Schema{Properties: []paging.Property{
	{Path: "a", Type: paging.Number, Filter: true, Sort: true, Null: true},
	{Path: "b", Type: paging.Number, Filter: true, Sort: true, Null: true},
	{Path: "c", Type: paging.Number, Filter: true, Sort: true, Null: true},
	{Path: "org", Type: paging.String, Filter: true},
}}

// inLetters parses a where and a sort as another client sends them.
func inLetters(t *testing.T, where paging.Filter, sort []paging.Key) paging.Query {
	t.Helper()
	values, err := url.ParseQuery(paging.Query{Sort: sort}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	values.Set("where", where.String())
	q, err := letters.Parse(values.Encode(), func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestOrder(t *testing.T) {
	a, b, id := paging.Key{Path: "a"}, paging.Key{Path: "b", Desc: true}, paging.Key{Path: "_id", Desc: true}
	for _, tc := range []struct{ sort, want []paging.Key }{
		{nil, []paging.Key{{Path: "_id"}}},
		{[]paging.Key{a, b}, []paging.Key{a, b, {Path: "_id"}}},
		{[]paging.Key{a, id, b}, []paging.Key{a, id}},
	} {
		if diff := cmp.Diff(tc.want, paging.Query{Sort: tc.sort}.Order()); diff != "" {
			t.Error(diff)
		}
	}
	spare := append(make([]paging.Key, 0, 2), a)
	if (paging.Query{Sort: spare}).Order(); spare[:2][1] != (paging.Key{}) {
		t.Error("Order wrote into the memory of Sort")
	}
}

// TestConditionsThatAreNoCursor has conditions that have the form of a cursor but are
// none: those of the server, and those of the caller before its walk begins.
func TestConditionsThatAreNoCursor(t *testing.T) {
	up := []paging.Key{{Path: "a"}}
	looks := func(n int) paging.Filter {
		return paging.Or(paging.Gt("a", n), paging.And(paging.Eq("a", n), paging.Gt("_id", "n")))
	}
	t.Run("what a server adds", func(t *testing.T) {
		q := paging.Query{Sort: up}.And(looks(5))
		if values, rest, ok := q.Cursor(); ok || rest.String() != looks(5).String() {
			t.Errorf("%v, the rest %s", values, rest)
		}
	})
	t.Run("a cursor in another sort", func(t *testing.T) {
		q := inLetters(t, looks(1), up)
		q.Sort = []paging.Key{{Path: "b"}}
		if values, rest, ok := q.Cursor(); ok || rest.String() != looks(1).String() {
			t.Errorf("%v, the rest %s", values, rest)
		}
	})
	t.Run("what a server adds of another query", func(t *testing.T) {
		cursor, err := paging.Query{Sort: up, Where: paging.Eq("org", "acme")}.After(json.Number("5"), "n")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, _, ok := cursor.Cursor(); !ok {
				t.Error("it is no cursor any more in its own query")
			}
		}()
		if values, _, ok := (paging.Query{Sort: up}).And(cursor.Where).Cursor(); ok {
			t.Error(values)
		}
	})
	t.Run("what a server adds to a cursor", func(t *testing.T) {
		q := inLetters(t, looks(1), up).And(looks(5))
		values, rest, ok := q.Cursor()
		if diff := cmp.Diff([]any{json.Number("1"), "n"}, values); diff != "" || !ok || rest.String() != looks(5).String() {
			t.Errorf("the rest %s\n%s", rest, diff)
		}
		again, err := letters.Parse(q.Encode(), func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if values, _, _ := again.Cursor(); !cmp.Equal([]any{json.Number("1"), "n"}, values) {
			t.Errorf("sent on: %v", values)
		}
	})
	for name, own := range map[string]paging.Filter{
		"alone":             looks(1),
		"beside another":    paging.And(paging.Eq("org", "acme"), looks(1)),
		"of one of null":    paging.And(paging.Null("a"), paging.Gt("_id", "n")),
		"that ends with it": paging.And(paging.Eq("org", "acme"), paging.Null("a"), paging.Gt("_id", "n")),
	} {
		for _, desc := range []bool{false, true} {
			t.Run("what a caller asks for, "+name, func(t *testing.T) {
				sent := paging.Query{Where: own, Sort: []paging.Key{{Path: "a", Desc: desc}}}
				for range 2 {
					q, err := letters.Parse(sent.Encode(), func(string) bool { return true })
					if err != nil {
						t.Fatal(err)
					}
					if values, rest, ok := q.Cursor(); ok || rest.String() != own.String() {
						t.Errorf("%v, the rest %s", values, rest)
					}
					sent = q // a server sends it to the next server
				}
				sent, err := sent.After(json.Number("7"), "m")
				if err != nil {
					t.Fatal(err)
				}
				q, err := letters.Parse(sent.Encode(), func(string) bool { return true })
				if err != nil {
					t.Fatal(err)
				}
				values, rest, _ := q.Cursor()
				if diff := cmp.Diff([]any{json.Number("7"), "m"}, values); diff != "" || rest.String() != own.String() {
					t.Errorf("the rest %s\n%s", rest, diff)
				}
			})
		}
	}
}

func TestAfter(t *testing.T) {
	sort := []paging.Key{{Path: "a", Desc: true}}
	q := paging.Query{Where: paging.Eq("org", "acme"), Sort: sort}
	for range 2 { // the second cursor replaces the first
		next, err := q.After(true, "n")
		if err != nil {
			t.Fatal(err)
		}
		want := `{"$and":[{"org":"acme"},{"$or":[{"$nor":[{"a":{"$gte":true}}]},{"$and":[{"a":true},{"_id":{"$gt":"n"}}]}]}]}`
		if got := next.Where.String(); got != want {
			t.Error(got)
		}
		q = next
	}
	for _, values := range [][]any{nil, {"n"}, {true, "n", "n"}, {true, nil}, {5, "n"}, {json.Number("x"), "n"}, {"\x00", "n"}, {"\xff", "n"}, {[]any{}, "n"}} {
		if _, err := q.After(values...); err == nil {
			t.Errorf("%v was taken", values)
		}
	}
}

// TestParseWhereOfAWalk is P08 for the cursor of a walk. Its values may have other
// types than those of the schema.
func TestParseWhereOfAWalk(t *testing.T) {
	cursor := func(path, value string) string {
		return fmt.Sprintf(`{"$or":[{%q:{"$gt":%s}},{"$and":[{%q:%s},{"_id":{"$gt":"n"}}]}]}`, path, value, path, value)
	}
	tests := map[string]struct{ where, sort, want string }{
		"a text for a number":         {cursor("c_likes", `"x"`), `{"c_likes":1}`, ""},
		"a number for a text":         {cursor("c_author", `5`), `{"c_author":1}`, ""},
		"a boolean for a date":        {cursor("c_sent", `true`), `{"c_sent":1}`, ""},
		"null where it should not be": {`{"$or":[{"c_author":{"$ne":null}},{"$and":[{"c_author":null},{"_id":{"$gt":"n"}}]}]}`, `{"c_author":1}`, ""},
		"no alternative":              {`{"$and":[{"c_text":"a"},{"c_author":null},{"_id":{"$gt":"n"}}]}`, `{"c_author":-1}`, ""},
		"beside a filter":             {`{"$and":[{"c_text":"a"},` + cursor("c_likes", `"x"`) + `]}`, `{"c_likes":1}`, ""},
		"beside several":              {`{"$and":[{"c_text":"],[\"}"},{"c_pinned":true},` + cursor("c_likes", `"x"`) + `]}`, `{"c_likes":1}`, ""},
		"of another sort":             {cursor("c_likes", `"x"`), `{"c_author":1}`, "where /$or/0/c_likes/$gt must be of type integer\nwhere /$or/1/$and/0/c_likes must be of type integer"},
		"a text that is no date":      {cursor("c_sent", `"x"`), `{"c_sent":1}`, "where /$or/0/c_sent/$gt must be a date like 2026-01-02T03:04:05.000Z\nwhere /$or/1/$and/0/c_sent must be a date like 2026-01-02T03:04:05.000Z"},
		"a number for an _id":         {`{"$or":[{"c_likes":{"$gt":5}},{"$and":[{"c_likes":5},{"_id":{"$gt":7}}]}]}`, `{"c_likes":1}`, "where /$or/1/$and/1/_id/$gt must be of type string"},
		"of a hidden property":        {cursor("c_secret", `"x"`), `{"c_secret":1}`, "sort /c_secret unknown property\nwhere /$or/0/c_secret unknown property\nwhere /$or/1/$and/0/c_secret unknown property"},
		"in the filter beside":        {`{"$and":[{"c_text":5},` + cursor("c_likes", `"x"`) + `]}`, `{"c_likes":1}`, "where /$and/0/c_text must be of type string"},
		"in one of those beside":      {`{"$and":[{"c_text":"a"},{"c_text":5},` + cursor("c_likes", `"x"`) + `]}`, `{"c_likes":1}`, "where /$and/1/c_text must be of type string"},
		"not at the end":              {`{"$and":[` + cursor("c_likes", `"x"`) + `,{"c_text":"a"}]}`, `{"c_likes":1}`, "where /$and/0/$or/0/c_likes/$gt must be of type integer\nwhere /$and/0/$or/1/$and/0/c_likes must be of type integer"},
		"trailing data":               {cursor("c_likes", `5`) + `]}`, `{"c_likes":1}`, "where  something follows the value at byte 76"},
		"an empty condition":          {`{"$and":[,` + cursor("c_likes", `5`) + `]}`, `{"c_likes":1}`, "where  not a JSON value at byte 9"},
		"beside an $and":              {`{"$and":[` + cursor("c_likes", `"x"`) + `],"c_text":"a"}`, `{"c_likes":1}`, "where /$and/0/$or/0/c_likes/$gt must be of type integer\nwhere /$and/0/$or/1/$and/0/c_likes must be of type integer"},
		"an $and that does not end":   {`{"$and":[` + cursor("c_likes", `"x"`), `{"c_likes":1}`, "where  a comma is missing at byte 89"},
		"brackets that do not match":  {`{"$and":[{"c_text":"a"],` + cursor("c_likes", `5`) + `]}`, `{"c_likes":1}`, "where  a comma is missing at byte 22"},
	}
	for name, tc := range tests {
		t.Run("P08 "+name, func(t *testing.T) {
			query := where(tc.where) + "&" + sorted(tc.sort)
			if tc.want != "" {
				if diff := cmp.Diff(tc.want, strings.Join(refused(t, query), "\n")); diff != "" {
					t.Error(diff)
				}
				return
			}
			f, err := paging.ParseFilter(tc.where)
			if err != nil {
				t.Fatal(err)
			}
			if got := accepted(t, query).Where.String(); got != f.String() {
				t.Errorf("read as %s", got)
			}
		})
	}
}

// TestParseWhereAtItsBoundsGoesOn has filters at the limits, and the cursor that a
// walk adds to them for the second page.
func TestParseWhereAtItsBoundsGoesOn(t *testing.T) {
	text := func(n int) paging.Filter { return paging.Eq("c_text", strings.Repeat("x", n-len(`{"c_text":""}`))) }
	deep := paging.Or(paging.Gt("c_likes", 1), paging.Eq("c_likes", 2))
	for i := range 6 {
		join := paging.And
		if i%2 == 1 {
			join = paging.Or
		}
		deep = join(paging.Eq("c_pinned", true), deep)
	}
	var many []paging.Filter
	for i := range 255 {
		f := paging.Eq("c_likes", i)
		if i >= 200 {
			f, _ = paging.ParseFilter(`{"c_likes":{"$exists":true}}`)
		}
		many = append(many, f)
	}
	like := paging.Or(paging.Gt("c_likes", 1), paging.And(paging.Eq("c_likes", 1), paging.Gt("_id", "a")))
	filters := map[string]paging.Filter{
		"8 KiB":                         text(8 << 10),
		"8 KiB of two":                  paging.And(text(8<<10-len(`{"$and":[,{"c_likes":5}]}`)), paging.Eq("c_likes", 5)),
		"256 conditions in an $and":     paging.And(many...),
		"256 conditions in an $or":      paging.Or(many...),
		"nothing":                       {},
		"depth 16":                      deep,
		"one that ends with an $or":     paging.And(paging.Eq("c_text", "a"), paging.Or(paging.Eq("c_likes", 1), paging.Eq("c_likes", 2))),
		"one that looks like a cursor":  paging.Gt("_id", "a"),
		"8 KiB that end like a cursor":  paging.And(text(8<<10-len(`{"$and":[,]}`)-len(like.String())), like),
		"one that has a cursor already": paging.Or(paging.Gt("c_likes", 1), paging.And(paging.Eq("c_likes", 1), paging.Gt("_id", "a"))),
	}
	long := strings.Repeat("x", 500)
	cursors := map[string]struct {
		sort   []paging.Key
		values []any
	}{
		"by _id":            {nil, []any{"n"}},
		"by _id down":       {[]paging.Key{{Path: "_id", Desc: true}}, []any{"n"}},
		"by a number":       {[]paging.Key{{Path: "c_likes"}}, []any{json.Number("5"), "n"}},
		"after null":        {[]paging.Key{{Path: "c_likes", Desc: true}}, []any{nil, "n"}},
		"by a text":         {[]paging.Key{{Path: "c_author", Desc: true}}, []any{long, "n"}},
		"by three, of null": {[]paging.Key{{Path: "c_likes", Desc: true}, {Path: "name.first"}, {Path: "_id"}}, []any{nil, "a", "n"}},
	}
	for name, filter := range filters {
		for cursorName, cursor := range cursors {
			t.Run("P04 "+name+", "+cursorName, func(t *testing.T) {
				q := paging.Query{Where: filter, Sort: cursor.sort}
				accepted(t, q.Encode())
				q, err := q.After(cursor.values...)
				if err != nil {
					t.Fatal(err)
				}
				if got := accepted(t, q.Encode()).Where.String(); got != q.Where.String() {
					t.Errorf("read as %s", got)
				}
				if name != "nothing" {
					refused(t, q.And(text(8<<10)).Encode())
				}
			})
		}
	}
	t.Run("P04 one condition too many beside a cursor after null", func(t *testing.T) {
		q := paging.Query{Where: paging.And(append(many, many[254])...), Sort: []paging.Key{{Path: "c_likes"}}}
		q, err := q.After(nil, "n")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"where  more than 256 conditions"}, refused(t, q.Encode())); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("P04 empty conditions", func(t *testing.T) {
		rest := `{"$and":[` + strings.Repeat("{},", 1018) + `{"c_text":"a"}]}`
		accepted(t, where(rest))
		accepted(t, where(`{"$and":[`+rest+`,{"$or":[{"c_likes":{"$gt":5}},{"$and":[{"c_likes":5},{"_id":{"$gt":"n"}}]}]}]}`)+"&"+sorted("c_likes"))
	})
	t.Run("P04 a cursor longer than 8 KiB", func(t *testing.T) {
		cursor := `{"$or":[{"c_author":{"$gt":"` + strings.Repeat("x", 4<<10) + `"}},{"$and":[{"c_author":"` + strings.Repeat("x", 4<<10) + `"},{"_id":{"$gt":"n"}}]}]}`
		if diff := cmp.Diff([]string{"where  longer than 8192 bytes"}, refused(t, where(cursor)+"&"+sorted("c_author"))); diff != "" {
			t.Error(diff)
		}
	})
}
