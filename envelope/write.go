package envelope

import (
	"encoding/json"
	"net/http"
)

// Write answers 200 with v as JSON, and with headers that keep the reply out
// of caches and its type from being guessed. Handlers behind an auth.Guard call
// auth.Reply instead.
//
// v is encoded before anything is sent. A v that cannot be encoded is answered
// with a 500 fault, error.unspecified below DefaultNamespace, which does not
// say why. To know why, call Encode.
func Write(w http.ResponseWriter, v any) {
	body, err := Encode(v)
	if err != nil {
		writeBody(w, http.StatusInternalServerError, unspecified.Encode(""))
		return
	}
	writeBody(w, http.StatusOK, body)
}

// Encode returns v as the JSON of a reply: what Write sends. The error is that of
// json.Marshal.
func Encode(v any) ([]byte, error) {
	if known, ok := v.(interface{ wire() any }); ok {
		v = known.wire() // spares the second pass over what MarshalJSON returns
	}
	return json.Marshal(v)
}

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
	_, _ = w.Write(body) // a client that has gone is not an error of ours
}
