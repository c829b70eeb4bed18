package paging_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

// FuzzParse looks for an argument that Parse ignores.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`limit=5&skip=3&sort={"c_sent":-1}&where={"_id":{"$gt":"5f"}}&paths[]=c_text`,
		`connections.where={"access":4}&connections.limit=2&paths[]=connections.access`,
		`where[]=1`, `where%5ba%5d=1`, `Where={}`, `.where={}`, `a.a.a.a.limit=1`, `limit=%zz`, `sort=c_likes&sort=`,
		`where={"$or":[{"c_likes":null},{"c_sent":"2026-01-02T03:04:05Z"}]}`, `q=1&page=2`,
		`sort={"_id":-1}&where={"_id":{"$prefix":"n"},"c_text":{"$prefix":"a"}}`,
		`sort=c_likes&where={"$and":[{"c_text":"a"},{"$or":[{"c_likes":{"$gt":"x"}},{"$and":[{"c_likes":"x"},{"_id":{"$gt":"n"}}]}]}]}`,
		`sort={"c_likes":-1}&where={"$and":[{"c_text":"a"},{"c_likes":null},{"_id":{"$gt":"n"}}]}`,
	} {
		f.Add(seed)
	}
	for _, seed := range hostileQueries {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := messages.Parse(raw, readable)
		if err != nil {
			if q.Limit != 0 || q.Paths != nil || q.Lists != nil {
				t.Fatalf("%v beside %v", q, err)
			}
			if fault := err.(*paging.Error).Fault(); len(fault.Faults) == 0 || !json.Valid(fault.Encode("service")) {
				t.Fatalf("a fault without a cause: %v", fault)
			}
			return
		}
		sent, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatalf("%q was accepted: %v", raw, err)
		}
		encoded := q.Encode()
		read, err := url.ParseQuery(encoded)
		if err != nil {
			t.Fatal(err)
		}
		for name, values := range sent {
			if !argumentKept(name, values, read) {
				t.Fatalf("%s of %q is not in %q", name, raw, encoded)
			}
		}
		again, err := messages.Parse(encoded, readable)
		if err != nil {
			if beyondBounds(err) {
				return
			}
			t.Fatalf("%q became %q: %v", raw, encoded, err)
		}
		if diff := cmp.Diff(encoded, again.Encode()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// hostileQueries are those of the attacks P01 to P10.
var hostileQueries = []string{
	`count=true`, `count=1`, `connections.count=true`, `Count=true`, `limit=0`, `limit=-1`, `limit=9223372036854775808`, `limit=1.0`, `limit=`, `limit=%2B5`, `limit=%D9%A5`, `limit=2000`,
	`limit=1&limit=2`, `where={}&where={}`, `where[a]=1`, `where{=1`, `Where={}`, `connections[where]={}`, `paths=c_text`,
	`skip=-1`, `skip=1000000000`, `where=%zz`, `where={};limit=1`, `where={"$and":[]}`, `where={"c_text":"\u0000"}`, `where=null`,
	`where={"c_secret":{"$gt":""}}`, `sort=c_secret`, `sort=__proto__`, `sort={"a.$b":1}`, `sort={"c_sent":0}`, `sort={"c_sent":"1"}`,
	`paths[]=c_secret`, `paths[]=c_private`, `a.a.a.a.a.limit=1`, `c_private_list.limit=1`, `nosuch.where={}`, `connections..limit=1`,
}

// FuzzParseObject looks for an argument of a list that ParseObject accepts.
func FuzzParseObject(f *testing.F) {
	for _, seed := range hostileQueries {
		f.Add(seed)
		f.Add("connections." + seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := messages.ParseObject(raw, readable)
		if err != nil {
			if q.Paths != nil || q.Lists != nil || len(err.(*paging.Error).Fault().Faults) == 0 {
				t.Fatalf("%v beside %v", q, err)
			}
			return
		}
		if q.Where.String() != "{}" || q.Sort != nil || q.Skip != 0 || q.Limit != 0 || q.CountTo != 0 {
			t.Fatalf("%q became %+v", raw, q)
		}
		sent, err := url.ParseQuery(raw)
		if err != nil {
			t.Fatalf("%q was accepted: %v", raw, err)
		}
		for _, name := range []string{"where", "sort", "skip", "limit", "count"} {
			if sent.Has(name) {
				t.Fatalf("%s of %q was passed over", name, raw)
			}
		}
		for property, list := range q.Lists {
			if list.CountTo != 0 || list.Limit < 1 || list.Limit > 1000 || len(list.Sort) == 0 || !readable(property) {
				t.Fatalf("%q asks for %+v of %s", raw, list, property)
			}
		}
	})
}

// FuzzDate compares the date that Parse reads with that of package time.
func FuzzDate(f *testing.F) {
	for _, seed := range []string{
		"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.6+02:00", "2026-01-02T03:04:05.123000000Z", "2026-01-02T03:04:05.0001Z", "2026-01-02",
		"9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-02T24:00:00Z",
		"2026-01-02T03:04:60Z", "2026-01-02t03:04:05z", "2026-01-02T03:04:05,5Z", "+2026-01-02T03:04:05Z", "yesterday", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := messages.Parse(where(`{"c_sent":`+string(quoted)+`}`), readable)
		if err != nil {
			return
		}
		date := q.Where.Values()[0].(string)
		want, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatalf("%q became %s: %v", text, date, err)
		}
		if got, err := time.Parse("2006-01-02T15:04:05.000Z", date); err != nil || !got.Equal(want) {
			t.Fatalf("%q became %s: %v", text, date, err)
		}
	})
}

