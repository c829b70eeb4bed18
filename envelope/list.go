package envelope

import (
	"encoding/json"
	"fmt"
)

// List is one page of a list response (section 2.1 of the interface). On the
// wire it is {"object":"list","data":[…],"hasMore":false}; data is never null.
type List[T any] struct {
	Data    []T
	HasMore bool // further results exist beyond this page
}

// Item is what every item of a list carries. A struct that embeds it has both
// fields, and the ItemID by which a list is walked.
type Item struct {
	ID     string `json:"_id"`
	Object string `json:"object"`
}

// ItemID returns the item's identifier.
func (i Item) ItemID() string { return i.ID }

// wireList is a List as it is spelled on the wire, without methods, so that
// encoding/json reads and writes it in one pass.
type wireList[T any] struct {
	Object  string `json:"object"`
	Data    []T    `json:"data"`
	HasMore more   `json:"hasMore"`
}

func (l List[T]) wire() any {
	data := l.Data
	if data == nil {
		data = []T{}
	}
	return wireList[T]{Object: "list", Data: data, HasMore: more(l.HasMore)}
}

// MarshalJSON writes the list as section 2.1 of the interface has it.
func (l List[T]) MarshalJSON() ([]byte, error) { return json.Marshal(l.wire()) }

// UnmarshalJSON reads a list. HasMore is set by true and by "true", which some
// servers send, and by nothing else. An object that is not "list" wraps
// ErrShape.
func (l *List[T]) UnmarshalJSON(body []byte) error {
	var w wireList[T]
	if err := decodeAs("list", body, &w, &w.Object); err != nil {
		return err
	}
	if w.Data == nil {
		// Cut short on the way: as the last page it would end a walk early.
		return fmt.Errorf("%w: a list without data", ErrShape)
	}
	*l = List[T]{Data: w.Data, HasMore: bool(w.HasMore)}
	return nil
}

type more bool

func (m *more) UnmarshalJSON(text []byte) error {
	*m = string(text) == `true` || string(text) == `"true"`
	return nil
}
