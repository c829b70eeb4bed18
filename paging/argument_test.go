package paging_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

func TestParseRefusesWhatIsNearAnArgument(t *testing.T) {
	for meant, parameters := range map[string][]string{
		"where":   {"where_", "_where", "__Where__", "-where", "wheres", "WHERES", "where_[]", "wheres[a]", "connections.wheres", "connections[_where]"},
		"sort":    {"sorts", "sort_", "Sorts[]", "\u017forts"},
		"skip":    {"skips", "_skip"},
		"limit":   {"limits", "limit-", "_LIMITS_", "connections.Limits"},
		"paths[]": {"path[]", "Path[0]", "_path[]", "paths", "_paths", "paths_[]", "_paths[]", "Paths[]", "connections.path[]", "connections[path]"},
	} {
		for _, parameter := range parameters {
			want := []string{parameter + "  unknown argument; did you mean " + meant + "?"}
			if diff := cmp.Diff(want, refused(t, url.Values{parameter: {"1"}}.Encode())); diff != "" {
				t.Errorf("P02 %s:\n%s", parameter, diff)
			}
		}
	}
}

func TestParseLeavesTheApplicationItsArguments(t *testing.T) {
	for _, parameter := range []string{
		"q", "fields", "since", "where_from", "from_where", "wherever", "nowhere", "somewhere[]", "path", "file.path", "path_prefix",
		"pathway[]", "xpath[]", "sorted", "sort_by", "sortBy", "resort", "skipped", "skip_cache", "limited", "unlimited", "limit_to", "rate_limit",
		"_", "-", "s", "[]", "_s_", "order", "filter", "page", "offset",
	} {
		if got := accepted(t, url.Values{parameter: {"1"}}.Encode()); got.Limit != accepted(t, "").Limit {
			t.Errorf("%s: %+v", parameter, got)
		}
	}
}

