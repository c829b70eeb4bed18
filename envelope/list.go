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
// and writes it in one pass. The last three members are read whatever they are.
type wireList[T any] struct {
	Object         string          `json:"object"`
	Data           []T             `json:"data"`
	HasMore        json.RawMessage `json:"hasMore"`
	Total          json.RawMessage `json:"total,omitempty"`
	TotalIsAtLeast json.RawMessage `json:"totalIsAtLeast,omitempty"`
}

func (l List[T]) wire() any {
	w := wireList[T]{Object: "list", Data: l.Data, HasMore: strconv.AppendBool(nil, l.HasMore)}
	if w.Data == nil {
		w.Data = []T{}
	}
	if l.Total != nil && l.Total.AtLeast {
		w.TotalIsAtLeast = strconv.AppendInt(nil, int64(l.Total.Items), 10)
	} else if l.Total != nil {
		w.Total = strconv.AppendInt(nil, int64(l.Total.Items), 10)
	}
	return w
}

func (w *wireList[T]) total() *Total {
	if n, err := strconv.Atoi(string(w.Total)); err == nil && n >= 0 {
		return &Total{Items: n}
	}
	if n, err := strconv.Atoi(string(w.TotalIsAtLeast)); err == nil && n >= 0 {
		return &Total{Items: n, AtLeast: true}
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
	more := string(w.HasMore) == `true` || string(w.HasMore) == `"true"`
	*l = List[T]{Data: w.Data, HasMore: more, Total: w.total()}
	return nil
}
