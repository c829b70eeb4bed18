package paging

import (
	"cmp"
	"strings"

	"github.com/tenantkit/tenantkit/internal/ascii"
	"github.com/tenantkit/tenantkit/internal/listing"
)

// Schema describes the items of one list as far as callers may page through them. It
// must not be changed once used.
//
// Every item has the strings _id and object. Callers can filter and sort by them.
// They are not listed in Properties.
type Schema struct {
	Object     string // object name of the items, like c_message; Parse does not use it
	Properties []Property
	ExampleID  string // an _id, if all have a form, such as a UUID; a document shows it, Parse does not use it
	Default    int    // limit if the caller gives none; 0: 100
	Max        int    // the largest limit; larger ones are lowered to it; 0: 1000

	// Count allows count=true, which asks for the total of a list. As a list property its
	// items are never counted. A filter that no index serves makes the back end look at
	// every row that the caller may see, so the back end limits the time.
	Count bool

	// RefuseUnknown refuses unknown arguments, such as ?status=, also those with a list
	// property before them. It is for a server without arguments of its own. The schema
	// that parses a request decides. That of a list property has no say.
	RefuseUnknown bool
}

// Property is one property of an item. Callers can ask for the zero Property, but not
// filter or sort by it.
//
// Null decides only whether {"a":null}, {"a":{"$ne":null}} and null in $in and $nin
// are accepted. If Null is false, they are refused: they would match no item or all
// items and are likely a mistake. Filters and sorts still treat an item without the
// property like any other.
type Property struct {
	Path   string  // fully-qualified property path: name.first, c_tags[]
	Type   Type    // of its values, and of the values in a where
	Filter bool    // where may name it
	Sort   bool    // sort may name it
	Null   bool    // may be null or missing: where may compare it with null; $exists is always allowed
	Hidden bool    // never returned, filtered or sorted by; nor is any property below it
	List   *Schema // of the items, if this is a list property

	// Values are all values of a String that has few, for documents. Parse does not use them.
	Values []string
}

// Type is the type of a property's value.
type Type string

// These are the types of properties. No caller can filter or sort by a property of
// type Any, whatever its Filter and Sort say.
const (
	Any     Type = ""
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Date    Type = "date" // on the wire 2026-01-02T03:04:05.000Z
)

// String returns the name of the type.
func (t Type) String() string { return cmp.Or(string(t), "any") }

// These are the defaults of a Schema and the limits that no Schema can change.
const (
	defaultLimit = 100
	maxLimit     = 1000
	maxTotal     = 10_000 // counting stops after so many items
	maxSkip      = 10_000
	maxPaths     = 100
	maxArguments = 256 // of one request, with those that are unknown
	maxSortKeys  = 8
	maxPrefix    = 4 // segments before the name of an argument
	maxLists     = 8 // list properties of one request; each costs a query for every item
)

// limits returns the limit of a page if the caller gives none, and the largest.
func (s *Schema) limits() (initial, most int) {
	most = cmp.Or(max(s.Max, 0), maxLimit)
	return min(cmp.Or(max(s.Default, 0), defaultLimit), most), most
}

// Visible reports whether a path is a declared property, below one or above one, and
// not hidden. Pass it to envelope.Select together with the caller's scope.
func (s *Schema) Visible(path string) bool {
	if identifies(path) {
		return true
	}
	visible := false
	for i := range s.Properties {
		p := &s.Properties[i]
		switch {
		case covers(p.Path, path):
			if p.Hidden {
				return false
			}
			rest := below(p.Path, path)
			visible = visible || p.List == nil || rest == "" || p.List.Visible(rest)
		case covers(path, p.Path):
			visible = visible || !p.Hidden
		}
	}
	return visible
}

// identity is the property of both _id and object.
var identity = Property{Type: String, Filter: true, Sort: true}

func identifies(path string) bool { return path == "_id" || path == "object" }

// property returns the property with exactly that path, or nil if there is none or it
// is hidden.
func (s *Schema) property(path string) *Property {
	if identifies(path) {
		return &identity
	}
	var found *Property
	for i := range s.Properties {
		p := &s.Properties[i]
		if p.Path == path {
			found = p // the last one, if there are several
		}
		if p.Hidden && covers(p.Path, path) {
			return nil
		}
	}
	return found
}

// MaxBytes is how many bytes a page has, besides its last item. A page that would have more
// ends there and says that more items follow, whatever its limit. Otherwise a request for
// 1000 items of a megabyte would take a gigabyte. Packages mempage, sqlpage and sqllist
// end their pages so. A program that reads rows by other means counts them itself.
const MaxBytes = 4 << 20

// Describe returns what a document of auth/openapi says of the list.
func (s *Schema) Describe() listing.Description {
	d := listing.Description{Key: s, Object: s.Object, ExampleID: s.ExampleID, Count: s.Count}
	d.Default, d.Max = s.limits()
	for _, p := range s.Properties {
		if p.Hidden || !s.Visible(p.Path) {
			continue
		}
		described := listing.Property{Path: p.Path, Type: p.Type.String(), Filter: p.Filter, Sort: p.Sort, Null: p.Null, Values: p.Values}
		if p.List != nil {
			described.List = p.List
		}
		d.Properties = append(d.Properties, described)
	}
	return d
}

const maxPathLength = 512 // bytes, as in a scope chain

// validPath reports whether path has the form of a property path. Its segments are
// letters, digits, _ and -. A segment may end with [] for an array, and with #type
// for the type of the array's elements.
func validPath(path string) bool {
	if len(path) > maxPathLength {
		return false
	}
	for segment := range strings.SplitSeq(path, ".") {
		name, kind, typed := strings.Cut(segment, "#")
		if !ascii.IsName(strings.TrimSuffix(name, "[]")) || typed && !ascii.IsName(kind) {
			return false
		}
	}
	return true
}

// covers reports whether path is outer or lies below it. A [] or a #type that only
// one of the paths has does not matter: callers ask for c_set and for c_set[]#c_foo.
func covers(outer, path string) bool {
	for segment := range strings.SplitSeq(outer, ".") {
		var own string
		if own, path, _ = strings.Cut(path, "."); !sameSegment(segment, own) {
			return false
		}
	}
	return true
}

func sameSegment(a, b string) bool {
	if a == b {
		return true
	}
	nameA, typeA, typedA := strings.Cut(a, "#")
	nameB, typeB, typedB := strings.Cut(b, "#")
	return strings.TrimSuffix(nameA, "[]") == strings.TrimSuffix(nameB, "[]") &&
		(!typedA || !typedB || typeA == typeB)
}

// below returns the part of path after outer. outer must cover path.
func below(outer, path string) string {
	for range strings.Count(outer, ".") + 1 {
		_, path, _ = strings.Cut(path, ".")
	}
	return path
}

func joinPath(outer, path string) string {
	if outer == "" {
		return path
	}
	return outer + "." + path
}
