package paging

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
)

// Error is why query arguments were refused: everything that is wrong with
// them, or the first 20 of it.
type Error struct {
	Problems []Problem
}

// Problem is one thing that is wrong. All of it comes from the request or is
// fixed, so that it can be sent to the caller.
type Problem struct {
	Argument string // as it was sent: connections.where
	Pointer  string // JSON pointer (RFC 6901) into the argument; "" for all of it
	Text     string
}

func (p Problem) reason() string {
	if p.Pointer == "" {
		return p.Text
	}
	return p.Pointer + ": " + p.Text
}

// Error lists the problems.
func (e *Error) Error() string {
	var text strings.Builder
	text.WriteString("paging: ")
	for i, p := range e.Problems {
		if i > 0 {
			text.WriteString("; ")
		}
		text.WriteString(printable(strings.TrimSpace(p.Argument + " " + p.reason())))
	}
	return text.String()
}

// printable escapes what would break a line of a log.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// Fault returns the reply: 400 invalidArgument.query with a child for each
// problem.
func (e *Error) Fault() *envelope.Fault {
	fault := invalidQuery()
	for _, p := range e.Problems {
		child := invalidQuery()
		child.Path, child.Reason = p.Argument, p.reason()
		fault.Faults = append(fault.Faults, child)
	}
	return fault
}

func invalidQuery() *envelope.Fault {
	return &envelope.Fault{
		Detail: "invalidArgument.query", Code: "kInvalidArgument",
		Status: http.StatusBadRequest, Message: "The query is not valid.",
	}
}

// problems collects what is wrong with a query.
type problems []Problem

// maxProblems bounds what a hostile query can have written back.
const maxProblems = 20

func (p *problems) add(argument, pointer, text string) {
	if len(*p) < maxProblems {
		*p = append(*p, Problem{shorten(argument), shorten(pointer), text})
	}
}

func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// err returns the problems as an error, or nil where there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{Problems: p}
}
