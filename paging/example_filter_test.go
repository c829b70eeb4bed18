package paging_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/paging"
)

func ExampleEq() {
	fmt.Println(paging.Eq("c_text", "a"))
	fmt.Println(paging.Eq("c_pinned", true))
	fmt.Println(paging.Eq("c_price", json.Number("1.50")))
	// Output:
	// {"c_text":"a"}
	// {"c_pinned":true}
	// {"c_price":1.50}
}

func ExampleNe() {
	fmt.Println(paging.Ne("c_text", "a")) // also where there is no c_text
	// Output:
	// {"c_text":{"$ne":"a"}}
}

func ExampleGt() {
	fmt.Println(paging.Gt("_id", "5f1"))
	// Output:
	// {"_id":{"$gt":"5f1"}}
}

func ExampleGte() {
	fmt.Println(paging.Gte("c_sent", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)))
	// Output:
	// {"c_sent":{"$gte":"2026-01-02T03:04:05.000Z"}}
}

func ExampleLt() {
	fmt.Println(paging.Lt("c_likes", 5))
	// Output:
	// {"c_likes":{"$lt":5}}
}

func ExampleLte() {
	fmt.Println(paging.Lte("c_price", 0.1))
	// Output:
	// {"c_price":{"$lte":0.1}}
}

func ExampleNull() {
	fmt.Println(paging.Null("c_left"))             // null or missing
	fmt.Println(paging.Not(paging.Null("c_left"))) // there, and not null
	// Output:
	// {"c_left":null}
	// {"c_left":{"$ne":null}}
}

func ExampleIn() {
	fmt.Println(paging.In("org", "acme", "globex"))
	fmt.Println(paging.In[string]("org")) // of an empty list: no item
	// Output:
	// {"org":{"$in":["acme","globex"]}}
	// {"org":{"$in":[]}}
}

func ExamplePrefix() {
	fmt.Println(paging.Prefix("c_text", "abc"))
	// Output:
	// {"$and":[{"c_text":{"$gte":"abc"}},{"c_text":{"$lt":"abd"}}]}
}

func ExampleAnd() {
	fmt.Println(paging.And(paging.Eq("org", "acme"), paging.Gt("c_likes", 5)))
	fmt.Println(paging.And()) // everything
	// Output:
	// {"$and":[{"org":"acme"},{"c_likes":{"$gt":5}}]}
	// {}
}

func ExampleOr() {
	fmt.Println(paging.Or(paging.Eq("c_author", "5f1"), paging.Eq("c_public", true)))
	fmt.Println(paging.Or()) // nothing
	// Output:
	// {"$or":[{"c_author":"5f1"},{"c_public":true}]}
	// {"$nor":[{}]}
}

func ExampleNot() {
	fmt.Println(paging.Not(paging.Gt("c_likes", 5))) // also where there are no c_likes
	fmt.Println(paging.Not(paging.In("org", "acme")))
	// Output:
	// {"$nor":[{"c_likes":{"$gt":5}}]}
	// {"org":{"$nin":["acme"]}}
}

// A back end goes through a filter by its Op, and refuses what it does not know.
func ExampleFilter_Op() {
	var matches func(f paging.Filter, note map[string]any) bool
	matches = func(f paging.Filter, note map[string]any) bool {
		is := func(part paging.Filter) bool { return matches(part, note) }
		switch f.Op() {
		case paging.OpAnd:
			return !slices.ContainsFunc(f.Filters(), func(part paging.Filter) bool { return !is(part) })
		case paging.OpOr:
			return slices.ContainsFunc(f.Filters(), is)
		case paging.OpEq, paging.OpIn:
			return slices.Contains(f.Values(), note[f.Path()])
		}
		panic("an operator that is not known here")
	}
	f := paging.And(paging.In("org", "acme", "globex"), paging.Null("left"))
	fmt.Println(matches(f, map[string]any{"org": "acme"}), matches(f, map[string]any{"org": "other"}))
	// Output:
	// true false
}
