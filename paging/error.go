package paging

import (
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/internal/faults"
)

// Error lists what is wrong with the arguments of a query: everything, or the first
// 20 problems.
type Error struct {
	Problems []Problem
}

// Problem is one thing that is wrong. Its fields hold only fixed texts and parts of
// the request, so it can be sent to the caller.
type Problem struct {
	Argument string // name as it was sent: connections.where
	Pointer  string // JSON pointer (RFC 6901) into the argument; "" for the whole argument
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
	texts := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		texts[i] = printable(strings.TrimSpace(p.Argument + " " + p.reason()))
	}
	return "paging: " + strings.Join(texts, "; ")
}

// printable escapes characters that would break a line of a log.
func printable(s string) string {
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}

// Fault returns the reply to the caller: 400 invalidArgument.query with a child for
// each problem.
func (e *Error) Fault() *envelope.Fault {
	fault := invalidQuery()
	for _, p := range e.Problems {
		child := invalidQuery()
		child.Path, child.Reason = p.Argument, p.reason()
		fault.Faults = append(fault.Faults, child)
	}
	return fault
}

// ErrSlowCount reports that counting took too long. It is a 400, not a 503, because a
// client that repeats the request has the items counted again.
var ErrSlowCount error = &Error{Problems: []Problem{{Argument: "count", Text: "takes too long; leave it out, or narrow where"}}}

func invalidQuery() *envelope.Fault { return faults.Of("invalidArgument.query") }

// problems collects what is wrong with a query.
type problems []Problem

// maxProblems limits how much a hostile query can have written into the reply.
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

// err returns the problems as an error, or nil if there are none.
func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &Error{Problems: p}
}
