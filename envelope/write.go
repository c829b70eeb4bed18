package envelope

import (
	"encoding/json"
	"net/http"
)

// Write answers 200 with v as JSON.
func Write(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeBody(w, http.StatusInternalServerError, new(Fault).Encode(""))
		return
	}
	writeBody(w, http.StatusOK, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away is nobody's error
}
