package body

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
)

func wrongType(reason string) error {
	return &auth.Error{Detail: auth.DetailUnsupportedMediaType, Reason: reason}
}

func tooLarge(cause error) error { return &auth.Error{Detail: auth.DetailTooLarge, Err: cause} }

func wrongBody(reason string) *auth.Error {
	return &auth.Error{Detail: auth.DetailBody, Reason: reason}
}

// These limit the response to a rejected body. A name in the body may be as long as the
// body.
const (
	maxFaults = 32  // children of the fault
	maxShown  = 100 // bytes of the path in each
)

// textOf reads the body of r. The header must say that it is JSON in UTF-8.
func textOf(r *http.Request, limit int64) (string, error) {
	if err := checkHeader(r.Header); err != nil {
		return "", err
	}
	if r.ContentLength > limit {
		return "", tooLarge(nil) // before reading
	}
	var text strings.Builder
	var seen partCounter
	// The buffer is small, so that little is read after the last allowed part.
	_, err := io.CopyBuffer(io.MultiWriter(&text, &seen), http.MaxBytesReader(nil, r.Body, limit), make([]byte, 1<<10))
	switch {
	case errors.Is(err, errParts):
		return "", wrongBody(err.Error())
	case errors.As(err, new(*http.MaxBytesError)):
		return "", tooLarge(err)
	case err != nil:
		return "", &auth.Error{Detail: auth.DetailBody, Reason: "ends early", Err: err}
	}
	return text.String(), nil
}

func checkHeader(h http.Header) error {
	mediaType, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType != "application/json" {
		return wrongType("application/json")
	}
	// JSON is UTF-8. In another charset the same bytes mean other characters.
	if charset, said := parameters["charset"]; said && !strings.EqualFold(charset, "utf-8") {
		return wrongType("application/json in UTF-8")
	}
	// Nothing decompresses a body here, and decompressed it could exceed the limit.
	if h.Get("Content-Encoding") != "" {
		return wrongType("no Content-Encoding")
	}
	return nil
}

// maxParts limits the members and elements of a body over all levels, and so its
// depth. A million small ones would cost far more than their bytes.
const maxParts = 1000

var errParts = fmt.Errorf("more than %d members", maxParts)

// partCounter counts the members and elements of a JSON text while it is read.
type partCounter struct {
	count   int  // commas and opening brackets outside of strings
	quoted  bool // inside a string
	escaped bool // after a backslash in a string
}

func (p *partCounter) Write(text []byte) (int, error) {
	for _, c := range text {
		switch {
		case p.escaped:
			p.escaped = false
		case c == '"':
			p.quoted = !p.quoted
		case p.quoted:
			p.escaped = c == '\\'
		case c == ',' || c == '{' || c == '[':
			p.count++
		}
	}
	if p.count > maxParts {
		return 0, errParts
	}
	return len(text), nil
}

// defaultLimit is how many bytes of a body a handler of Handle or None can read.
const defaultLimit = 64 << 10

// Handle returns a handler that reads a body of at most 64 KiB into an In, as Read does, and calls
// answer. It sends what answer returns with auth.Reply, or the error with auth.Fail. So answer must
// not write anything; it may set headers and cookies. Handle panics if In is not a struct that Read
// can set.
func Handle[In, Out any](answer func(http.ResponseWriter, *http.Request, In) (Out, error)) http.HandlerFunc {
	targetOf(reflect.TypeFor[In]()) // panics now, and not at the first request
	return None(func(w http.ResponseWriter, r *http.Request) (none Out, err error) {
		var in In
		if _, err := Read(r, defaultLimit, &in); err != nil {
			return none, err
		}
		return answer(w, r, in)
	})
}

// None is Handle for a route without a JSON body, such as a GET or an HTML form.
func None[Out any](answer func(http.ResponseWriter, *http.Request) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, defaultLimit)
		out, err := answer(w, r)
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		auth.Reply(w, r, out)
	}
}
