package body

import (
	"net/http"
	"reflect"

	"github.com/tenantkit/tenantkit/auth"
)

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
