package main

import (
	"bufio"
	"io"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

// maxPublicBody is what a route reads of somebody whom nobody knows yet.
const maxPublicBody = 16 << 10

// publicBody bounds the bodies of a route that anybody may call. One that says it
// is longer is refused before anything is read of it.
func publicBody(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxPublicBody {
			auth.Fail(w, r, &http.MaxBytesError{Limit: maxPublicBody})
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxPublicBody)
		next(w, r)
	}
}

// readValues reads a body that holds values of a form, by their path.
func readValues(r *http.Request, f envelope.Form) (map[string]any, error) {
	values, _, err := f.Read(r, maxBody)
	return values, err
}

// bodiless is for routes that take no body: each field of one is unknown.
func bodiless[T any](answer func(*http.Request) (T, error)) func(*http.Request) (T, error) {
	return func(r *http.Request) (none T, err error) {
		if err := noFields(r); err != nil {
			return none, err
		}
		return answer(r)
	}
}

func noFields(r *http.Request) error {
	if !hasBody(r) {
		return nil
	}
	_, err := readValues(r, envelope.Form{})
	return err
}

// hasBody looks at the first byte: one sent in chunks does not say how long it is.
func hasBody(r *http.Request) bool {
	body := bufio.NewReader(r.Body)
	_, err := body.Peek(1)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	return err != io.EOF
}

// required refuses values in which one of these is missing.
func required(values map[string]any, paths ...string) error {
	wrong := invalid{detail: auth.DetailBody}
	for _, path := range paths {
		if _, given := values[path]; !given {
			wrong.add(path, "is required")
		}
	}
	return wrong.orNil()
}
