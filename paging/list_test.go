package paging_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestParseLists(t *testing.T) {
	q := accepted(t, "paths[]=connections.access&connections.where="+url.QueryEscape(`{"access":{"$gte":4}}`)+
		"&connections.limit=50&connections.sort=target&connections.skip=3&limit=2&c_inbox.connections.limit=7")
	want := paging.Query{
		Paths: []string{"connections.access"},
		Sort:  []paging.Key{{Path: "_id"}},
		Limit: 2,
		Lists: map[string]paging.Query{
			"connections": {
				Paths: []string{"access"},
				Where: paging.Gte("access", 4),
				Sort:  []paging.Key{{Path: "target"}, {Path: "_id"}},
				Skip:  3,
				Limit: 20,
			},
			"c_inbox.connections": {Sort: []paging.Key{{Path: "_id"}}, Limit: 7},
		},
	}
	if diff := cmp.Diff(want, q, sameFilter); diff != "" {
		t.Error(diff)
	}
	if got := accepted(t, "paths[]=connections").Lists["connections"].Limit; got != 10 {
		t.Errorf("a list that is only asked for has limit %d", got)
	}
	if got := accepted(t, "a.a.a.connections.limit=3").Lists["a"].Lists["a"].Lists["a"].Lists["connections"].Limit; got != 3 {
		t.Errorf("four segments: limit %d", got)
	}
}

func TestParseGoesFourListsDeep(t *testing.T) {
	q := accepted(t, "paths[]=a.a.a.a.a.a.c_text")
	depth := 0
	for ; q.Lists != nil; depth++ {
		q = q.Lists["a"]
	}
	if depth != 4 {
		t.Errorf("P10 %d lists in each other", depth)
	}
}

// TestParseListsOfSimilarNames has a list whose name begins with the name of another.
func TestParseListsOfSimilarNames(t *testing.T) {
	schema := &paging.Schema{Properties: []paging.Property{{Path: "c_a", List: connections}, {Path: "c_ab", List: connections}}}
	q, err := schema.Parse("c_ab.limit=3", readable)
	if err != nil || len(q.Lists) != 1 || q.Lists["c_ab"].Limit != 3 {
		t.Errorf("%v, %v", q.Lists, err)
	}
}

