package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
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
	w, err := listIn(body, room[T](body))
	if err == nil && len(w.Data) == 0 {
		// Room hides whether there was data at all.
		w, err = listIn[T](body, nil)
	}
	if err != nil {
		return err
	}
	if w.Data == nil {
		// Cut short on the way: as the last page it would end a walk early.
		return fmt.Errorf("%w: a list without data", ErrShape)
	}
	*l = List[T]{Data: w.Data, HasMore: bool(w.HasMore)}
	return nil
}

// listIn decodes a list, with its items in room for as many as that holds.
func listIn[T any](body []byte, room []T) (wireList[T], error) {
	w := wireList[T]{Data: room}
	err := decodeAs("list", body, &w, &w.Object)
	return w, err
}

// room returns an empty slice for the items of a list. A slice that grows while it
// is decoded costs as much memory again. Ids are counted, as every item has one.
// Items may hold more of them: the room is no larger than the body.
func room[T any](body []byte) []T {
	size := max(1, int(reflect.TypeFor[T]().Size()))
	return make([]T, 0, min(bytes.Count(body, itemID), len(body)/size))
}

var itemID = []byte(`"_id":`)

type more bool

func (m *more) UnmarshalJSON(text []byte) error {
	*m = string(text) == `true` || string(text) == `"true"`
	return nil
}
