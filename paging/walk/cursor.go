package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tenantkit/tenantkit/paging"
)

// cursor is where a walk is in a list.
type cursor interface {
	// resume moves to what an earlier String returned, or stays if that is
	// empty.
	resume(after string) error
	// narrow makes a query one for what follows.
	narrow(q paging.Query) (paging.Query, error)
	// advance moves to the end of a page that gets further. On an error it stays.
	advance(page span) error
	// end returns an error where a page without items, which says that nothing
	// follows, cannot be the end of the list.
	end() error
	// exact reports whether advance needs the texts of a page.
	exact() bool
	// String returns the cursor as List.After has it.
	String() string
}

// span is what a cursor needs to know of a page that is not empty.
type span struct {
	ids         []string        // of its items
	first, last json.RawMessage // the texts of these items, where the cursor is exact
}

var errAfter = errors.New("not a cursor of this sort")

func newCursor(q paging.Query, counted bool) cursor {
	if counted {
		return &count{keys: q.Order(), skipped: q.Skip}
	}
	return &keyset{keys: q.Order()}
}

// maxSkip is how far items are counted. It is the most that servers of this
// library skip, and what ends a walk through pages made up without end.
const maxSkip = 10_000

// count is a cursor that counts items.
type count struct {
	keys    []paging.Key
	skipped int
	seen    map[string]bool // ids of the pages so far, at most maxSkip and a page
}

func (c *count) resume(after string) error {
	if after == "" {
		return nil
	}
	n, err := strconv.ParseUint(after, 10, 31) // digits, without a sign
	if err != nil {
		return errAfter
	}
	c.skipped = int(n)
	return nil
}

func (c *count) narrow(q paging.Query) (paging.Query, error) {
	if c.skipped > maxSkip {
		return q, fmt.Errorf("%w: no more than %d items can be skipped; walk by _id", ErrStalled, maxSkip)
	}
	q.Sort, q.Skip = c.keys, c.skipped
	return q, nil
}

func (c *count) advance(page span) error {
	if !slices.ContainsFunc(page.ids, func(id string) bool { return !c.seen[id] }) {
		return fmt.Errorf("%w: a page has no item that was not on those before", ErrStalled)
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	for _, id := range page.ids {
		c.seen[id] = true
	}
	c.skipped += len(page.ids)
	return nil
}

func (c *count) end() error     { return nil }
func (c *count) exact() bool    { return false }
func (c *count) String() string { return strconv.Itoa(c.skipped) }