// TestParseHasEachListThatIsWanted asks for lists in all spellings that Query.Wants
// accepts. A list that Lists lacks would be sent as if it were empty.
func TestParseHasEachListThatIsWanted(t *testing.T) {
	for path, want := range map[string]map[string][]string{ // the lists, and the paths of their items
		"connections":                                     {"connections": nil},
		"connections[]":                                   {"connections": nil},
		"connections#c_connection":                        {"connections": nil},
		"connections[]#c_connection":                      {"connections": nil},
		"connections[].access":                            {"connections": {"access"}},
		"connections#c_connection.access":                 {"connections": {"access"}},
		"connections.access[]":                            {"connections": {"access[]"}},
		"connections._id":                                 {"connections": {"_id"}},
		"c_inbox":                                         {"c_inbox.connections": nil},
		"c_inbox[]":                                       {"c_inbox.connections": nil},
		"c_inbox[].connections[].access":                  {"c_inbox.connections": {"access"}},
		"c_hidden_list[]":                                 nil,
		"c_private_list[]":                                nil,
		"connections[]&paths[]=connections":               {"connections": nil},
		"connections.access&paths[]=connections[].access": {"connections": {"access"}},
		"connection":                                      nil,
	} {
		query := "paths[]=" + strings.ReplaceAll(path, "#", "%23")
		object, err := messages.ParseObject(query, readable)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range []paging.Query{accepted(t, query), object} {
			var got map[string][]string
			for property, list := range q.Lists {
				if got == nil {
					got = map[string][]string{}
				}
				got[property] = list.Paths
				if list.Limit != 10 {
					t.Errorf("%s: %s has limit %d", path, property, list.Limit)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s:\n%s", path, diff)
			}
		}
	}
	t.Run("P07 C12 what is readable has the list's name before it", func(t *testing.T) {
		query := "connections." + where(`{"access":4}`) + "&connections.sort=access"
		if _, err := messages.Parse(query, func(path string) bool { return path == "connections.access" }); err != nil {
			t.Error(err)
		}
		if q, err := messages.Parse(query, func(path string) bool { return path == "connections" || path == "access" }); err == nil {
			t.Errorf("%+v was accepted", q)
		}
	})
	t.Run("P10 each counts", func(t *testing.T) {
		var schema paging.Schema
		for i := range 9 {
			schema.Properties = append(schema.Properties, paging.Property{Path: fmt.Sprintf("l%d", i), List: connections})
			schema.Properties = append(schema.Properties, paging.Property{Path: fmt.Sprintf("in.l%d", i), List: connections})
		}
		for _, query := range []string{"paths[]=in", "paths[]=l0[]&paths[]=l1[]&paths[]=l2%23c_x&paths[]=l3&paths[]=l4[].access&paths[]=l5[]&paths[]=l6[]&paths[]=l7[]&paths[]=l8[]"} {
			if _, err := schema.Parse(query, func(string) bool { return true }); err == nil {
				t.Errorf("%s was accepted", query)
			}
		}
	})
}

func TestParseBoundsHowManyListsThereAre(t *testing.T) {
	inner := &paging.Schema{Properties: []paging.Property{{Path: "c_text", Type: paging.String, Filter: true}}}
	schema := paging.Schema{}
	var paths, limits []string
	for i := range 3 {
		outer := &paging.Schema{}
		for j := range 3 {
			outer.Properties = append(outer.Properties, paging.Property{Path: fmt.Sprintf("i%d", j), List: inner})
			paths = append(paths, fmt.Sprintf("paths[]=o%d.i%d.c_text", i, j))
			limits = append(limits, fmt.Sprintf("o%d.i%d.limit=5", i, j))
		}
		schema.Properties = append(schema.Properties, paging.Property{Path: fmt.Sprintf("o%d", i), List: outer})
	}
	all := func(string) bool { return true }
	for _, arguments := range [][]string{paths, limits} {
		for n, want := range map[int]string{ // with the outer ones 8, 10 and 12
			6: "",
			7: "paging: o2 more than 8 list properties in one request",
			9: "paging: o2 more than 8 list properties in one request",
		} {
			query := strings.Join(arguments[:n], "&")
			for name, parse := range map[string]func(string, func(string) bool) (paging.Query, error){"Parse": schema.Parse, "ParseObject": schema.ParseObject} {
				got := ""
				q, err := parse(query, all)
				if err != nil {
					got = err.Error()
				}
				lists := len(q.Lists)
				for _, outer := range q.Lists {
					lists += len(outer.Lists)
				}
				if got != want || err == nil && lists != 8 {
					t.Errorf("P10 %s %s: %d lists, %s", name, query, lists, got)
				}
			}
		}
	}
}

func TestParseRefusesInLists(t *testing.T) {
	tests := map[string]string{
		"conections.where=%7B%7D":           "conections.where  unknown property",
		"c_text.limit=1":                    "c_text.limit  unknown property",
		"connections..limit=1":              "connections..limit  unknown property",
		"c_hidden_list.limit=1":             "c_hidden_list.limit  unknown property",
		"c_private_list.limit=1":            "c_private_list.limit  unknown property",
		"connections.limit=0":               "connections.limit  must be a positive integer",
		"connections.sort=c_token":          "connections.sort  unknown property",
		"a.a.a.a.connections.limit=1":       "a.a.a.a.connections.limit  more than 4 segments before the argument",
		"a.a.c_inbox.connections.x.limit=1": "a.a.c_inbox.connections.x.limit  more than 4 segments before the argument",
		"a.c_private_list.limit=1":          "",
		"connections." + where(`{"access":{"$gt":"4","$x":1}}`): "connections.where /access/$gt must be of type integer\n" +
			"connections.where /access/$x unknown operator",
		"connections." + where(`{"c_token":"a"}`): "connections.where /c_token unknown property",
	}
	for query, want := range tests {
		t.Run("P10 "+query, func(t *testing.T) {
			if want == "" {
				accepted(t, query) // another path, and readable here
				return
			}
			if diff := cmp.Diff(want, strings.Join(refused(t, query), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
