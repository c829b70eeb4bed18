package mempage_test

import (
	"fmt"

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
