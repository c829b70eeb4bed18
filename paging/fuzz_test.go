package paging_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/paging"
)

// FuzzParse looks for an argument that is passed over.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`limit=5&skip=3&sort={"c_sent":-1}&where={"_id":{"$gt":"5f"}}&paths[]=c_text`,
		`connections.where={"access":4}&connections.limit=2&paths[]=connections.access`,
		`where[]=1`, `where%5ba%5d=1`, `Where={}`, `.where={}`, `a.a.a.a.limit=1`, `limit=%zz`, `sort=c_likes&sort=`,
		`where={"$or":[{"c_likes":null},{"c_sent":"2026-01-02T03:04:05Z"}]}`, `q=1&page=2`,
	} {
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

// argumentKept reports whether a parameter that was sent is there when the
// query is written again, or is none of the arguments.
func argumentKept(name string, values []string, read url.Values) bool {
	switch last := name[strings.LastIndexByte(name, '.')+1:]; last {
	case "where":
		f, err := paging.ParseFilter(values[0])
		return len(values) == 1 && err == nil && (f.String() == "{}" || read.Has(name))
	case "sort", "limit":
		return len(values) == 1 && read.Has(name)
	case "skip":
		return len(values) == 1 && (values[0] == "0" || read.Has(name))
	case "paths[]":
		return true
	default:
		lower := strings.ToLower(last)
		return lower != "where" && !strings.HasPrefix(lower, "where[") && !strings.HasPrefix(lower, "where{")
	}
}

// beyondBounds reports whether the canonical form of a filter, which spells out
// what was implied, is the only thing too large.
func beyondBounds(err error) bool {
	for _, p := range err.(*paging.Error).Problems {
		if !strings.Contains(p.Text, "deeply") && !strings.Contains(p.Text, "longer than") && !strings.Contains(p.Text, "more than 256") {
			return false
		}
	}
	return true
}

// FuzzParseFilter compares the scanner with encoding/json, and a filter with
// what its canonical form is read as.
func FuzzParseFilter(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"$gt":1,"$not":{"$in":[null,"x",1e5,-0.0]}},"$nor":[{"b":true},{}]}`,
		`{"\u0061":"\ud83d\ude00"}`, `{"a":"\ud800"}`, `{"a":1,"a":2}`, `{"a":01}`, "{\"a\":\"\xff\"}", `{"a":[1]}`, `{"$or":[]}`, ` {} x`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := paging.ParseFilter(text)
		if err != nil {
			if filter.Op() != paging.OpAll {
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
