package paging_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestParseObject(t *testing.T) {
	tests := map[string]struct {
		query string
		want  paging.Query
	}{
		"P21 nothing":                {"", paging.Query{}},
		"what is the application's":  {"q=5&tenant=acme", paging.Query{}},
		"paths":                      {"paths[]=c_text&paths[]=name", paging.Query{Paths: []string{"c_text", "name"}}},
		"P10 only hidden paths":      {"paths[]=c_secret", paging.Query{Paths: []string{"_id"}}},
		"a list that is asked for":   {"paths[]=connections", paging.Query{Paths: []string{"connections"}, Lists: map[string]paging.Query{"connections": {Sort: []paging.Key{{Path: "_id"}}, Limit: 10}}}},
		"the arguments of a list":    {"connections.limit=3&connections.sort=target&connections.skip=2&connections." + where(`{"access":{"$gte":4}}`), paging.Query{Lists: map[string]paging.Query{"connections": {Where: paging.Gte("access", 4), Sort: []paging.Key{{Path: "target"}, {Path: "_id"}}, Skip: 2, Limit: 3}}}},
		"a list of a list":           {"a.connections.limit=3", paging.Query{Lists: map[string]paging.Query{"a": {Sort: []paging.Key{{Path: "_id"}}, Limit: 100, Lists: map[string]paging.Query{"connections": {Sort: []paging.Key{{Path: "_id"}}, Limit: 3}}}}}},
		"the paths of a list by its": {"connections.paths[]=access", paging.Query{Paths: []string{"connections.access"}, Lists: map[string]paging.Query{"connections": {Paths: []string{"access"}, Sort: []paging.Key{{Path: "_id"}}, Limit: 10}}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q, err := messages.ParseObject(tc.query, readable)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, q, sameFilter); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseObjectRefusesTheArgumentsOfAList(t *testing.T) {
	const forLists = "  is for lists, and this is one object"
	tests := map[string][]string{
		"limit=5":                {"limit" + forLists},
		"where=%7B%7D":           {"where" + forLists},
		"where=nonsense":         {"where" + forLists},
		"sort=_id":               {"sort" + forLists},
		"skip=0":                 {"skip" + forLists},
		"where=%7B%7D&skip=1":    {"skip" + forLists, "where" + forLists},
		"limit=1&limit=1":        {"limit  given more than once"},
		"Where=%7B%7D":           {"Where  unknown argument; did you mean where?"},
		"connections.limit=0":    {"connections.limit  must be a positive integer"},
		"nosuch.limit=1":         {"nosuch.limit  unknown property"},
		"c_private_list.limit=1": {"c_private_list.limit  unknown property"},
		"limit=%zz":              {"  the query is malformed"},
	}
	for query, want := range tests {
		t.Run(query, func(t *testing.T) {
			q, err := messages.ParseObject(query, readable)
			var wrong *paging.Error
			if !errors.As(err, &wrong) {
				t.Fatalf("%+v, %v", q, err)
			}
			if wrong.Fault().Status != 400 || q.Encode() != "" {
				t.Errorf("%+v beside %v", q, err)
			}
			var got []string
			for _, p := range wrong.Fault().Faults {
				got = append(got, strings.TrimRight(problem(p), " "))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := messages.ParseObject("connections."+where(`{"access":4}`), nil); err == nil {
		t.Error("without a scope a list property can be filtered")
	}
}
