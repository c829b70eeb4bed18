package sqllist

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenantkit/tenantkit/internal/faults"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/paging/sqlpage"
)

// failed returns the error for what went wrong with a statement.
func (l *List) failed(err error) error {
	switch {
	case errors.As(err, new(*paging.Error)):
		return err // 400, because of the filter or the scope
	case errors.Is(err, sqlpage.ErrProgram) || errors.As(err, new(declarationError)) || isPermanent(err):
		return fmt.Errorf("sqllist: table %s: %w", l.table.Name, err)
	}
	return faults.Wrap(fmt.Errorf("sqllist: table %s: %w", l.table.Name, err), "error.storeUnavailable")
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
var ErrNotFound = faults.Wrap(errors.New("sqllist: not found"), "notFound.unspecified")
