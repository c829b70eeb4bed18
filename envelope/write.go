package envelope

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// Write answers 200 with v as JSON. Its headers keep the reply out of caches and its
// type from being guessed. Handlers behind an auth.Guard call auth.Reply instead.
//
// Write encodes v before it sends anything. If v cannot be encoded, it answers with a
// 500 fault: error.unspecified in DefaultNamespace. The fault does not say why. To
// know why, call Encode.
func Write(w http.ResponseWriter, v any) {
	body, err := Encode(v)
	if err != nil {
		writeBody(w, http.StatusInternalServerError, unspecified.Encode(""))
		return
	}
	writeBody(w, http.StatusOK, body)
}

// Encode returns v as the JSON that Write sends. The error is that of json.Marshal.
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

// unspecified is the fault of auth.DetailInternal.
var unspecified = Fault{
	Detail:  "error.unspecified",
	Code:    "kError",
	Status:  http.StatusInternalServerError,
	Message: "Internal error.",
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has gone
}
