package paging

import (
	"net/url"
	"slices"
	"strconv"
)

// Query is what a caller asks of a list. Parse makes one of a request, Encode a
// request of one. A back end applies Where, Sort, Skip and Limit in this order.
//
// The zero Query asks for no items.
type Query struct {
	// Paths are the properties to include in each item beside _id and object;
	// nil when the caller named none. It says what is asked for, not what may
	// be read.
	Paths []string
	Where Filter
	// Sort orders the items; after Parse it ends with a key that no two items
	// share.
	Sort  []Key
	Skip  int
	Limit int // of items on a page
	// Lists has the arguments of list properties, by property: after Parse, of
	// those that paths[] or another argument names, at most 8 with those of lists
	// in lists. A back end is asked for each of them once for every item.
	Lists map[string]Query
}

// Key is one property of a sort.
type Key struct {
	Path string
	Desc bool
}

// And returns the query with f as a further condition: what the server adds to
// what the caller sent. It can only match less, and is never taken for a cursor,
// whatever its form. Give a cursor to After: a back end then finds the page by an
// index, and would otherwise read all items before it.
func (q Query) And(f Filter) Query {
	q.Where = And(q.Where, f.marked(false))
	return q
}

// Sub returns the query of a list property: what to give to a back end for the
// items that the property has in one object, with the condition that they belong
// to it added by And. Its Paths begin below the property, and its own list
// properties are in its Lists.
//
// The query of a property that Lists does not have has limit 0 and matches
// nothing, so that one that is misspelt or was not asked for is not sent whole.
// Ask Lists itself to tell this from one that was asked for.
func (q Query) Sub(property string) Query {
	if sub, ok := q.Lists[property]; ok {
		return sub
	}
	return Query{Where: nothing}
}

// Wants reports whether a property was asked for, is part of one that was, or
// has a part that was. The properties _id and object always are. An array or
// element may be named with or without its [] and #type.
func (q Query) Wants(path string) bool {
	return identifies(path) || slices.ContainsFunc(q.Paths, func(wanted string) bool {
		return covers(wanted, path) || covers(path, wanted)
	})
}

// Encode returns the query as a raw URL query, which Parse reads back. What is
// zero is left out. The Paths of Lists are asked for as well; a list of which
// only the items' _id and object are wanted is named in q.Paths.
func (q Query) Encode() string {
	values := url.Values{}
	q.encode(values, "")
	if paths := q.allPaths(); len(paths) > 0 {
		values["paths[]"] = paths
	}
	return values.Encode()
}

func (q Query) encode(values url.Values, prefix string) {
	if q.Where.op != OpAll {
		values.Set(prefix+"where", q.whereText())
	}
	if len(q.Sort) > 0 {
		values.Set(prefix+"sort", string(appendSort(nil, q.Sort)))
	}
	if q.Skip != 0 {
		values.Set(prefix+"skip", strconv.Itoa(q.Skip))
	}
	if q.Limit != 0 {
		values.Set(prefix+"limit", strconv.Itoa(q.Limit))
	}
	for property, sub := range q.Lists {
		sub.encode(values, prefix+property+".")
	}
}

// allPaths returns the paths of the query and of its lists, each once.
func (q Query) allPaths() []string {
	paths := slices.Clone(q.Paths)
	for property, sub := range q.Lists {
		for _, path := range sub.allPaths() {
			paths = append(paths, joinPath(property, path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
