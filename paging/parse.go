package paging

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Parse reads the query arguments of a list call. rawQuery is url.URL.RawQuery. Do
// not use url.URL.Query, which drops malformed parameters, and a filter could be one
// of them.
//
// A property can be filtered and sorted by if the schema allows it and readable
// returns true for its path. The path includes the prefix of the list property that
// contains it. A filter or sort reveals the values it compares. So readable must
// return true only for properties that the caller may read on every instance. It is
// not asked about _id and object. A nil readable permits only these two.
//
// A limit above the schema's maximum is lowered to the maximum. Unknown parameters
// belong to the application and are ignored, unless they look like a misspelt
// argument, or RefuseUnknown is set. Unknown and hidden paths are left out. If no given
// path is left, Paths is _id. A comma in a path is refused, because paths[] has one path
// and is repeated. A query of more than 256 arguments is refused, also if they are unknown.
//
// The error is an *Error that lists everything that is wrong. The Query is then zero.
func (s *Schema) Parse(rawQuery string, readable func(path string) bool) (Query, error) {
	return s.parse(rawQuery, readable, func(p *parser) Query { return p.query(s, "") })
}

// ParseObject reads the query arguments of a call that answers one object: paths[],
// and the arguments of list properties under their names. It refuses the arguments of
// a list itself: limit, where, sort, skip and count. The handler sends the object
// whether or not it matches a where.
//
// Where, Sort, Skip, Limit and CountTo of the Query are zero. The queries in Lists are as
// after Parse. If the caller named no paths, Paths is nil: send everything that the
// caller may read, except list properties.
//
// The error is an *Error that lists everything that is wrong. The Query is then zero.
func (s *Schema) ParseObject(rawQuery string, readable func(path string) bool) (Query, error) {
	return s.parse(rawQuery, readable, func(p *parser) Query { return p.object(s) })
}

func (s *Schema) parse(rawQuery string, readable func(path string) bool, read func(*parser) Query) (Query, error) {
	if readable == nil {
		readable = func(string) bool { return false }
	}
	p := parser{readable: readable, refuseUnknown: s.RefuseUnknown, unread: map[string]arguments{}}
	p.collect(rawQuery)
	q := read(&p)
	p.refuseUnread()
	if err := p.orNil(); err != nil {
		return Query{}, err
	}
	return q, nil
}

// parser reads the arguments of one request.
type parser struct {
	Error         // what is wrong so far
	readable      func(path string) bool
	refuseUnknown bool
	unread        map[string]arguments // by prefix; query deletes the lists that it has read
	sentPaths     []string             // of all lists, with the prefix of the list
	pathCount     int                  // paths that were sent, valid or not
	listCount     int                  // list properties that a path or an argument mentions
}

// collect stores the parameters by list and argument.
func (p *parser) collect(rawQuery string) {
	if strings.Count(rawQuery, "&") >= maxArguments {
		p.add("", "", "more than "+strconv.Itoa(maxArguments)+" arguments")
		return
	}
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		p.add("", "", "the query is malformed")
		return
	}
	for _, parameter := range slices.Sorted(maps.Keys(values)) {
		p.parameter(parameter, values[parameter])
	}
	if p.pathCount > maxPaths {
		p.add("paths[]", "", "more than "+strconv.Itoa(maxPaths)+" paths")
	}
}

func (p *parser) parameter(parameter string, values []string) {
	dot := strings.LastIndexByte(parameter, '.') // after the path of a list property
	list, name := parameter[:max(dot, 0)], parameter[dot+1:]
	words := strings.FieldsFunc(strings.ToLower(list[:min(len(list), maxLooked)]), isSeparator)
	isOne := func(word string) bool { return isArgument(word) || word == "paths" } // exactly: a list may be called limits
	misplaced := slices.ContainsFunc(words, isOne) || strings.HasPrefix(parameter, ".")
	switch {
	case misplaced || !isArgument(name) && name != "paths[]":
		p.unknown(parameter)
	case strings.Count(parameter, ".") > maxPrefix:
		p.add(parameter, "", "more than "+strconv.Itoa(maxPrefix)+" segments before the argument")
	case name == "paths[]":
		p.addPaths(list, values)
	case len(values) > 1:
		p.add(parameter, "", "given more than once")
	case p.unread[list] == nil:
		p.unread[list] = arguments{name: values[0]}
	default:
		p.unread[list][name] = values[0]
	}
}

