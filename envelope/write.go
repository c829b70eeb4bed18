package envelope

import (
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
	if known, ok := v.(interface{ wire() any }); ok {
		v = known.wire() // avoids a second pass over the JSON of MarshalJSON
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
	_, _ = w.Write(body) // an error means that the client has gone
}
