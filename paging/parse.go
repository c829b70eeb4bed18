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
	return parse(rawQuery, readable, func(p *parser) Query { return p.query(s, "") })
}

// ParseObject reads the query arguments of a call that answers one object, as
// Parse does those of a list: paths[], and the arguments of list properties
// under their names. The arguments of a list itself, limit, where, sort and
// skip, are refused: the object would be sent whether or not a where matches it.
//
// Where, Sort, Skip and Limit of the Query are zero; those of Lists are as after
// Parse. Where Paths is nil the caller named none, and gets all that it may
// read but list properties.
//
// The error is an *Error with everything that is wrong, and the Query then
// zero.
func (s *Schema) ParseObject(rawQuery string, readable func(path string) bool) (Query, error) {
	return parse(rawQuery, readable, func(p *parser) Query { return p.object(s) })
}

func parse(rawQuery string, readable func(path string) bool, read func(*parser) Query) (Query, error) {
	if readable == nil {
		readable = func(string) bool { return false }
	}
	p := parser{readable: readable, lists: map[string]arguments{}}
	p.collect(rawQuery)
	q := read(&p)
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
	listed   int                  // how many list properties they name
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
}

func (p *parser) parameter(parameter string, values []string) {
	list, name := split(parameter)
	misplaced := hasArgument(list) || strings.HasPrefix(parameter, ".")
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
	where, sort := list.filterAndSort()
	return Query{
		Paths: list.paths(),
		Where: where,
		Sort:  sort,
		Skip:  list.skip(),
		Limit: list.limit(),
		Lists: list.lists(),
	}
}

// object reads the arguments of one object, and of its list properties.
func (p *parser) object(s *Schema) Query {
	for _, name := range slices.Sorted(maps.Keys(p.lists[""])) {
		p.add(name, "", "is for lists, and this is one object")
	}
	delete(p.lists, "")
	list := listParser{parser: p, schema: s}
	return Query{Paths: list.paths(), Lists: list.lists()}
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
