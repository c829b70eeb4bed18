package paging_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
)

var notes = paging.Schema{
	Object: "c_note",
	Properties: []paging.Property{
		{Path: "c_text", Type: paging.String, Filter: true},
		{Path: "c_likes", Type: paging.Integer, Filter: true, Sort: true},
		{Path: "c_secret", Type: paging.String, Hidden: true},
	},
}

func everything(string) bool { return true } // or what the caller's scope says

func ExampleSchema_Parse() {
	query := `paths[]=c_text&limit=5000&sort={"c_likes":-1}&where={"c_likes":{"$gte":5}}` // of r.URL.RawQuery

	q, err := notes.Parse(query, everything)
	if err != nil {
		fmt.Println(err)
		return
	}
	q = q.And(paging.Eq("org", "acme")) // what this caller may see
	fmt.Println(q.Where)
	fmt.Println(q.Sort, q.Limit)
	// Output:
	// {"$and":[{"c_likes":{"$gte":5}},{"org":"acme"}]}
	// [{c_likes true} {_id false}] 1000
}

func ExampleSchema_ParseObject() {
	post := paging.Schema{Object: "c_post", Properties: []paging.Property{
		{Path: "c_title", Type: paging.String},
		{Path: "c_notes", List: &notes},
	}}
	q, err := post.ParseObject(`paths[]=c_title&paths[]=c_notes.c_text&c_notes.limit=5`, everything)
	fmt.Println(q.Paths, q.Lists["c_notes"].Limit, err)

	_, err = post.ParseObject(`limit=5`, everything)
	fmt.Println(err)
	// Output:
	// [c_notes.c_text c_title] 5 <nil>
	// paging: limit is for lists, and this is one object
}

func ExampleError_Fault() {
	_, err := notes.Parse(`limit=none&where={"c_secret":{"$gt":"a"},"c_likes":"5"}`, everything)
	if wrong, ok := errors.AsType[*paging.Error](err); ok {
		for _, fault := range wrong.Fault().Faults {
			fmt.Println(fault.Path, "-", fault.Reason)
		}
	}
	// Output:
	// where - /c_secret: unknown property
	// where - /c_likes: must be of type integer
	// limit - must be a positive integer
}

func ExampleSchema_Visible() {
	q, err := notes.Parse(`paths[]=c_likes&paths[]=c_secret`, everything)
	if err != nil {
		fmt.Println(err)
		return
	}
	note := map[string]any{"_id": "5f1", "object": "c_note", "c_text": "a", "c_likes": 7, "c_secret": "b"}
	body, err := envelope.Select(note, func(path string) bool {
		return notes.Visible(path) && q.Wants(path) && everything(path)
	})
	fmt.Println(string(body), err)
	// Output:
	// {"_id":"5f1","c_likes":7,"object":"c_note"} <nil>
}

func ExampleQuery_And() {
	q, err := notes.Parse(`where={"$or":[{"c_likes":5},{}]}`, everything) // all of them
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(q.And(paging.Eq("org", "acme")).Where)
	// Output:
	// {"org":"acme"}
}

func ExampleQuery_Wants() {
	q := paging.Query{Paths: []string{"name.first"}}
	fmt.Println(q.Wants("name.first"), q.Wants("name"), q.Wants("_id"), q.Wants("name.last"))
	// Output:
	// true true true false
}

func ExampleQuery_lists() {
	post := paging.Schema{Object: "c_post", Properties: []paging.Property{{Path: "c_notes", List: &notes}}}
	q, err := post.Parse(`c_notes.limit=5&c_notes.where={"c_likes":{"$gte":5}}`, everything)
	if err != nil {
		fmt.Println(err)
		return
	}
	sub := q.Lists["c_notes"].And(paging.Eq("post", "5f1")) // for each post of the page
	fmt.Println(sub.Where, sub.Limit)
	// Output:
	// {"$and":[{"c_likes":{"$gte":5}},{"post":"5f1"}]} 5
}

func ExampleQuery_Order() {
	q := paging.Query{Sort: []paging.Key{{Path: "c_likes", Desc: true}}}
	fmt.Println(q.Order())
	// Output:
	// [{c_likes true} {_id false}]
}

