package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tenantkit/tenantkit/paging"
)

// cursor is a position in a list.
type cursor interface {
	// resume moves to what an earlier String returned, or stays if that is
	// empty.
	resume(after string) error
	// narrow makes a query one for what follows.
	narrow(q paging.Query) paging.Query
	// advance moves behind a page of so many items, at least one, of which the
	// last has this id and, where exact is true, this text. On an error it
	// stays.
	advance(items int, id string, text json.RawMessage) error
	// exact reports whether advance needs the text.
	exact() bool
	// String returns the position as List.After has it.
	String() string
}

var errAfter = errors.New("not a position in a list of this sort")

func newCursor(q paging.Query, counted bool) cursor {
	if counted {
		return &count{keys: unique(q.Sort), skipped: q.Skip}
	}
	return &keyset{keys: unique(q.Sort)}
}

// unique ends a sort with _id, which no two items share.
func unique(sort []paging.Key) []paging.Key {
	if i := slices.IndexFunc(sort, func(k paging.Key) bool { return k.Path == "_id" }); i >= 0 {
		return sort[:i+1]
	}
	return append(slices.Clip(sort), paging.Key{Path: "_id"})
}

// count is the position behind so many items.
type count struct {
	keys    []paging.Key
	skipped int
	last    string // _id of the last item
}

func (c *count) resume(after string) error {
	if after == "" {
		return nil
	}
	n, err := strconv.Atoi(after)
	if err != nil || n < 0 {
		return errAfter
	}
	c.skipped = n
	return nil
}

func (c *count) narrow(q paging.Query) paging.Query {
	q.Sort, q.Skip = c.keys, c.skipped
	return q
}

func (c *count) advance(items int, id string, _ json.RawMessage) error {
	if id == c.last {
		return fmt.Errorf("%w: two pages end with the same _id", ErrStalled)
	}
	c.skipped += items
	c.last = id
	return nil
}

func (c *count) exact() bool    { return false }
func (c *count) String() string { return strconv.Itoa(c.skipped) }
