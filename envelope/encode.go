package envelope

import (
	"bytes"
	"encoding/json"
)

// Encode returns v as JSON, as auth.Reply sends it. The error is that of json.Marshal.
func Encode(v any) ([]byte, error) {
	if list, ok := v.(List[Verbatim]); ok {
		return encodeVerbatim(list)
	}
	if known, ok := v.(interface{ wire() any }); ok {
		v = known.wire() // avoids a second pass over the JSON of MarshalJSON
	}
	return json.Marshal(v)
}

// Verbatim is a JSON text that the program has encoded. As items of a List, Encode sends
// such texts as they are. encoding/json checks each byte of a json.RawMessage again, which
// takes longer than to write the item. So a Verbatim must be valid JSON: never take it from
// a request. Anywhere else it is checked like a json.RawMessage.
type Verbatim []byte

// MarshalJSON returns the text, or null if there is none.
func (v Verbatim) MarshalJSON() ([]byte, error) { return json.RawMessage(v).MarshalJSON() }

func encodeVerbatim(list List[Verbatim]) ([]byte, error) {
	items := list.Data
	list.Data = nil
	around, err := json.Marshal(list.wire())
	if err != nil {
		return nil, err
	}
	size := len(around) + len(items)
	for _, item := range items {
		size += len(item)
	}
	before, after, _ := bytes.Cut(around, dataStart)
	text := append(append(make([]byte, 0, size), before...), dataStart...)
	for i, item := range items {
		if i > 0 {
			text = append(text, ',')
		}
		if len(item) == 0 {
			item = Verbatim("null")
		}
		text = append(text, item...)
	}
	return append(text, after...), nil
}

var dataStart = []byte(`"data":[`)
