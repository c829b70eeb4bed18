package paging

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Parse reads the query arguments of a list call from a raw query, as
// url.URL.RawQuery has it. Take that and not url.URL.Query, which drops what is
// malformed, and with it a filter.
//
// A property can be filtered and sorted by if the schema says so and readable
// returns true for its path, which begins with the list property's where it is
// below one: by comparing, a caller would otherwise read it. Pass what the
// caller's scope says of every instance. The properties _id and object need no
// reading; a nil readable permits nothing but them.
//
// A limit above the schema's maximum is cut down to it. Parameters that are not
// arguments of list calls are the application's, and ignored unless they look
// like one that was misspelt. Paths that are unknown or hidden are left out;
// where that leaves none of those given, Paths is _id.
//
// The error is an *Error with everything that is wrong, and the Query then
// zero.
func (s *Schema) Parse(rawQuery string, readable func(path string) bool) (Query, error) {
	if readable == nil {
		readable = func(string) bool { return false }
	}
	p := parser{readable: readable, lists: map[string]arguments{}}
	p.collect(rawQuery)
	q := p.query(s, "")
	p.leftovers()
	if err := p.err(); err != nil {
		return Query{}, err
	}
	return q, nil
}

type parser struct {
	problems
	readable func(path string) bool
	lists    map[string]arguments // by prefix; taken out once read
	paths    []string             // of all lists, with their prefix
	named    int                  // how many paths were sent
}

// collect sorts the parameters by list and argument.
func (p *parser) collect(rawQuery string) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		p.add("", "", "the query is malformed")
		return
	}
	for _, parameter := range slices.Sorted(maps.Keys(values)) {
		p.parameter(parameter, values[parameter])
	}
	if p.named > maxPaths {
		p.add("paths[]", "", "more than "+strconv.Itoa(maxPaths)+" paths")
	}
	slices.Sort(p.paths)
	p.paths = slices.Compact(p.paths)
}

func (p *parser) parameter(parameter string, values []string) {
	list, name := split(parameter)
	_, misplaced := nearMiss(list)
	misplaced = misplaced || strings.HasPrefix(parameter, ".")
	switch {
	case misplaced || !isArgument(name) && name != "paths[]":
		if meant, missed := nearMiss(parameter); missed {
			p.add(parameter, "", "unknown argument; did you mean "+meant+"?")
		}
	case strings.Count(parameter, ".") > maxPrefix:
		p.add(parameter, "", "more than "+strconv.Itoa(maxPrefix)+" segments before the argument")
	case name == "paths[]":
		p.addPaths(list, values)
	case len(values) > 1:
		p.add(parameter, "", "given more than once")
	case p.lists[list] == nil:
		p.lists[list] = arguments{name: values[0]}
	default:
		p.lists[list][name] = values[0]
	}
}

func (p *parser) addPaths(list string, values []string) {
	p.named += len(values)
	for _, path := range values {
		if path = joinPath(list, path); validPath(path) {
			p.paths = append(p.paths, path)
		}
	}
}

// query reads the arguments of the list at prefix, and of those below it.
func (p *parser) query(s *Schema, prefix string) Query {
	list := listParser{p, s, prefix, p.lists[prefix]}
	delete(p.lists, prefix)
	return Query{
		Paths: list.paths(),
		Where: list.where(),
		Sort:  list.sort(),
		Skip:  list.skip(),
		Limit: list.limit(),
		Lists: list.lists(),
	}
}

// leftovers refuses arguments of lists that are not there, or not for this
// caller: to pass over them would drop a filter.
func (p *parser) leftovers() {
	for _, prefix := range slices.Sorted(maps.Keys(p.lists)) {
		for _, name := range slices.Sorted(maps.Keys(p.lists[prefix])) {
			p.add(joinPath(prefix, name), "", unknownProperty)
		}
	}
}
