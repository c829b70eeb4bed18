package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
)

const (
	defaultLimit = 100
	maxLimit     = 1000 // a greater one is lowered to it
	maxSkip      = 10_000
	maxPaths     = 100
)

// query is the arguments of a list call (section 4.1 of the interface).
type query struct {
	paths []string
	whole bool // everything but lists is wanted
	limit int
	skip  int
	lists map[string]query // of list properties, by their path
}

// parseQuery reads the arguments of a list call, or says all that is wrong with
// them. The schema is that of the items.
//
// It is given the raw query: r.URL.Query() drops what is malformed, and so
// answers another question than was asked.
func parseQuery(raw string, s *schema) (query, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, &auth.Error{Detail: auth.DetailQuery, Reason: "malformed", Err: err}
	}
	wrong := &invalid{detail: auth.DetailQuery}
	paths := values["paths[]"]
	if len(paths) > maxPaths {
		wrong.add("paths[]", fmt.Sprintf("at most %d", maxPaths))
	}
	q := arguments{values, "", wrong}.query(s, paths)
	return q, wrong.orNil()
}

// arguments are the ones whose name starts with a prefix: of a list, none; of
// a list property, its path with a dot.
type arguments struct {
	values url.Values
	prefix string
	wrong  *invalid
}

func (a arguments) query(s *schema, paths []string) query {
	a.refuseUnserved()
	q := query{
		paths: paths,
		limit: min(a.number("limit", defaultLimit, 1), maxLimit),
		skip:  a.number("skip", 0, 0),
		lists: make(map[string]query),
	}
	if q.skip > maxSkip {
		a.wrong.add(a.prefix+"skip", fmt.Sprintf("at most %d", maxSkip))
	}
	for _, p := range s.Properties {
		if p.List != nil {
			below := arguments{a.values, a.prefix + p.Path + ".", a.wrong}
			q.lists[p.Path] = below.query(p.List, pathsBelow(paths, p.Path))
		}
	}
	return q
}

// refuseUnserved refuses what would widen the answer if it were ignored.
func (a arguments) refuseUnserved() {
	for _, name := range []string{"where", "sort"} {
		if _, given := a.values[a.prefix+name]; given {
			a.wrong.add(a.prefix+name, "not served")
		}
	}
}

// number reads a decimal number of at least atLeast, in its one spelling.
func (a arguments) number(name string, missing, atLeast int) int {
	given := a.values[a.prefix+name]
	if len(given) == 0 {
		return missing
	}
	n, err := strconv.Atoi(given[0])
	switch {
	case len(given) > 1:
		a.wrong.add(a.prefix+name, "given more than once")
	case err != nil || strconv.Itoa(n) != given[0] || n < atLeast:
		a.wrong.add(a.prefix+name, fmt.Sprintf("must be a whole number of %d or more", atLeast))
	default:
		return n
	}
	return missing
}

// pathsBelow returns what is asked of the items of a list property.
func pathsBelow(paths []string, list string) (below []string) {
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, list+"."); ok {
			below = append(below, rest)
		}
	}
	return below
}

// orWhole is the query of a single object: without paths[] all of it is wanted.
func (q query) orWhole() query {
	q.whole = len(q.paths) == 0
	return q
}

// wants tells whether a property is asked for: by its own path, by one above
// it, or, a list, by one below it. Paths that lead nowhere ask for nothing,
// and so does the path of a hidden property: the two cannot be told apart.
func (q query) wants(p property) bool {
	if q.whole {
		return p.List == nil
	}
	for _, path := range q.paths {
		if p.Path == path || strings.HasPrefix(p.Path, path+".") {
			return true
		}
		if p.List != nil && strings.HasPrefix(path, p.Path+".") {
			return true
		}
	}
	return false
}

// page returns the rows that a query asks for.
func page[T any](rows []T, q query) envelope.List[T] {
	rows = rows[min(q.skip, len(rows)):]
	end := min(q.limit, len(rows))
	return envelope.List[T]{Data: rows[:end], HasMore: end < len(rows)}
}
