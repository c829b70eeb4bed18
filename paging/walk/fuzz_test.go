package walk_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// FuzzEndsOf compares the first and the last item of a page with those of
// encoding/json.
func FuzzEndsOf(f *testing.F) {
	for _, seed := range []string{
		`{"object":"list","data":[{"_id":"1"},{"_id":"2","a":[{"b":"]}"}]},{"_id":"3"}],"hasMore":true}`,
		`{"data":[{"a":"\"\\\""},{"a":"\\\\"}],"object":"list"}`,
		` { "data" : [ null , true , -1.5e3 , "x" , [ ] , { } ] , "more" : { "data" : [ 1 ] } , "object" : "list" } `,
		`{"object":"list","DATA":[1],"d\u0061ta":[2,3],"da":[4]}`,
		`{"object":"list","data":[]}`, `{"object":"list","data":[""]}`, `{"data":null}`, `[1]`, `{"data":[1`, `}`, `{"a"`, `"\`, `{:,]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, last := walk.FirstAndLast([]byte(text))
		var list envelope.List[json.RawMessage]
		if json.Unmarshal([]byte(text), &list) != nil {
			return // the call terminated
		}
		if len(list.Data) == 0 {
			if first != nil || last != nil {
				t.Errorf("%q: %q and %q of none", text, first, last)
			}
			return
		}
		if want := list.Data[0]; string(first) != string(want) {
			t.Errorf("%q: first %q, want %q", text, first, want)
		}
		if want := list.Data[len(list.Data)-1]; string(last) != string(want) {
			t.Errorf("%q: last %q, want %q", text, last, want)
		}
	})
}

// FuzzAfter resumes after any text. A text that is no position is refused before the
// server is asked. Otherwise the server is asked for the items after that position.
func FuzzAfter(f *testing.F) {
	for _, seed := range []string{
		"5f", "10000", "10001", "-1", "+5", "2147483648", `["a",1,"5f"]`, `[null,null,"5f"]`, `[true,9007199254740993,"5f"]`, `["a",1e400,"5f"]`,
		`["a",1]`, `["a",1,"5f","60"]`, `["a",{},"5f"]`, `["a",1,5]`, `["a",1,"5f"]]`, `["\u0000",1,"5f"]`, `["\ud800",1,"5f"]`, "a\x00b", "\xff", `"`, `[`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, after string) {
		if after == "" || len(after) > 1<<8 {
			return // the beginning, or longer than a where may be once it is escaped
		}
		for _, list := range []walk.List[envelope.Item]{
			{}, {ByOffset: true}, {Query: paging.Query{Sort: []paging.Key{{Path: "group"}, {Path: "rank", Desc: true}}}},
		} {
			s := bodies(`{"object":"list","data":[]}`)
			list.Client, list.URL, list.After = s.client(), listURL, after
			_, err := collect(list.All(t.Context()))
			if stopped, ok := errors.AsType[*walk.Error](err); ok {
				if len(s.requests) > 0 || !list.ByOffset && stopped.After != "" {
					t.Fatalf("%q: %v after %d requests", after, err, len(s.requests))
				}
				continue
			}
			q, err := schema.Parse(s.requests[0].URL.RawQuery, func(string) bool { return true })
			if err != nil {
				t.Fatalf("%q: %v", after, err)
			}
			if got := cursorIn(t, q, list); !cmp.Equal(got, cursorOfText(after, list)) {
				t.Fatalf("%q became %v", after, got)
			}
		}
	})
}

// cursorIn returns the position that a query asks for: a number to skip, an _id or
// the values of a sort. cursorOfText returns that of a text.
func cursorIn(t *testing.T, q paging.Query, list walk.List[envelope.Item]) any {
	switch {
	case list.ByOffset:
		return q.Skip
	case list.Query.Sort == nil:
		return q.Where.Values()[0]
	}
	values, rest, ok := q.Cursor()
	if !ok || rest.String() != "{}" {
		t.Fatalf("no cursor in %s", q.Where)
	}
	return values
}

func cursorOfText(after string, list walk.List[envelope.Item]) any {
	switch {
	case list.ByOffset:
		n, _ := strconv.Atoi(after)
		return n
	case list.Query.Sort == nil:
		return after
	}
	decoder := json.NewDecoder(strings.NewReader(after))
	decoder.UseNumber()
	var values []any
	_ = decoder.Decode(&values)
	return values
}

// FuzzRetryAfter checks that any header gives a time to wait, and that it is the time
// the header says.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{
		"", "7", "0", "-5", "+5", "1.5", "2147483648", "99999999999999999999", "Fri, 31 Dec 1999 23:59:59 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "soon", " 7",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := walk.RetryAfter(http.Header{"Retry-After": {value}})
		if got < 0 {
			t.Fatalf("%q: %v", value, got)
		}
		if seconds, err := strconv.ParseUint(value, 10, 31); err == nil && got != time.Duration(seconds)*time.Second {
			t.Fatalf("%q: %v", value, got)
		}
	})
}
