package sqllist

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/faults"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// Error is a failure of the database that may pass.
type Error struct {
	Table string
	Err   error
}

// Error returns the text of Err after the name of the table.
func (e *Error) Error() string { return "sqllist: table " + e.Table + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Fault returns 503 error.storeUnavailable. auth.Fail answers with it.
func (e *Error) Fault() *envelope.Fault { return faults.Of("error.storeUnavailable") }

// failed returns the error for what went wrong with a statement.
func (l *List) failed(err error) error {
	switch {
	case errors.As(err, new(*paging.Error)):
		return err // 400, because of the filter or the scope
	case errors.Is(err, sqlpage.ErrProgram) || errors.As(err, new(declarationError)) || isPermanent(err):
		return fmt.Errorf("sqllist: table %s: %w", l.table.Name, err)
	}
	return &Error{l.table.Name, err}
}

// declarationError reports a value that the field of its column cannot hold.
type declarationError struct{ error }

func (e declarationError) Unwrap() error { return e.error }

// isPermanent reports whether the database refuses the statement itself: classes 22 and 42 of
// SQLSTATE, such as a column that it does not have, or SQLITE_ERROR.
func isPermanent(err error) bool {
	if postgres, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		return strings.HasPrefix(postgres.SQLState(), "22") || strings.HasPrefix(postgres.SQLState(), "42")
	}
	sqlite, ok := errors.AsType[interface {
		error
		Code() int
	}](err)
	return ok && sqlite.Code()&0xff == 1
}

// ErrNotFound reports that there is no such object, or none that the caller may read.
// auth.Fail answers 404 notFound.unspecified.
var ErrNotFound error = notFound{}

type notFound struct{}

func (notFound) Error() string { return "sqllist: not found" }

func (notFound) Fault() *envelope.Fault { return faults.Of("notFound.unspecified") }
