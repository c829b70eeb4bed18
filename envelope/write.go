package envelope

import (
	"encoding/json"
	"net/http"
)

// Write answers 200 with v as JSON, and with headers that keep the reply out
// of caches and its type from being guessed.
//
// v is encoded before anything is sent. A v that cannot be encoded is answered
// with a 500 fault, error.unspecified below DefaultNamespace, which does not
// say why. To know why, or to answer under another namespace, encode first and
// write the json.RawMessage.
func Write(w http.ResponseWriter, v any) {
	if known, ok := v.(interface{ wire() any }); ok {
		v = known.wire() // spares the second pass over what MarshalJSON returns
	}
	body, err := json.Marshal(v)
	if err != nil {
		writeBody(w, http.StatusInternalServerError, unspecified.Encode(""))
		return
	}
	writeBody(w, http.StatusOK, body)
}

var unspecified = Fault{
	Detail:  "error.unspecified",
	Code:    "kError",
	Status:  http.StatusInternalServerError,
	Message: "An unexpected error occurred.",
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone is not an error of ours
}
