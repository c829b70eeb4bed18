package paging_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

var connections = &paging.Schema{
	Object: "connection",
	Properties: []paging.Property{
		{Path: "target", Type: paging.String, Filter: true, Sort: true},
		{Path: "access", Type: paging.Integer, Filter: true, Sort: true},
		{Path: "c_token", Type: paging.String, Filter: true, Sort: true, Hidden: true},
	},
	Default: 10, Max: 20,
}

var messages = &paging.Schema{
	Object: "c_message",
	Properties: []paging.Property{
		{Path: "c_text", Type: paging.String, Filter: true},
		{Path: "c_author", Type: paging.String, Filter: true, Sort: true},
		{Path: "c_likes", Type: paging.Integer, Filter: true, Sort: true, Null: true},
		{Path: "c_sent", Type: paging.Date, Filter: true, Sort: true},
		{Path: "c_pinned", Type: paging.Boolean, Filter: true},
		{Path: "c_meta.lang", Type: paging.String, Filter: true, Sort: true, Null: true},
		{Path: "name.first", Type: paging.String, Filter: true, Sort: true},
		{Path: "name.last", Type: paging.String, Filter: true, Sort: true},
		{Path: "c_tags[]"},
		{Path: "c_blob", Filter: true, Sort: true},
		{Path: "c_secret", Type: paging.String, Filter: true, Sort: true, Hidden: true},
		{Path: "c_vault.key", Type: paging.String, Filter: true, Sort: true},
		{Path: "c_vault", Hidden: true},
		{Path: "c_private", Type: paging.String, Filter: true, Sort: true}, // outside the scope below
		{Path: "connections", List: connections},
		{Path: "c_inbox.connections", List: connections},
		{Path: "c_hidden_list", List: connections, Hidden: true},
		{Path: "c_private_list", List: connections},
	},
}

func init() {
	messages.Properties = append(messages.Properties, paging.Property{Path: "a", List: messages})
}

// readable is a scope without c_private and what begins like it.
func readable(path string) bool { return !strings.HasPrefix(path, "c_private") }

// where encodes a where argument.
func where(filter string) string { return url.Values{"where": {filter}}.Encode() }

func sorted(sort string) string { return url.Values{"sort": {sort}}.Encode() }

var sameFilter = cmp.Comparer(func(a, b paging.Filter) bool { return a.String() == b.String() })

// refused returns the problems of a query that must be refused, one line each.
func refused(t *testing.T, query string) []string {
	t.Helper()
	q, err := messages.Parse(query, readable)
	if err == nil {
		t.Fatalf("%s: accepted as %s", query, q.Encode())
	}
	if diff := cmp.Diff(paging.Query{}, q, sameFilter); diff != "" {
		t.Errorf("%s: a query beside the error:\n%s", query, diff)
	}
	var wrong *paging.Error
	if !errors.As(err, &wrong) {
		t.Fatalf("%s: %v", query, err)
	}
	var lines []string
	for _, p := range wrong.Problems {
		lines = append(lines, fmt.Sprintf("%s %s %s", p.Argument, p.Pointer, p.Text))
	}
	return lines
}

func accepted(t *testing.T, query string) paging.Query {
	t.Helper()
	q, err := messages.Parse(query, readable)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return q
}