// unknown refuses a parameter that is no argument if it misspells one, or if all unknown
// ones are refused.
func (p *parser) unknown(parameter string) {
	meant, missed := nearMiss(parameter)
	switch {
	case missed:
		p.add(parameter, "", "unknown argument; did you mean "+meant+"?")
	case p.refuseUnknown:
		p.add(parameter, "", "unknown argument")
	}
}

func (p *parser) addPaths(list string, values []string) {
	p.pathCount += len(values)
	if slices.ContainsFunc(values, func(path string) bool { return strings.Contains(path, ",") }) {
		// Left out, it would cost the caller all paths of the value.
		p.add(joinPath(list, "paths[]"), "", "has one path; did you mean paths[]=a&paths[]=b?")
	}
	for _, path := range values {
		if path = joinPath(list, path); validPath(path) {
			p.sentPaths = append(p.sentPaths, path)
		}
	}
}

// query reads the arguments of the list at prefix, and of the list properties below
// it.
func (p *parser) query(s *Schema, prefix string) Query {
	list := listParser{p, s, prefix, p.unread[prefix]}
	delete(p.unread, prefix)
	where, sort := list.filterAndSort()
	return Query{
		Paths:   list.paths(),
		Where:   where,
		Sort:    sort,
		Skip:    list.skip(),
		Limit:   list.limit(),
		CountTo: list.count(),
		Lists:   list.lists(),
	}
}

// object reads paths[] and the arguments of list properties for one object.
func (p *parser) object(s *Schema) Query {
	for _, name := range slices.Sorted(maps.Keys(p.unread[""])) {
		p.add(name, "", "is for lists, and this is one object")
	}
	delete(p.unread, "")
	list := listParser{parser: p, schema: s}
	return Query{Paths: list.paths(), Lists: list.lists()}
}

// refuseUnread refuses the arguments of lists that do not exist or that the caller
// may not see. Ignoring them would drop a filter.
func (p *parser) refuseUnread() {
	for _, prefix := range slices.Sorted(maps.Keys(p.unread)) {
		for _, name := range slices.Sorted(maps.Keys(p.unread[prefix])) {
			p.add(joinPath(prefix, name), "", unknownProperty)
		}
	}
}

// arguments holds the arguments of one list as they were sent, by name. They are
// those of the list itself, or of a list property under its name.
type arguments map[string]string

// argumentNames are the arguments that may be given once. paths[] may be repeated and
// is kept apart.
var argumentNames = []string{"where", "sort", "skip", "limit", "count"}

func isArgument(name string) bool { return slices.Contains(argumentNames, name) }

// nearMiss returns the argument that an unknown parameter probably misspells. It
// looks at each word of the parameter. Case, a final s and surrounding _ or - do not
// matter. path counts only if the parameter has a bracket, because an application may
// have a path of its own.
//
// Examples: Where, wheres, _where, where[], where[a] and connections[where] misspell
// where; paths and path[0] misspell paths[]. Other parameters, such as q and
// where_from, belong to the application. Ignoring a misspelt argument would return
// more than the caller asked for.
func nearMiss(parameter string) (argument string, missed bool) {
	parameter = parameter[:min(len(parameter), maxLooked)]
	for word := range strings.FieldsFuncSeq(parameter, isSeparator) {
		word = strings.Trim(word, "_-")
		for _, name := range argumentNames {
			if strings.EqualFold(word, name) || strings.EqualFold(word, name+"s") {
				return name, true
			}
		}
		if strings.EqualFold(word, "paths") || strings.EqualFold(word, "path") && strings.Contains(parameter, "[") {
			return "paths[]", true
		}
	}
	return "", false
}

// maxLooked is how many bytes of a parameter are looked at. A property has a shorter path.
const maxLooked = 256

// isSeparator reports whether r separates the words of a parameter: it is no letter,
// no digit, no _ and no -.
func isSeparator(r rune) bool {
	return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}
