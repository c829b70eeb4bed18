package envelope

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// List is one page of a list response (section 2.1 of the interface). On the
// wire it is {"object":"list","data":[…],"hasMore":false}; data is never null.
type List[T any] struct {
	Data    []T
	HasMore bool   // further results exist beyond this page
	Total   *Total // of all pages; nil if it was not asked for
}

// Total is how many items a list has on all pages (section 4.1 of the interface). On the
// wire it is "total":7, or "totalIsAtLeast":10000 if counting stopped there.
type Total struct {
	Items   int
	AtLeast bool // there may be more items than that
}

// Item has the members that every item of a list has. A struct that embeds it has
// both fields, and the method ItemID, by which package walk pages.
type Item struct {
	ID     string `json:"_id"`
	Object string `json:"object"`
}

// ItemID returns the item's identifier.
func (i Item) ItemID() string { return i.ID }

// wireList is the wire form of a List. It has no methods, so that encoding/json reads
// and writes it in one pass.
type wireList[T any] struct {
	Object         string `json:"object"`
	Data           []T    `json:"data"`
	HasMore        more   `json:"hasMore"`
	Total          *count `json:"total,omitempty"`
	TotalIsAtLeast *count `json:"totalIsAtLeast,omitempty"`
}

func (l List[T]) wire() any {
	w := wireList[T]{Object: "list", Data: l.Data, HasMore: more(l.HasMore)}
	if w.Data == nil {
		w.Data = []T{}
	}
	switch {
	case l.Total == nil:
	case l.Total.AtLeast:
		w.TotalIsAtLeast = (*count)(&l.Total.Items)
	default:
		w.Total = (*count)(&l.Total.Items)
	}
	return w
}

func (w *wireList[T]) total() *Total {
	switch {
	case w.Total.valid():
		return &Total{Items: int(*w.Total)}
	case w.TotalIsAtLeast.valid():
		return &Total{Items: int(*w.TotalIsAtLeast), AtLeast: true}
	}
	return nil
}

// MarshalJSON writes the list in the form of section 2.1 of the interface.
func (l List[T]) MarshalJSON() ([]byte, error) { return json.Marshal(l.wire()) }

// UnmarshalJSON reads a list. Only true and "true", which some servers send, set
// HasMore. A total that is no number of items counts as none. If the object is not "list",
// the error wraps ErrShape.
func (l *List[T]) UnmarshalJSON(body []byte) error {
	var w wireList[T]
	if err := decodeAs("list", body, &w, &w.Object); err != nil {
		return err
	}
	if w.Data == nil {
		// The reply is incomplete. As a last page it would end a walk early.
		return fmt.Errorf("%w: a list without data", ErrShape)
	}
	*l = List[T]{Data: w.Data, HasMore: bool(w.HasMore), Total: w.total()}
	return nil
}

type more bool

func (m *more) UnmarshalJSON(text []byte) error {
	*m = string(text) == `true` || string(text) == `"true"`
	return nil
}

// count is a number of items. Reading anything else sets it to -1.
type count int

func (c *count) valid() bool { return c != nil && *c >= 0 }

func (c *count) UnmarshalJSON(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil {
		n = -1
	}
	*c = count(n)
	return nil
}
