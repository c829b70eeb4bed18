package sqllist

import (
	"net/http"

	"github.com/tenantkit/tenantkit/envelope"
)

// Error is a failure of the database, or a table that is not as it was declared.
type Error struct {
	Table string
	Err   error
}

// Error returns the text of Err after the name of the table.
func (e *Error) Error() string { return "sqllist: table " + e.Table + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Fault returns 503 error.storeUnavailable. auth.Fail answers with it.
func (e *Error) Fault() *envelope.Fault {
	return &envelope.Fault{
		Detail: "error.storeUnavailable", Code: "kError",
		Status: http.StatusServiceUnavailable, Message: "Temporarily unavailable.",
	}
}

// ErrNotFound reports that there is no such object, or none that the caller may read.
// auth.Fail answers 404 notFound.unspecified.
var ErrNotFound error = notFound{}

type notFound struct{}

func (notFound) Error() string { return "sqllist: not found" }

func (notFound) Fault() *envelope.Fault {
	return &envelope.Fault{
		Detail: "notFound.unspecified", Code: "kNotFound",
		Status: http.StatusNotFound, Message: "Not found.",
	}
}
