package walk

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tenantkit/tenantkit/paging"
)

// position is how far a walk has come: the key values of the last item, or an offset.
type position interface {
	// resume moves to the position that an earlier String returned. An empty text
	// changes nothing.
	resume(after string) error
	// pageQuery returns q for the page after the position.
	pageQuery(q paging.Query) (paging.Query, error)
	// advance moves to the last item of the page. If the page does not come after the
	// position, it returns ErrStalled and does not move.
	advance(page pageKeys) error
	// checkEnd returns an error if an empty page cannot be the end of the list.
	checkEnd() error
	// needsItems reports whether advance needs the JSON of the first and the last
	// item.
	needsItems() bool
	// String returns the position for List.After.
	String() string
}

// pageKeys is what advance needs of a page that is not empty.
type pageKeys struct {
	ids         []string        // of all items
	first, last json.RawMessage // the JSON of these items, if the position needs items
}

var errAfter = errors.New("not a cursor of this sort")

func newPosition(q paging.Query, byOffset bool) position {
	if byOffset {
		return &offset{keys: q.Order(), skipped: q.Skip}
	}
	return &keyset{keys: q.Order()}
}

// maxSkip is the largest offset of a walk. It is the largest skip that servers of
// this library accept. It also ends a walk through invented pages without end.
const maxSkip = 10_000

// offset is a position that counts items.
type offset struct {
	keys    []paging.Key
	skipped int
	seen    map[string]bool // ids of the pages so far; at most maxSkip and one page
}

func (o *offset) resume(after string) error {
	if after == "" {
		return nil
	}
	n, err := strconv.ParseUint(after, 10, 31) // digits without a sign
	if err != nil {
		return errAfter
	}
	o.skipped = int(n)
	return nil
}

func (o *offset) pageQuery(q paging.Query) (paging.Query, error) {
	if o.skipped > maxSkip {
		return q, fmt.Errorf("%w: no more than %d items can be skipped; walk by _id", ErrStalled, maxSkip)
	}
	q.Sort, q.Skip = o.keys, o.skipped
	return q, nil
}

func (o *offset) advance(page pageKeys) error {
	if !slices.ContainsFunc(page.ids, func(id string) bool { return !o.seen[id] }) {
		return fmt.Errorf("%w: a page has no item that was not on those before", ErrStalled)
	}
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	for _, id := range page.ids {
		o.seen[id] = true
	}
	o.skipped += len(page.ids)
	return nil
}

func (o *offset) checkEnd() error  { return nil }
func (o *offset) needsItems() bool { return false }
func (o *offset) String() string   { return strconv.Itoa(o.skipped) }