// TestParseOfAListNamedLikeAnArgument: a list property may have the name limits.
func TestParseOfAListNamedLikeAnArgument(t *testing.T) {
	plan := paging.Schema{Properties: []paging.Property{{Path: "limits", List: &paging.Schema{}}, {Path: "path", List: &paging.Schema{}}}}
	q, err := plan.Parse("limits.limit=3&path.limit=4&path.paths[]=_id", func(string) bool { return true })
	if err != nil || q.Lists["limits"].Limit != 3 || q.Lists["path"].Limit != 4 {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestParseTwiceGivenAndMisspelt(t *testing.T) {
	tests := map[string]string{
		"limit=1&limit=1":                                   "limit  given more than once",
		"where=%7B%7D&where=%7B%7D":                         "where  given more than once",
		"skip=1&skip=2":                                     "skip  given more than once",
		"sort=_id&sort=_id":                                 "sort  given more than once",
		"connections.limit=1&connections.limit=2":           "connections.limit  given more than once",
		"connections.where=%7B%7D&connections.where=%7B%7D": "connections.where  given more than once",
		"connections.sort=_id&connections.sort=c_text":      "connections.sort  given more than once",
		"connections.skip=1&connections.skip=1":             "connections.skip  given more than once",
		"limit=1&limit=1&limit=1":                           "limit  given more than once",
		"limit=1&limit=2&limit=3&limit=4":                   "limit  given more than once",
		"limit=&limit=1":                                    "limit  given more than once",
		"limit=1&limit=":                                    "limit  given more than once",
		"limit=1&limit":                                     "limit  given more than once",
		"limit=1&%6Cimit=1":                                 "limit  given more than once",
		"where=%7B%7D&skip=1&where=":                        "where  given more than once",
		"where[]=%7B%7D":                                    "where[]  unknown argument; did you mean where?",
		"where%5B%5D=%7B%7D":                                "where[]  unknown argument; did you mean where?",
		"where[a]=1":                                        "where[a]  unknown argument; did you mean where?",
		"where[a.b]=1":                                      "where[a.b]  unknown argument; did you mean where?",
		"where%7B%22c_text%22=1":                            `where{"c_text"  unknown argument; did you mean where?`,
		"%7B%22where%22=1":                                  `{"where"  unknown argument; did you mean where?`,
		"Where=%7B%7D":                                      "Where  unknown argument; did you mean where?",
		"WHERE=%7B%7D":                                      "WHERE  unknown argument; did you mean where?",
		"where%20=%7B%7D":                                   "where   unknown argument; did you mean where?",
		"%20where=%7B%7D":                                   " where  unknown argument; did you mean where?",
		"where%00=%7B%7D":                                   "where\x00  unknown argument; did you mean where?",
		"where%C2%A0=%7B%7D":                                "where\u00a0  unknown argument; did you mean where?",
		"where%E2%80%8B=%7B%7D":                             "where\u200b  unknown argument; did you mean where?",
		"$where=1":                                          "$where  unknown argument; did you mean where?",
		"where.c_text=a":                                    "where.c_text  unknown argument; did you mean where?",
		".where=%7B%7D":                                     ".where  unknown argument; did you mean where?",
		"where.=%7B%7D":                                     "where.  unknown argument; did you mean where?",
		"connections.Where=%7B%7D":                          "connections.Where  unknown argument; did you mean where?",
		"connections[where]=%7B%7D":                         "connections[where]  unknown argument; did you mean where?",
		"paths.limit=1":                                     "paths.limit  unknown argument; did you mean paths[]?",
		"where.limit=1":                                     "where.limit  unknown argument; did you mean where?",
		"connections.where.limit=1":                         "connections.where.limit  unknown argument; did you mean where?",
		"where[c_text].paths[]=a":                           "where[c_text].paths[]  unknown argument; did you mean where?",
		"Where.paths[]=a":                                   "Where.paths[]  unknown argument; did you mean where?",
		"connections.where.paths[]=a":                       "connections.where.paths[]  unknown argument; did you mean where?",
		"paths=c_text":                                      "paths  unknown argument; did you mean paths[]?",
		"paths[0]=c_text":                                   "paths[0]  unknown argument; did you mean paths[]?",
		"Paths[]=c_text":                                    "Paths[]  unknown argument; did you mean paths[]?",
		"Limit=5":                                           "Limit  unknown argument; did you mean limit?",
		"%C5%BFort=_id":                                     "\u017fort  unknown argument; did you mean sort?",
	}
	for query, want := range tests {
		t.Run("P02 "+query, func(t *testing.T) {
			if diff := cmp.Diff([]string{want}, refused(t, query)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefuseUnknown(t *testing.T) {
	strict := paging.Schema{RefuseUnknown: true, Properties: []paging.Property{{Path: "connections", List: connections}}}
	lenient := paging.Schema{Properties: strict.Properties}
	parsers := map[string]func(*paging.Schema, string) error{
		"a list":     func(s *paging.Schema, query string) error { _, err := s.Parse(query, readable); return err },
		"one object": func(s *paging.Schema, query string) error { _, err := s.ParseObject(query, readable); return err },
	}
	for query, want := range map[string]string{
		"status=open&page=2":      "page unknown argument; status unknown argument",
		"q":                       "q unknown argument",
		"=1":                      "unknown argument",
		"connections.status=open": "connections.status unknown argument",
		"connections.x.y.z.a.b=1": "connections.x.y.z.a.b unknown argument",
		"Limit=1":                 "Limit unknown argument; did you mean limit?",
		"":                        "",
		"paths[]=connections&connections.limit=3": "",
	} {
		for name, parse := range parsers {
			t.Run("P24 "+query+" of "+name, func(t *testing.T) {
				got := ""
				if err := parse(&strict, query); err != nil {
					got = strings.TrimPrefix(err.Error(), "paging: ")
				}
				if got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if err := parse(&lenient, query); err != nil && query != "Limit=1" {
					t.Errorf("without RefuseUnknown: %v", err)
				}
			})
		}
	}
}

// TestRefuseUnknownIsTheSchemasThatParses: one schema can be that of a list of its own, and that of
// a list property of another.
func TestRefuseUnknownIsTheSchemasThatParses(t *testing.T) {
	inner := paging.Schema{RefuseUnknown: true}
	outer := paging.Schema{Properties: []paging.Property{{Path: "inner", List: &inner}}}
	if _, err := outer.Parse("paths[]=inner&inner.status=open&status=open", readable); err != nil {
		t.Error(err)
	}
}
