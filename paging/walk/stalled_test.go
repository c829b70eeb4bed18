package walk_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/walk"
)

// embedding has its id behind a pointer, which is nil if no field is sent.
type embedding struct {
	*envelope.Item
	Text string `json:"text"`
}

// careless has a method that panics for a reason of its own.
type careless struct{}

func (careless) ItemID() string { panic("careless") }

func TestItemsThatAreNone(t *testing.T) {
	for name, item := range map[string]string{
		"null":                 `null`,
		"an empty object":      `{}`,
		"no _id":               `{"text":"a"}`,
		"an _id that is empty": `{"_id":""}`,
		"an _id that is null":  `{"_id":null}`,
	} {
		for _, data := range []string{item, `{"_id":"2"},` + item} {
			t.Run("P17 "+name, func(t *testing.T) {
				noItem[envelope.Item](t, data)
				noItem[*envelope.Item](t, data)
				noItem[embedding](t, data)
				noItem[*embedding](t, data)
			})
		}
	}
}

// noItem walks to a page with this data from a previous page.
func noItem[T interface{ ItemID() string }](t *testing.T, data string) {
	t.Helper()
	var none T
	good, bad := `{"object":"list","data":[{"_id":"1"}],"hasMore":true}`, `{"object":"list","data":[`+data+`],"hasMore":true}`
	for _, sort := range [][]paging.Key{nil, {{Path: "text"}}} {
		list := walk.List[T]{URL: listURL, Client: bodies(good, bad).client(), Query: paging.Query{Sort: sort}}
		got, err := collect(list.All(t.Context()))
		if diff := cmp.Diff([]string{"1"}, got); diff != "" || !errors.Is(err, walk.ErrStalled) {
			t.Errorf("%T by %v: %v\n%s", none, sort, err, diff)
		}
	}
}

func TestPanicsOfTheCallerPass(t *testing.T) {
	defer func() {
		if recover() != "careless" {
			t.Error("swallowed")
		}
	}()
	list := walk.List[careless]{URL: listURL, Client: bodies(`{"object":"list","data":[{}]}`).client()}
	_, _ = collect(list.All(t.Context()))
}

// ranked is a page of items like "1" or "1:2", where 2 is the JSON of their rank.
func ranked(items ...string) string {
	var data []string
	for _, item := range items {
		id, rank, found := strings.Cut(item, ":")
		if found {
			rank = `,"rank":` + rank
		}
		data = append(data, fmt.Sprintf(`{"_id":%q%s}`, id, rank))
	}
	return `{"object":"list","data":[` + strings.Join(data, ",") + `],"hasMore":true}`
}

