package mempage_test

import (
	"encoding/json"
	"fmt"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

func ExamplePage() {
	type note struct {
		ID, Org string
		Likes   int
	}
	notes := []note{{"n1", "acme", 3}, {"n2", "acme", 9}, {"n3", "other", 9}, {"n4", "acme", 5}}
	schema := paging.Schema{
		Object:     "c_note",
		Properties: []paging.Property{{Path: "c_likes", Type: paging.Integer, Filter: true, Sort: true}},
	}

	everything := func(string) bool { return true } // or what the caller's scope says
	q, err := schema.Parse(`sort={"c_likes":-1}&limit=2`, everything)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, more := mempage.Page(notes, q.And(paging.Eq("org", "acme")), func(n note, path string) (any, bool) {
		switch path {
		case "_id":
			return n.ID, true
		case "org":
			return n.Org, true
		case "c_likes":
			return n.Likes, true
		}
		return nil, false
	})
	fmt.Println(page, more)
	// Output:
	// [{n2 acme 9} {n4 acme 5}] true
}

func ExampleCount() {
	schema := paging.Schema{Object: "c_note", Count: true}
	q, err := schema.Parse(`count=true&limit=2&where={"_id":{"$prefix":"n"}}`, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	ids := []string{"n1", "n2", "n3", "x1"}
	get := func(id, path string) (any, bool) { return id, path == "_id" }
	page := envelope.List[string]{Total: mempage.Count(ids, q, get)}
	page.Data, page.HasMore = mempage.Page(ids, q, get)
	reply, _ := json.Marshal(page)
	fmt.Printf("%s\n", reply)
	// Output:
	// {"object":"list","data":["n1","n2"],"hasMore":true,"total":3}
}
