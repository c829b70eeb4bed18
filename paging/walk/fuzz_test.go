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
			{}, {Query: paging.Query{Sort: []paging.Key{{Path: "group"}, {Path: "rank", Desc: true}}}},
		} {
			s := bodies(`{"object":"list","data":[]}`)
			list.Client, list.URL, list.After = s.client(), listURL, after
			_, err := collect(list.All(t.Context()))
			if stopped, ok := errors.AsType[*walk.Error](err); ok {
				if len(s.requests) > 0 || stopped.After != "" {
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

// cursorIn returns the position that a query asks for: an _id or the values of a sort. cursorOfText returns that of a text.
func cursorIn(t *testing.T, q paging.Query, list walk.List[envelope.Item]) any {
	if list.Query.Sort == nil {
		return q.Where.Values()[0]
	}
	values, rest, ok := q.Cursor()
	if !ok || rest.String() != "{}" {
		t.Fatalf("no cursor in %s", q.Where)
	}
	return values
}

func cursorOfText(after string, list walk.List[envelope.Item]) any {
	if list.Query.Sort == nil {
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