func TestStalled(t *testing.T) {
	by := func(keys ...paging.Key) walk.List[envelope.Item] {
		return walk.List[envelope.Item]{Query: paging.Query{Sort: keys}}
	}
	byID, down := by(), by(paging.Key{Path: "_id", Desc: true})
	rank, rankDown := by(paging.Key{Path: "rank"}), by(paging.Key{Path: "rank", Desc: true})
	tests := map[string]struct {
		list  walk.List[envelope.Item]
		pages []string // the last page is repeated
		want  []string
		after string
		says  string
	}{
		"an empty page says there is more":  {byID, []string{ranked("1"), ranked()}, []string{"1"}, "1", "empty page"},
		"the first page is empty":           {byID, []string{ranked()}, nil, "", "empty page"},
		"the same page again":               {byID, []string{ranked("1", "2")}, []string{"1", "2"}, "2", `by _id, "1" is not after "2"`},
		"back to the start":                 {byID, []string{ranked("5"), ranked("6"), ranked("5")}, []string{"5", "6"}, "6", `by _id, "5" is not after "6"`},
		"one and the other in turn":         {byID, []string{ranked("1"), ranked("2"), ranked("1")}, []string{"1", "2"}, "2", `by _id, "1" is not after "2"`},
		"a page that begins with the last":  {byID, []string{ranked("1", "2"), ranked("2", "3")}, []string{"1", "2"}, "2", `"2" again`},
		"a page that begins before it":      {byID, []string{ranked("2"), ranked("1", "3")}, []string{"2"}, "2", `by _id, "1" is not after "2"`},
		"a page in disorder":                {byID, []string{ranked("1", "3", "2", "4")}, nil, "", `by _id, "2" is not after "3"`},
		"a page with an item twice":         {byID, []string{ranked("1", "2", "2", "3")}, nil, "", `"2" again`},
		"upwards instead of down":           {down, []string{ranked("5"), ranked("6")}, []string{"5"}, "5", `by _id, "6" is not after "5"`},
		"upwards in a page instead of down": {down, []string{ranked("5", "6", "4")}, nil, "", `by _id, "6" is not after "5"`},

		"by keys, the same page again":              {rank, []string{ranked("1:1")}, []string{"1"}, `[1,"1"]`, `"1" again`},
		"by keys, one and the other in turn":        {rank, []string{ranked("1:1"), ranked("2:1"), ranked("1:1")}, []string{"1", "2"}, `[1,"2"]`, `by _id, "1" is not after "2"`},
		"by keys, back to a lower value":            {rank, []string{ranked("1:1"), ranked("2:2"), ranked("3:1")}, []string{"1", "2"}, `[2,"2"]`, `by rank, "3" is not after "2"`},
		"by keys, a page that begins with the last": {rank, []string{ranked("1:1", "2:2"), ranked("2:2", "3:3")}, []string{"1", "2"}, `[2,"2"]`, `"2" again`},
		"by keys, a page that begins before it":     {rank, []string{ranked("1:2"), ranked("2:1", "3:3")}, []string{"1"}, `[2,"1"]`, "by rank"},
		"by keys, a page that ends before it began": {rank, []string{ranked("1:2", "2:1")}, nil, "", "by rank"},
		"by keys, a page that ends as it began":     {rank, []string{ranked("1:2", "2:3", "1:2")}, nil, "", `"1" again`},
		"by keys, null after a value":               {rank, []string{ranked("1:1"), ranked("2:null")}, []string{"1"}, `[1,"1"]`, "rank is null or not sent"},
		"by keys, a key that is not sent":           {rank, []string{ranked("1:1", "2")}, nil, "", "rank is null or not sent"},
		"by keys down, upwards":                     {rankDown, []string{ranked("1:1"), ranked("2:2")}, []string{"1"}, `[1,"1"]`, "by rank"},
		"by keys down, a value after null":          {rankDown, []string{ranked("1:null"), ranked("2:2")}, []string{"1"}, `[null,"1"]`, "by rank"},
		"by keys, numbers no float64 tells apart":   {rank, []string{ranked("1:9007199254740993"), ranked("2:9007199254740992")}, []string{"1"}, `[9007199254740993,"1"]`, "by rank"},
		"by keys, numbers in disorder":              {rank, []string{ranked("1:10"), ranked("2:9")}, []string{"1"}, `[10,"1"]`, "by rank"},
		"by keys, texts in disorder":                {rank, []string{ranked(`1:"b"`), ranked(`2:"a"`)}, []string{"1"}, `["b","1"]`, "by rank"},
		"by keys, false after true":                 {rank, []string{ranked(`1:true`), ranked(`2:false`)}, []string{"1"}, `[true,"1"]`, "by rank"},
		"by keys, a number too large to compare":    {rank, []string{ranked("1:1"), ranked("2:1e999999999", "3:2")}, []string{"1"}, `[1,"1"]`, "values of rank cannot be compared"},
		"by keys, one too large to go on after":     {rank, []string{ranked("1:1"), ranked("2:2", "3:1e999999999")}, []string{"1"}, `[1,"1"]`, "values of rank cannot be compared"},
		"by keys, one too large to begin with":      {rank, []string{ranked("2:1e999999999", "3:2")}, nil, "", "values of rank cannot be compared"},
		"by keys, a text before a number":           {rank, []string{ranked(`1:"a"`, `2:1`)}, nil, "", "by rank"},
		"by keys, a number before true":             {rank, []string{ranked(`1:1`), ranked(`2:true`)}, []string{"1"}, `[1,"1"]`, "by rank"},
		"by keys down, a number before a text":      {rankDown, []string{ranked(`1:1`), ranked(`2:"a"`)}, []string{"1"}, `[1,"1"]`, "by rank"},

		"by keys down, a key that is not sent": {rankDown, []string{ranked("1", "2"), `{"object":"list","data":[],"hasMore":false}`}, []string{"1", "2"}, `[null,"2"]`, "rank is not sent"},
	}
	for name, tc := range tests {
		t.Run("P17 "+name, func(t *testing.T) {
			s := bodies(tc.pages...)
			tc.list.Client, tc.list.URL = s.client(), listURL
			got, err := collect(tc.list.All(t.Context()))
			var stopped *walk.Error
			if !errors.Is(err, walk.ErrStalled) || !errors.As(err, &stopped) || stopped.After != tc.after {
				t.Fatalf("got %#v", err)
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("says %v, not %s", err, tc.says)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if len(s.requests) > len(tc.pages)+1 {
				t.Errorf("%d requests", len(s.requests))
			}
		})
	}
}

// TestNotStalled walks lists that advance although it looks as if they did not.
func TestNotStalled(t *testing.T) {
	last := func(items ...string) string {
		return strings.Replace(ranked(items...), `"hasMore":true`, `"hasMore":false`, 1)
	}
	for name, tc := range map[string]struct {
		list  walk.List[envelope.Item]
		pages []string
	}{
		"numbers that are spelled in several ways": {byRank(false), []string{ranked("1:1", "2:1.0"), ranked("3:10e-1"), last("4:2")}},
		"null and then values":                     {byRank(false), []string{ranked("5"), ranked("6:null"), last("1:0")}},
		"values and then null":                     {byRank(true), []string{ranked("5:-1", "1:null"), last("6")}},
		"null, and nothing after it":               {byRank(true), []string{ranked("5:-1", "6:null"), `{"object":"list","data":[]}`}},
		"upwards, and what followed has gone":      {byRank(false), []string{ranked("5", "6"), `{"object":"list","data":[]}`}},
	} {
		tc.list.URL, tc.list.Client = listURL, bodies(tc.pages...).client()
		if got, err := collect(tc.list.All(t.Context())); err != nil {
			t.Errorf("%s: %v, then %v", name, got, err)
		}
	}
}

func byRank(down bool) walk.List[envelope.Item] {
	return walk.List[envelope.Item]{Query: paging.Query{Sort: []paging.Key{{Path: "rank", Desc: down}}}}
}

// TestNoSortKey has values that a walk cannot page by, in an item and in After.
func TestNoSortKey(t *testing.T) {
	for name, value := range map[string]string{
		"an object":                 `{"a":1}`,
		"an array":                  `[1]`,
		"half of a surrogate pair":  `"a\ud800"`, // encoding/json decodes it as another string
		"a text with NUL":           `"a\u0000"`,
		"an array within an array":  `[[]]`,
		"half of one among letters": `"a\udc00b"`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, down := range []bool{false, true} {
				list := byRank(down)
				list.URL, list.Client = listURL, bodies(ranked("1:1"), ranked("2:"+value)).client()
				got, err := collect(list.All(t.Context()))
				var stopped *walk.Error
				if !errors.As(err, &stopped) || stopped.After != `[1,"1"]` || len(got) != 1 {
					t.Errorf("down %t: %v, then %v", down, got, err)
				}
				list.After = `[` + value + `,"1"]`
				if got, err := collect(list.All(t.Context())); err == nil || got != nil {
					t.Errorf("down %t, after it: %v, %v", down, got, err)
				}
			}
		})
	}
}