// argumentKept reports whether an encoded query still has a parameter that was sent,
// or whether the parameter is no argument.
func argumentKept(name string, values []string, read url.Values) bool {
	switch last := name[strings.LastIndexByte(name, '.')+1:]; last {
	case "where":
		if len(values[0]) > 8<<10 { // includes a cursor, which ParseFilter does not know
			return len(values) == 1 && read.Has(name)
		}
		f, err := paging.ParseFilter(values[0])
		return len(values) == 1 && err == nil && (f.String() == "{}" || read.Has(name))
	case "sort", "limit":
		return len(values) == 1 && read.Has(name)
	case "count":
		return len(values) == 1 && (values[0] == "false" || values[0] == "true" && read.Has(name))
	case "skip":
		return len(values) == 1 && (values[0] == "0" || read.Has(name))
	case "paths[]":
		return true
	default:
		lower := strings.ToLower(last)
		return lower != "where" && !strings.HasPrefix(lower, "where[") && !strings.HasPrefix(lower, "where{")
	}
}

// beyondBounds reports whether a filter is only refused because its canonical form is
// too large. That form spells out what the filter implied.
func beyondBounds(err error) bool {
	for _, p := range err.(*paging.Error).Fault().Faults {
		if !strings.Contains(p.Reason, "deeply") && !strings.Contains(p.Reason, "longer than") && !strings.Contains(p.Reason, "more than 256") {
			return false
		}
	}
	return true
}

// FuzzParseFilter compares the scanner with encoding/json, and a filter with the
// filter that its canonical form gives.
func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"$gt":1,"$not":{"$in":[null,"x",1e5,-0.0]}},"$nor":[{"b":true},{}]}`,
		`{"\u0061":"\ud83d\ude00"}`, `{"a":[1]}`, ` {} x`, `{"a":{"$prefix":"\ud7ff"},"b":{"$not":{"$prefix":""}}}`,
	} {
		f.Add(seed)
	}
	for _, refused := range refusedFilters {
		f.Add(refused.where)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := paging.ParseFilter(text)
		if err != nil {
			if filter.String() != "{}" {
				t.Fatalf("%s beside %v", filter, err)
			}
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q was accepted", text)
		}
		canonical := filter.String()
		if !json.Valid([]byte(canonical)) {
			t.Fatalf("%q became %q", text, canonical)
		}
		again, err := paging.ParseFilter(canonical)
		if err != nil {
			if beyondBounds(err) {
				return
			}
			t.Fatalf("%q became %q: %v", text, canonical, err)
		}
		if diff := cmp.Diff(filter, again, sameFilter); diff != "" {
			t.Fatalf("%q became %q:\n%s", text, canonical, diff)
		}
	})
}

// FuzzCursor checks what Parse makes of a where and a sort. It compares nothing that
// the caller may not compare, and stays the same when it is sent on. What a server
// adds stays a condition.
func FuzzCursor(f *testing.F) {
	schema := &paging.Schema{Properties: []paging.Property{
		{Path: "x", Type: paging.Number, Filter: true, Sort: true},
		{Path: "d", Type: paging.Date, Filter: true, Sort: true, Null: true},
		{Path: "u", Type: paging.Number, Filter: true, Sort: true},
		{Path: "h", Type: paging.String, Hidden: true, Filter: true, Sort: true},
	}}
	readable := func(path string) bool { return path == "x" || path == "d" }
	cursor := `{"$or":[{"x":{"$gt":1}},{"$and":[{"x":1},{"_id":{"$gt":"n"}}]}]}`
	for _, where := range []string{
		cursor, `{"$and":[{"x":1},` + cursor + `]}`, `{"$and":[` + cursor + `,` + cursor + `]}`, `{"$and":[` + cursor + `,{}]}`,
		`{"$and":[{"x":null},{"_id":{"$gt":"n"}}]}`, `{"$or":[{"d":{"$gt":"a"}},{"$and":[{"d":"a"},{"_id":{"$gt":"n"}}]}]}`,
	} {
		f.Add(where, `{"x":1}`)
		f.Add(where, `{"x":-1}`)
		f.Add(where, `{"d":1}`)
	}
	var check func(t *testing.T, f paging.Filter)
	check = func(t *testing.T, f paging.Filter) {
		if f.Path() == "u" || f.Path() == "h" {
			t.Fatalf("%s may not be compared", f.Path())
		}
		for _, part := range f.Filters() {
			check(t, part)
		}
	}
	f.Fuzz(func(t *testing.T, where, sort string) {
		q, err := schema.Parse(url.Values{"where": {where}, "sort": {sort}}.Encode(), readable)
		if err != nil {
			return
		}
		check(t, q.Where)
		values, rest, ok := q.Cursor()
		if ok && len(values) != len(q.Order()) {
			t.Fatalf("%d values for %v", len(values), q.Order())
		}
		again, err := schema.Parse(q.Encode(), readable)
		switch {
		case err != nil && beyondBounds(err):
		case err != nil:
			t.Fatalf("sent on: %v", err)
		default:
			valuesAgain, restAgain, okAgain := again.Cursor()
			if !cmp.Equal(values, valuesAgain) || ok != okAgain || rest.String() != restAgain.String() {
				t.Fatalf("sent on: %v after %v, and were %v after %v", restAgain, valuesAgain, rest, values)
			}
		}
		server, err := paging.ParseFilter(cursor)
		if err != nil {
			t.Fatal(err)
		}
		valuesThen, restThen, okThen := q.And(server).Cursor()
		if !cmp.Equal(values, valuesThen) || ok != okThen || restThen.String() != paging.And(rest, server).String() {
			t.Fatalf("with what the server adds: %v after %v", restThen, valuesThen)
		}
	})
}
