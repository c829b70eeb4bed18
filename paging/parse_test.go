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

// readable is a scope without c_private and the properties below it.
func readable(path string) bool { return !strings.HasPrefix(path, "c_private") }

// where encodes a where argument.
func where(filter string) string { return url.Values{"where": {filter}}.Encode() }

func sorted(sort string) string { return url.Values{"sort": {sort}}.Encode() }

var sameFilter = cmp.Comparer(func(a, b paging.Filter) bool { return a.String() == b.String() })

// refused returns the problems of a query that must be refused, one on each line.
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
	for _, p := range wrong.Fault().Faults {
		lines = append(lines, problem(p))
	}
	return lines
}

// problem returns the argument, the pointer into it and the text of a problem.
func problem(f *envelope.Fault) string {
	pointer, text, found := strings.Cut(f.Reason, ": ")
	if !found || pointer[0] != '/' {
		pointer, text = "", f.Reason
	}
	return f.Path + " " + pointer + " " + text
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

func TestParseHasOneAnswerForWhatCannotBeSeen(t *testing.T) {
	for _, path := range []string{
		"c_secret", "c_vault.key", "c_vault", "c_private", "c_nosuch", "c_text.x", "name", "__proto__",
		"constructor", "a.$b", "$a", "", ".", "c_text.", "c_text\x00", "C_text", "connections.c_token",
		"connections.target", "c_tags", strings.Repeat("a", 199), strings.Repeat("a", 600),
	} {
		escaped := strings.ReplaceAll(path, "\x00", `\u0000`)
		pointer := "/" + path
		if len(pointer) > 200 {
			pointer = pointer[:200] + "…"
		}
		got := refused(t, sorted(`{"`+escaped+`":1}`))
		want := []string{"sort " + pointer + " unknown property"}
		if strings.Contains(path, "\x00") {
			want = []string{"sort  NUL in a string at byte 14"}
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
		child("sort", "unknown property"),
		child("where", "/c_likes: must be of type integer"),
		child("where", "/c_nosuch: unknown property"),
		child("skip", "must be a non-negative integer"),
		child("limit", "must be a positive integer"),
	}
	if diff := cmp.Diff(want, wrong.Fault()); diff != "" {
		t.Error(diff)
	}
	text := "paging: paths unknown argument; did you mean paths[]?; sort unknown property; " +
		"where /c_likes: must be of type integer; where /c_nosuch: unknown property; skip must be a non-negative integer; limit must be a positive integer"
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
	if n := len(wrong.Fault().Encode("service")); len(wrong.Fault().Faults) != 20 || n > 20<<10 {
		t.Errorf("%d problems in %d bytes", len(wrong.Fault().Faults), n)
	}
}
