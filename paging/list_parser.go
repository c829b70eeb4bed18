package paging

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tenantkit/tenantkit/internal/strictjson"
)

// listParser reads the arguments of one list.
type listParser struct {
	*parser
	schema *Schema
	prefix string
	sent   arguments
}

func (l listParser) wrong(argument, pointer, text string) {
	l.add(joinPath(l.prefix, argument), pointer, text)
}

// filterAndSort reads sort before where, because the form of a cursor depends on the
// sort.
func (l listParser) filterAndSort() (where Filter, sort []Key) {
	before := len(l.problems)
	var order []Key
	if sort = l.sort(); len(l.problems) == before {
		order = sort
	}
	if text, ok := l.sent["where"]; ok {
		where = parseWhere(text, joinPath(l.prefix, "where"), l.filterable, order, &l.Error)
	}
	return where, sort
}

// paths returns the visible paths of the items of this list.
func (l listParser) paths() []string {
	var paths []string
	for _, path := range l.sentPaths {
		if l.prefix != "" {
			if !covers(l.prefix, path) {
				continue
			}
			path = below(l.prefix, path)
		}
		if path != "" && l.schema.Visible(path) {
			paths = append(paths, path)
		}
	}
	if l.prefix == "" && l.pathCount > 0 && paths == nil {
		return []string{"_id"}
	}
	slices.Sort(paths)
	return slices.Compact(paths) // c_list.a and c_list[].a give the same path twice
}

func (l listParser) filterable(path string) (*Property, string) {
	property := l.property(path)
	switch {
	case property == nil:
		return nil, unknownProperty
	case !property.Filter || property.Type == Any:
		return nil, "cannot be filtered by"
	}
	return property, ""
}

// property returns the property at path if the caller may see it, else nil.
func (l listParser) property(path string) *Property {
	property := l.schema.property(path)
	if property == &identity || property != nil && l.readable(joinPath(l.prefix, path)) {
		return property
	}
	return nil
}

// sort reads a JSON object such as {"name.last":1,"_id":-1}, or the bare name of a
// property.
func (l listParser) sort() []Key {
	var keys []Key
	text, ok := l.sent["sort"]
	switch {
	case !ok:
	case strings.HasPrefix(strings.TrimSpace(text), "{"):
		keys = l.sortObject(text)
	default:
		keys = l.sortKey(keys, "", Key{Path: text})
	}
	return Query{Sort: keys}.Order()
}

func (l listParser) sortObject(text string) (keys []Key) {
	if len(text) > maxText {
		l.wrong("sort", "", errTextSize.Error())
		return nil
	}
	before := len(l.problems)
	r := strictjson.New(text, strictjson.Limits{Depth: maxDepth, Members: maxMembers})
	for name := range r.Object {
		pointer, direction := "/"+escapePointer.Replace(name), r.Skip()
		if direction != "1" && direction != "-1" {
			l.wrong("sort", pointer, "must be 1 or -1")
			continue
		}
		keys = l.sortKey(keys, pointer, Key{Path: name, Desc: direction == "-1"})
	}
	if err := endOf(&r); err != nil {
		l.problems = l.problems[:before] // of what is no JSON
		l.wrong("sort", "", err.Error())
		return nil
	}
	if len(keys) > maxSortKeys {
		l.wrong("sort", "", "more than "+strconv.Itoa(maxSortKeys)+" properties")
	}
	return keys
}

func (l listParser) sortKey(keys []Key, pointer string, key Key) []Key {
	switch property := l.property(key.Path); {
	case property == nil:
		l.wrong("sort", pointer, unknownSortKey(key.Path))
	case !property.Sort || property.Type == Any || strings.HasSuffix(key.Path, "[]"):
		l.wrong("sort", pointer, "cannot be sorted by")
	default:
		return append(keys, key)
	}
	return keys
}

// unknownSortKey has a hint for what cannot be the path of a property, such as -name and
// name,age. It must not depend on which properties exist.
func unknownSortKey(path string) string {
	if strings.ContainsAny(path, `-+,: "[`) {
		return unknownProperty + `: a sort is one property, or an object like {"name":-1}`
	}
	return unknownProperty
}

func (l listParser) limit() int {
	initial, most := l.schema.limits()
	return min(l.integer("limit", initial, 1, "must be a positive integer"), most)
}

func (l listParser) skip() int {
	skip := l.integer("skip", 0, 0, "must be a non-negative integer")
	if skip > maxSkip {
		l.wrong("skip", "", "more than "+strconv.Itoa(maxSkip)+
			`; sort by _id and ask for {"_id":{"$gt":…}} with the last _id of the page before`)
	}
	return min(skip, maxSkip)
}

// integer reads decimal digits only: no sign, blank, fraction or leading zero. An argument that was
// not sent is initial.
func (l listParser) integer(argument string, initial, least int, wanted string) int {
	text, ok := l.sent[argument]
	if !ok {
		return initial
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n < uint64(least) || len(text) > 1 && text[0] == '0' {
		l.wrong(argument, "", wanted)
		return 0
	}
	return int(min(n, math.MaxInt))
}

// count reads whether the caller asks for the total. A list property has none, because it
// would be counted once for each item of the list around it.
func (l listParser) count() int {
	text, ok := l.sent["count"]
	switch {
	case !ok || text == "false":
	case text != "true":
		l.wrong("count", "", "must be true or false")
	case !l.schema.Count || l.prefix != "":
		l.wrong("count", "", "cannot be counted")
	default:
		return maxTotal
	}
	return 0
}

// lists returns the queries of the list properties that a path or an argument
// mentions. A path mentions those for which Query.Wants is true.
func (l listParser) lists() map[string]Query {
	var lists map[string]Query
	own := Query{Paths: l.paths()}
	for i := range l.schema.Properties {
		property := &l.schema.Properties[i]
		prefix := joinPath(l.prefix, property.Path)
		if property.List == nil || strings.Count(prefix, ".") >= maxPrefix ||
			!own.Wants(property.Path) && !l.hasArguments(prefix) || !l.accessible(property, prefix) {
			continue
		}
		if l.listCount++; l.listCount > maxLists {
			if l.listCount == maxLists+1 {
				l.add(prefix, "", "more than "+strconv.Itoa(maxLists)+" list properties in one request")
			}
			clear(l.unread) // which would be reported, too
			continue
		}
		if lists == nil {
			lists = map[string]Query{}
		}
		lists[property.Path] = l.query(property.List, prefix)
	}
	return lists
}

// hasArguments reports whether the caller sent an argument for the list at prefix or
// for a list below it.
func (l listParser) hasArguments(prefix string) bool {
	for list := range l.unread {
		if rest, ok := strings.CutPrefix(list, prefix); ok && (rest == "" || rest[0] == '.') {
			return true
		}
	}
	return false
}

// accessible reports whether the caller may see the list or any property of its
// items.
func (l listParser) accessible(property *Property, prefix string) bool {
	if !l.schema.Visible(property.Path) {
		return false
	}
	return l.readable(prefix) || slices.ContainsFunc(property.List.Properties, func(p Property) bool {
		return property.List.Visible(p.Path) && l.readable(joinPath(prefix, p.Path))
	})
}
