package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/tenantkit/tenantkit/auth"
)

// sqlError turns an error of a statement with a caller's values into the response that it
// deserves. A 503 says "repeat": a value that no column takes would be repeated for ever.
func sqlError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return auth.Unavailable(err)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return byStatus(err, pgStatus(e.Code))
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return byStatus(err, sqliteStatus(e.Code()))
	}
	return auth.Unavailable(err) // the connection
}

func byStatus(err error, status int) error {
	switch status {
	case 400:
		return &auth.Error{Detail: auth.DetailBody, Err: err}
	case 409:
		return &auth.Error{Detail: auth.DetailConflict, Err: err}
	case 500:
		return &auth.Error{Detail: auth.DetailInternal, Err: err} // a mistake in the statement
	}
	return auth.Unavailable(err)
}

// pgStatus knows the classes of https://www.postgresql.org/docs/current/errcodes-appendix.html.
func pgStatus(code string) int {
	switch code {
	case "23505", "23503", "23P01": // unique, foreign key, exclusion
		return 409
	case "54000": // a text too long for an index
		return 400
	}
	switch code[:min(2, len(code))] {
	case "22", "23": // a value out of range or of another form, not null, check
		return 400
	case "08", "40", "53", "55", "57", "58", "25": // connection, rollback, resources, locks, operator, system, a standby
		return 503
	}
	return 500
}

// sqliteStatus knows the codes of https://www.sqlite.org/rescode.html.
func sqliteStatus(code int) int {
	switch code {
	case 2067, 1555, 787, 2579: // unique, primary key, foreign key, rowid
		return 409
	}
	switch code & 0xff {
	case 18, 19, 20: // too big, any other constraint, another type
		return 400
	case 5, 6, 7, 8, 9, 10, 13, 14, 15: // busy, locked, memory, read-only, interrupted, I/O, full, cannot open, protocol
		return 503
	}
	return 500
}
