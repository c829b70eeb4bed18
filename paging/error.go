package paging

import (
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/faults"
)

// Error lists what is wrong with the arguments of a query: everything, or the first
// 20 problems. It holds only fixed texts and parts of the request, so it can be sent to
// the caller.
type Error struct{ problems []*envelope.Fault }

// NewError returns the error of one argument, such as connections.limit, with the reason.
func NewError(argument, reason string) *Error {
	e := new(Error)
	e.add(argument, "", reason)
	return e
}

// Error lists the problems.
func (e *Error) Error() string {
	texts := make([]string, len(e.problems))
	for i, p := range e.problems {
		quoted := strconv.Quote(strings.TrimSpace(p.Path + " " + p.Reason)) // no character breaks the line of a log
		texts[i] = quoted[1 : len(quoted)-1]
	}
	return "paging: " + strings.Join(texts, "; ")
}

// Fault returns the response to the caller: 400 invalidArgument.query with a child for
// each problem. The Path of a child is the argument as it was sent. Its Reason begins with
// a JSON pointer (RFC 6901) into the argument, unless the whole argument is wrong.
func (e *Error) Fault() *envelope.Fault {
	fault := faults.Of("invalidArgument.query")
	for _, p := range e.problems {
		fault.Faults = append(fault.Faults, new(*p)) // whoever gets it may change it, and ErrSlowCount is everybody's
	}
	return fault
}

// ErrSlowCount reports that counting took too long. It is a 400, not a 503, because a
// client that repeats the request has the items counted again.
var ErrSlowCount error = NewError("count", "takes too long; leave it out, or narrow where")

// maxProblems limits how much a hostile query can have written into the reply.
const maxProblems = 20

func (e *Error) add(argument, pointer, text string) {
	if len(e.problems) < maxProblems {
		if pointer != "" {
			text = shorten(pointer) + ": " + text
		}
		problem := faults.Of("invalidArgument.query")
		problem.Path, problem.Reason = shorten(argument), text
		e.problems = append(e.problems, problem)
	}
}

func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// orNil returns the error, or nil if nothing is wrong.
func (e *Error) orNil() error {
	if len(e.problems) == 0 {
		return nil
	}
	return &Error{e.problems}
}
