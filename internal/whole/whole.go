// Package whole answers a request with a whole document or with 304, and never with a range.
package whole

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"time"
)

// Tag returns the strong ETag of a document.
func Tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// Serve sends a public document that may be cached for 5 minutes, or 304 if the client has
// the document of this tag.
func Serve(w http.ResponseWriter, r *http.Request, contentType, tag string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", tag)

	// Without the other headers, net/http answers neither with a range nor with 412.
	conditional := &http.Request{Method: r.Method, Header: http.Header{}}
	if tags := r.Header["If-None-Match"]; tags != nil {
		conditional.Header["If-None-Match"] = tags
	}
	http.ServeContent(unranged{w}, conditional, "", time.Time{}, bytes.NewReader(body))
}

// unranged removes the Accept-Ranges header that http.ServeContent sets.
type unranged struct{ http.ResponseWriter }

func (w unranged) WriteHeader(status int) {
	w.Header().Del("Accept-Ranges")
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w unranged) Unwrap() http.ResponseWriter { return w.ResponseWriter }