func ExampleQuery_Cursor() {
	q, err := notes.Parse(`sort={"c_likes":-1}&where={"$or":[{"$nor":[{"c_likes":{"$gte":5}}]},{"$and":[{"c_likes":5},{"_id":{"$gt":"n7"}}]}]}`, everything)
	if err != nil {
		fmt.Println(err)
		return
	}
	values, rest, ok := q.And(paging.Eq("org", "acme")).Cursor()
	fmt.Println(q.Order(), values, rest, ok)
	// Output:
	// [{c_likes true} {_id false}] [5 n7] {"org":"acme"} true
}

func ExampleQuery_After() {
	q, err := paging.Query{Sort: []paging.Key{{Path: "c_likes"}}}.After(json.Number("5"), "n7")
	fmt.Println(q.Where, err)
	// Output:
	// {"$or":[{"c_likes":{"$gt":5}},{"$and":[{"c_likes":5},{"_id":{"$gt":"n7"}}]}]} <nil>
}

func ExampleQuery_Encode() {
	q := paging.Query{Where: paging.And(paging.Eq("c_text", "a"), paging.Gt("c_likes", 5)), Limit: 20}
	fmt.Println(q.Encode())
	// Output:
	// limit=20&where=%7B%22%24and%22%3A%5B%7B%22c_text%22%3A%22a%22%7D%2C%7B%22c_likes%22%3A%7B%22%24gt%22%3A5%7D%7D%5D%7D
}

func ExampleParseFilter() {
	f, err := paging.ParseFilter(`{"name.last":{"$in":["King","Byron"]},"c_left":null}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(paging.Not(f))
	// Output:
	// {"$nor":[{"$and":[{"name.last":{"$in":["King","Byron"]}},{"c_left":null}]}]}
}

func ExampleQuery_Total() {
	schema := paging.Schema{Object: "c_note", Count: true}
	q, err := schema.Parse("count=true&limit=2", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A back end counts up to q.CountTo+1 items that match q.Where.
	page, _ := json.Marshal(envelope.List[string]{Total: q.Total(7)})
	more, _ := json.Marshal(envelope.List[string]{Total: q.Total(10_001)})
	fmt.Printf("%s\n%s\n", page, more)
	// Output:
	// {"object":"list","data":[],"hasMore":false,"total":7}
	// {"object":"list","data":[],"hasMore":false,"totalIsAtLeast":10000}
}

func ExampleSchema_NextLink() {
	request := `limit=2&sort=c_likes` // r.URL.RawQuery
	last := map[string]any{"_id": "n2", "c_likes": 7}

	header := http.Header{} // of a page with hasMore true
	if link := notes.NextLink("https://api.example.com/acme/v2/c_notes", request, func(path string) (any, bool) {
		value, ok := last[path]
		return value, ok
	}); link != "" {
		header.Set("Link", link)
	}
	text, _ := url.QueryUnescape(header.Get("Link"))
	fmt.Println(text)
	// Output:
	// <https://api.example.com/acme/v2/c_notes?limit=2&sort=c_likes&where={"$or":[{"c_likes":{"$gt":7}},{"$and":[{"c_likes":7},{"_id":{"$gt":"n2"}}]}]}>; rel="next"
}

func ExampleCompare() {
	order, sameType := paging.Compare(json.Number("9.50"), 10)
	fmt.Println(order, sameType)
	order, sameType = paging.Compare("9", 10)
	fmt.Println(order, sameType)
	// Output:
	// -1 true
	// 1 false
}

func ExampleOp_Holds() {
	order, sameType := paging.Compare(10, 9)
	fmt.Println(sameType && paging.OpGte.Holds(order))
	// Output:
	// true
}

func ExampleCompareBy() {
	sort := []paging.Key{{Path: "c_likes", Desc: true}, {Path: "_id"}}
	order, decides := paging.CompareBy(sort, []any{7, "n1"}, []any{5, "n2"})
	fmt.Println(order, sort[decides].Path)
	// Output:
	// -1 c_likes
}

// A server rejects an argument that it cannot serve for a reason of its own. auth.Fail answers 400.
func ExampleNewError() {
	err := paging.NewError("skip", "is too large for this many objects")
	fmt.Println(err)
	fmt.Println(err.Fault().Status, err.Fault().Faults[0].Path)
	// Output:
	// paging: skip is too large for this many objects
	// 400 skip
}
