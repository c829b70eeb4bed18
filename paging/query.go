package paging

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/tenantkit/tenantkit/envelope"
)

// Query is a request for one page of a list. Parse reads one from a URL query, and
// Encode writes one. A back end applies Where, Sort, Skip and Limit in this order.
//
// The zero Query returns no items.
type Query struct {
	// Paths are the properties to include in each item, besides _id and object. It is
	// nil if the caller named none. It says what the caller asks for, not what the
	// caller may read.
	Paths []string
	Where Filter
	// Sort orders the items. After Parse it contains _id, which no two items share.
	Sort  []Key
	Skip  int
	Limit int // the most items on a page
	// CountTo is where counting stops, if the caller asks for the total, and else 0. A client
	// sets any positive number.
	CountTo int
	// Lists has the arguments of list properties, by property. After Parse it has the
	// list properties that paths[] or another argument names. At most 8 are allowed,
	// including lists in lists. A back end is asked for each of them once for every
	// item, by And with the condition that the items belong to it. Their Paths are relative to
	// the property. Of a list that is not there, the Query is zero and returns nothing.
	Lists map[string]Query
}

// Key is one property of a sort.
type Key struct {
	Path string
	Desc bool
}

// And returns the query with f as an additional condition. Use it for what the server
// adds to the caller's where: the result never matches more items. A back end never
// takes f for a cursor, whatever its form. To continue after an item, use After
// instead: a back end then finds the page by an index. With And it reads all items
// before the page.
func (q Query) And(f Filter) Query {
	q.Where = And(q.Where, f.marked(false))
	return q
}

// Total returns the total to send, or nil if the caller did not ask for it. counted is
// how many items match Where, whatever Skip and Limit are. A back end need not count
// further than to Count+1.
func (q Query) Total(counted int) *envelope.Total {
	if q.CountTo < 1 {
		return nil
	}
	return &envelope.Total{Items: min(counted, q.CountTo), AtLeast: counted > q.CountTo}
}

// Wants reports whether the caller asked for the property, for one that contains it,
// or for a part of it. It is always true for _id and object. [] and #type of an array
// or element may be left out in either path.
func (q Query) Wants(path string) bool {
	return identifies(path) || slices.ContainsFunc(q.Paths, func(wanted string) bool {
		return covers(wanted, path) || covers(path, wanted)
	})
}

// Encode returns the query as a raw URL query, which Parse reads back. It leaves out
// zero fields. The Paths of Lists are sent as part of paths[]. If only _id and object
// of a list's items are wanted, name the list in q.Paths.
func (q Query) Encode() string {
	values := url.Values{}
	q.encode(values, "")
	if paths := values["paths[]"]; paths != nil {
		slices.Sort(paths)
		values["paths[]"] = slices.Compact(paths)
	}
	return values.Encode()
}

func (q Query) encode(values url.Values, prefix string) {
	set := func(argument, value string, present bool) {
		if present {
			values.Set(prefix+argument, value)
		}
	}
	set("where", q.whereText(), !q.Where.constant() || q.Where.op == OpOr)
	set("sort", string(appendAll(nil, "{}", q.Sort)), len(q.Sort) > 0)
	set("skip", strconv.Itoa(q.Skip), q.Skip != 0)
	set("limit", strconv.Itoa(q.Limit), q.Limit != 0)
	set("count", "true", q.CountTo > 0)
	for _, path := range q.Paths {
		values.Add("paths[]", prefix+path)
	}
	for property, sub := range q.Lists {
		sub.encode(values, prefix+property+".")
	}
}
