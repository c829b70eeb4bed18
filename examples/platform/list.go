package main

import (
	"net/http"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/mempage"
)

// orWhole is the query of a single object: without paths[] all of it is wanted
// but its lists.
func orWhole(q paging.Query, s *paging.Schema) paging.Query {
	if q.Paths != nil {
		return q
	}
	for _, p := range s.Properties {
		if p.List == nil {
			q.Paths = append(q.Paths, p.Path)
		}
	}
	return q
}

// ownPage answers a list call on records of the platform's own. They are not
// narrowed by paths[], and can be filtered and sorted by _id and object.
func ownPage[T interface{ ItemID() string }](r *http.Request, object string, records []T) (envelope.List[T], error) {
	q, err := (&paging.Schema{Object: object}).Parse(r.URL.RawQuery, nil)
	if err != nil {
		return envelope.List[T]{}, err
	}
	data, more := mempage.Page(records, q, func(record T, path string) (any, bool) {
		if path == "_id" {
			return record.ItemID(), true
		}
		return object, path == "object"
	})
	return envelope.List[T]{Data: data, HasMore: more}, nil
}
