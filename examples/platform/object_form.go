package main

import (
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/paging"
)

var kinds = map[paging.Type]body.Kind{
	paging.String:  body.String,
	paging.Integer: body.Integer,
	paging.Boolean: body.Boolean,
	paging.Date:    {Read: readDate, Schema: map[string]any{"type": "string", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}}, // not what clients write for a date-time
}

// formOf returns the form of a new object of a schema.
func formOf(s schema) (f body.Form) {
	for _, p := range s.Schema().Properties {
		if p.Type == paging.Any && p.List == nil {
			continue // an object, whose properties follow
		}
		kind := kinds[p.Type]
		switch {
		case p.List != nil:
			kind = body.Kind{Read: readNothing} // in no document
		case p.Type == paging.String && p.Sort:
			kind = atMost(maxSorted)
		case p.Type == paging.String:
			kind = atMost(maxText)
		}
		f = append(f, body.Field{Path: p.Path, Kind: kind, Null: p.Path == languagePath})
	}
	return f
}

// changesOf returns the form of a change to an object. null removes a property that
// a new object may lack. null for an object inside it removes the whole object, if
// all its properties can be removed.
func changesOf(s schema) body.Form {
	f := formOf(s)
	whole := make(map[string]bool)
	for i := range f {
		p, _ := s.property(f[i].Path)
		f[i].Null = p.Null
		if parent, _, below := strings.Cut(p.Path, "."); below {
			others, seen := whole[parent]
			whole[parent] = p.Null && (others || !seen)
		}
	}
	for path, null := range whole {
		f = append(f, body.Field{Path: path, Null: null})
	}
	return f
}

// The longest strings that clients may write, in bytes. A list is sorted by an index,
// and PostgreSQL takes no entry of more than about 2700 bytes. A page has up to 1000
// strings of maxText.
const (
	maxSorted = 200
	maxText   = 64 << 10
)

func readNothing(string) (any, string) { return nil, "cannot be written" }

func readDate(value string) (any, string) {
	s, _ := body.String.Read(value)
	written, _ := s.(string)
	if at, err := time.Parse(dateLayout, written); err != nil || at.Format(dateLayout) != written {
		return nil, "must be a date such as 2026-01-02T03:04:05.000Z"
	}
	return written, ""
}