func TestParseWithoutArguments(t *testing.T) {
	want := paging.Query{Sort: []paging.Key{{Path: "_id"}}, Limit: 100}
	for _, query := range []string{"", "&&", "q=5&tenant=acme&connections=1&page%5Blimit2%5D=3"} {
		if diff := cmp.Diff(want, accepted(t, query), sameFilter); diff != "" {
			t.Errorf("%q:\n%s", query, diff)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]int{
		"1": 1, "100": 100, "1000": 1000, "1001": 1000, "9223372036854775807": 1000,
	} {
		if got := accepted(t, "limit="+text).Limit; got != want {
			t.Errorf("P01 %s: got %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{
		"0", "-1", "9223372036854775808", "1.0", "", "abc", "%2B5", "+5", "%205", "5%20", "%D9%A5",
		"05", "0x5", "1e2", "1_0", "null", "NaN", "%00", "5%00", "99999999999999999999999",
	} {
		want := []string{"limit  must be a positive integer"}
		if diff := cmp.Diff(want, refused(t, "limit="+text)); diff != "" {
			t.Errorf("P01 %s:\n%s", text, diff)
		}
	}
}

func TestParseLimitOfASchema(t *testing.T) {
	tests := map[string]struct {
		schema paging.Schema
		query  string
		want   int
	}{
		"its default":                  {paging.Schema{Default: 7}, "", 7},
		"its maximum":                  {paging.Schema{Max: 50}, "limit=51", 50},
		"a maximum below the default":  {paging.Schema{Max: 50}, "", 50},
		"a default above the maximum":  {paging.Schema{Default: 90, Max: 50}, "", 50},
		"a maximum above the usual":    {paging.Schema{Max: 5000}, "limit=4000", 4000},
		"negative numbers are nothing": {paging.Schema{Default: -1, Max: -1}, "limit=2000", 1000},
	}
	for name, tc := range tests {
		q, err := tc.schema.Parse(tc.query, nil)
		if err != nil || q.Limit != tc.want {
			t.Errorf("%s: %d, %v", name, q.Limit, err)
		}
	}
}

func TestParseTwiceGivenAndMisspelt(t *testing.T) {
	tests := map[string]string{
		"limit=1&limit=1":                         "limit  given more than once",
		"where=%7B%7D&where=%7B%7D":               "where  given more than once",
		"skip=1&skip=2":                           "skip  given more than once",
		"sort=_id&sort=_id":                       "sort  given more than once",
		"connections.limit=1&connections.limit=2": "connections.limit  given more than once",
		"where[]=%7B%7D":                          "where[]  unknown argument; did you mean where?",
		"where%5B%5D=%7B%7D":                      "where[]  unknown argument; did you mean where?",
		"where[a]=1":                              "where[a]  unknown argument; did you mean where?",
		"where[a.b]=1":                            "where[a.b]  unknown argument; did you mean where?",
		"where%7B%22c_text%22=1":                  `where{"c_text"  unknown argument; did you mean where?`,
		"%7B%22where%22=1":                        `{"where"  unknown argument; did you mean where?`,
		"Where=%7B%7D":                            "Where  unknown argument; did you mean where?",
		"WHERE=%7B%7D":                            "WHERE  unknown argument; did you mean where?",
		"where%20=%7B%7D":                         "where   unknown argument; did you mean where?",
		"%20where=%7B%7D":                         " where  unknown argument; did you mean where?",
		"where%00=%7B%7D":                         "where\x00  unknown argument; did you mean where?",
		"where%C2%A0=%7B%7D":                      "where\u00a0  unknown argument; did you mean where?",
		"where%E2%80%8B=%7B%7D":                   "where\u200b  unknown argument; did you mean where?",
		"$where=1":                                "$where  unknown argument; did you mean where?",
		"where.c_text=a":                          "where.c_text  unknown argument; did you mean where?",
		".where=%7B%7D":                           ".where  unknown argument; did you mean where?",
		"where.=%7B%7D":                           "where.  unknown argument; did you mean where?",
		"connections.Where=%7B%7D":                "connections.Where  unknown argument; did you mean where?",
		"connections[where]=%7B%7D":               "connections[where]  unknown argument; did you mean where?",
		"where.limit=1":                           "where.limit  unknown argument; did you mean where?",
		"paths=c_text":                            "paths  unknown argument; did you mean paths[]?",
		"paths[0]=c_text":                         "paths[0]  unknown argument; did you mean paths[]?",
		"Paths[]=c_text":                          "Paths[]  unknown argument; did you mean paths[]?",
		"Limit=5":                                 "Limit  unknown argument; did you mean limit?",
		"%C5%BFort=_id":                           "\u017fort  unknown argument; did you mean sort?",
	}
	for query, want := range tests {
		t.Run("P02 "+query, func(t *testing.T) {
			if diff := cmp.Diff([]string{want}, refused(t, query)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseSkip(t *testing.T) {
	for text, want := range map[string]int{"0": 0, "1": 1, "10000": 10000} {
		if got := accepted(t, "skip="+text).Skip; got != want {
			t.Errorf("P03 %s: got %d, want %d", text, got, want)
		}
	}
	for _, text := range []string{"-1", "", "1.0", "01", "9223372036854775808", "x"} {
		want := []string{"skip  must be a non-negative integer"}
		if diff := cmp.Diff(want, refused(t, "skip="+text)); diff != "" {
			t.Errorf("P03 %s:\n%s", text, diff)
		}
	}
	for _, text := range []string{"10001", "1000000000"} {
		want := []string{`skip  more than 10000; sort by _id and ask for {"_id":{"$gt":…}} with the last _id of the page before`}
		if diff := cmp.Diff(want, refused(t, "skip="+text)); diff != "" {
			t.Errorf("P03 %s:\n%s", text, diff)
		}
	}
}

func TestParseSort(t *testing.T) {
	id := paging.Key{Path: "_id"}
	tests := map[string][]paging.Key{
		`{"c_sent":-1,"c_author":1}`: {{Path: "c_sent", Desc: true}, {Path: "c_author"}, id},
		`{"c_author":1,"c_sent":-1}`: {{Path: "c_author"}, {Path: "c_sent", Desc: true}, id},
		`{"_id":-1}`:                 {{Path: "_id", Desc: true}},
		`{"c_sent":1,"_id":-1}`:      {{Path: "c_sent"}, {Path: "_id", Desc: true}},
		`{"object":1}`:               {{Path: "object"}, id},
		` { "c_likes" : 1 } `:        {{Path: "c_likes"}, id},
		`{}`:                         {id},
		`c_meta.lang`:                {{Path: "c_meta.lang"}, id},
		`_id`:                        {id},
	}
	for text, want := range tests {
		if diff := cmp.Diff(want, accepted(t, sorted(text)).Sort); diff != "" {
			t.Errorf("P09 %s:\n%s", text, diff)
		}
	}

	wrong := map[string]string{
		`{"c_sent":0}`:              "sort /c_sent must be 1 or -1",
		`{"c_sent":"1"}`:            "sort /c_sent must be 1 or -1",
		`{"c_sent":{}}`:             "sort /c_sent must be 1 or -1",
		`{"c_sent":1.0}`:            "sort /c_sent must be 1 or -1",
		`{"c_sent":true}`:           "sort /c_sent must be 1 or -1",
		`{"c_sent":null}`:           "sort /c_sent must be 1 or -1",
		`{"c_sent":1,"c_sent":1}`:   "sort  a name occurs twice at byte 20",
		`{"c_text":1}`:              "sort /c_text cannot be sorted by",
		`{"c_blob":1}`:              "sort /c_blob cannot be sorted by",
		`{"connections":1}`:         "sort /connections cannot be sorted by",
		`c_text`:                    "sort  cannot be sorted by",
		`-c_sent`:                   "sort  unknown property",
		``:                          "sort  unknown property",
		`["c_sent"]`:                "sort  unknown property",
		`"c_sent"`:                  "sort  unknown property",
		`null`:                      "sort  unknown property",
		`{"c_sent":1`:               "sort  a comma is missing at byte 11",
		`{"c_sent":1}{"c_likes":1}`: "sort  something follows the value at byte 12",
		`{"_id":1,"object":1,"c_author":1,"c_likes":1,"c_sent":1,"c_meta.lang":1,"name.first":1,"name.last":1,"x":1}`: "sort /x unknown property",
	}
	for text, want := range wrong {
		if diff := cmp.Diff([]string{want}, refused(t, sorted(text))); diff != "" {
			t.Errorf("P09 %s:\n%s", text, diff)
		}
	}

	nine := paging.Schema{}
	var keys []string
	for i := range 9 {
		path := fmt.Sprintf("k%d", i)
		nine.Properties = append(nine.Properties, paging.Property{Path: path, Type: paging.Number, Sort: true})
		keys = append(keys, fmt.Sprintf("%q:1", path))
	}
	all := func(string) bool { return true }
	if _, err := nine.Parse(sorted("{"+strings.Join(keys[:8], ",")+"}"), all); err != nil {
		t.Errorf("P09 8 keys: %v", err)
	}
	if _, err := nine.Parse(sorted("{"+strings.Join(keys, ",")+"}"), all); err == nil {
		t.Error("P09 9 keys accepted")
	}
}

func TestParseHasOneAnswerForWhatCannotBeSeen(t *testing.T) {
	for _, path := range []string{
		"c_secret", "c_vault.key", "c_vault", "c_private", "c_nosuch", "c_text.x", "name", "__proto__",
		"constructor", "a.$b", "$a", "", ".", "c_text.", "c_text\x00", "C_text", "connections.c_token",
		"connections.target", "c_tags", strings.Repeat("a", 600),
	} {
		escaped := strings.ReplaceAll(path, "\x00", `\u0000`)
		pointer := "/" + path
		if len(pointer) > 200 {
			pointer = pointer[:200] + "…"
		}
		got := refused(t, sorted(`{"`+escaped+`":1}`))
		want := []string{"sort " + pointer + " unknown property"}
		if strings.Contains(path, "\x00") {
			want = []string{"sort  a bad escape at byte 14"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("P07 C12 sort by %q:\n%s", path, diff)
		}
		if path == "$a" {
			continue // an operator, below
		}
		got = refused(t, where(`{"`+escaped+`":{"$gt":"x"}}`))
		want = []string{strings.Replace(want[0], "sort", "where", 1)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("P07 C12 where on %q:\n%s", path, diff)
		}
		if path == "" || strings.ContainsAny(path, "\x00") {
			continue
		}
		if diff := cmp.Diff([]string{"sort  unknown property"}, refused(t, sorted(path))); diff != "" {
			t.Errorf("P07 C12 sort by bare %q:\n%s", path, diff)
		}
	}
}

func TestParseWithoutAScopeLetsOnlyIdentityBeCompared(t *testing.T) {
	for _, query := range []string{where(`{"_id":{"$gt":"5"},"object":"c_message"}`), sorted(`{"object":1,"_id":1}`)} {
		if _, err := messages.Parse(query, nil); err != nil {
			t.Errorf("P22 %s: %v", query, err)
		}
	}
	for _, query := range []string{where(`{"c_text":"5"}`), sorted("c_sent")} {
		if _, err := messages.Parse(query, nil); err == nil {
			t.Errorf("%s: accepted", query)
		}
	}
}

func TestParsePaths(t *testing.T) {
	tests := map[string]struct {
		query string
		want  []string
	}{
		"P21 none":                               {"", nil},
		"as they are":                            {"paths[]=c_text&paths%5B%5D=c_likes", []string{"c_likes", "c_text"}},
		"twice":                                  {"paths[]=c_text&paths[]=c_text", []string{"c_text"}},
		"a parent":                               {"paths[]=name&paths[]=c_meta", []string{"c_meta", "name"}},
		"below a property":                       {"paths[]=c_blob.x.y", []string{"c_blob.x.y"}},
		"of a list":                              {"paths[]=connections.access", []string{"connections.access"}},
		"of a list by its prefix":                {"connections.paths[]=access", []string{"connections.access"}},
		"P10 hidden and unknown ones":            {"paths[]=c_secret&paths[]=c_text&paths[]=c_nosuch", []string{"c_text"}},
		"P10 only hidden ones":                   {"paths[]=c_secret&paths[]=c_vault.key", []string{"_id"}},
		"P10 a path too long":                    {"paths[]=c_blob.x&paths[]=c_blob." + strings.Repeat("x.", 300) + "x", []string{"c_blob.x"}},
		"P10 an odd path":                        {"paths[]=c_blob.x&paths[]=c_blob.$x&paths[]=c_blob.%00", []string{"c_blob.x"}},
		"P10 only malformed ones":                {"paths[]=&paths[]=..&paths[]=%00&paths[]=$x", []string{"_id"}},
		"P10 hidden in a list":                   {"paths[]=connections.c_token", []string{"_id"}},
		"an array with and without its brackets": {"paths[]=c_tags&paths[]=c_tags[]", []string{"c_tags", "c_tags[]"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, accepted(t, tc.query).Paths); diff != "" {
				t.Error(diff)
			}
		})
	}
	many := func(n int) string { return strings.Repeat("paths[]=c_text&", n) }
	accepted(t, many(100))
	if diff := cmp.Diff([]string{"paths[]  more than 100 paths"}, refused(t, many(101))); diff != "" {
		t.Errorf("P10 %s", diff)
	}
}

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
	if got := accepted(t, "paths[]=connections").Sub("connections").Limit; got != 10 {
		t.Errorf("a list that is only asked for has limit %d", got)
	}
	if got := accepted(t, "a.a.a.connections.limit=3").Sub("a").Sub("a").Sub("a").Sub("connections").Limit; got != 3 {
		t.Errorf("four segments: limit %d", got)
	}
}

func TestParseGoesFourListsDeep(t *testing.T) {
	q := accepted(t, "paths[]=a.a.a.a.a.a.c_text")
	depth := 0
	for ; q.Lists != nil; depth++ {
		q = q.Sub("a")
	}
	if depth != 4 {
		t.Errorf("P10 %d lists in each other", depth)
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

func TestParseMalformedQuery(t *testing.T) {
	for _, query := range []string{"limit=%zz", "where=%7B%7D;limit=1", "%zz=1&limit=1", "a=1;b=2", "where=%"} {
		if diff := cmp.Diff([]string{"  the query is malformed"}, refused(t, query)); diff != "" {
			t.Errorf("P05 %s:\n%s", query, diff)
		}
	}
}

func TestParseSaysAllThatIsWrong(t *testing.T) {
	_, err := messages.Parse("limit=0&skip=x&paths=a&sort=c_secret&"+where(`{"c_likes":"a","c_nosuch":1}`), readable)
	var wrong interface{ Fault() *envelope.Fault }
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	child := func(path, reason string) *envelope.Fault {
		return &envelope.Fault{
			Detail: "invalidArgument.query", Code: "kInvalidArgument", Status: 400,
			Message: "The query is not valid.", Path: path, Reason: reason,
		}
	}
	want := child("", "")
	want.Faults = []*envelope.Fault{
		child("paths", "unknown argument; did you mean paths[]?"),
		child("where", "/c_likes: must be of type integer"),
		child("where", "/c_nosuch: unknown property"),
		child("sort", "unknown property"),
		child("skip", "must be a non-negative integer"),
		child("limit", "must be a positive integer"),
	}
	if diff := cmp.Diff(want, wrong.Fault()); diff != "" {
		t.Error(diff)
	}
	text := "paging: paths unknown argument; did you mean paths[]?; where /c_likes: must be of type integer; " +
		"where /c_nosuch: unknown property; sort unknown property; skip must be a non-negative integer; limit must be a positive integer"
	if diff := cmp.Diff(text, err.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestParseBoundsItsAnswer(t *testing.T) {
	hostile := "where" + strings.Repeat("%5B", 5000) + "=1&" + where(`{"`+strings.Repeat("n", 3000)+`":1}`)
	for i := range 200 {
		hostile += fmt.Sprintf("&where[%d]=1", i)
	}
	_, err := messages.Parse(hostile, readable)
	var wrong *paging.Error
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	if n := len(wrong.Fault().Encode("service")); len(wrong.Problems) != 20 || n > 20<<10 {
		t.Errorf("%d problems in %d bytes", len(wrong.Problems), n)
	}
}
