package paging

// Schema describes the items of one list, as far as callers may page through
// them. It must not be changed once used.
//
// Every item has the strings _id and object; they can be filtered and sorted by
// and are not listed in Properties.
type Schema struct {
	Object     string // of the items, like c_message; Parse has no use for it
	Properties []Property
	Default    int // limit where the caller gives none; 0: 100
	Max        int // what a larger limit is cut down to; 0: 1000
}

// Property is one property of an item. The zero Property can be asked for, and
// neither filtered nor sorted by.
//
// Null only decides whether {"a":null}, {"a":{"$ne":null}} and null in $in and
// $nin are accepted. Where it is false they are refused, since they match no item
// or all of them and are likely a mistake; items in which the property is missing
// all the same are filtered and sorted as any other.
type Property struct {
	Path   string  // fully-qualified property path: name.first, c_tags[]
	Type   Type    // of its value, and of what it is compared with
	Filter bool    // where may name it
	Sort   bool    // sort may name it
	Null   bool    // may be null or missing: where may compare it with null, as $exists always may
	Hidden bool    // never returned, filtered or sorted by, with all below it
	List   *Schema // set for a list property: of the items of that list
}

// Type is the type of a property's value.
type Type uint8

// The types of properties. A property of type Any cannot be filtered or sorted
// by, whatever else its Property says.
const (
	Any Type = iota
	String
	Integer
	Number
	Boolean
	Date // on the wire 2026-01-02T03:04:05.000Z
)

var typeNames = [...]string{"any", "string", "integer", "number", "boolean", "date"}

// String returns the name of the type in lower case.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return typeNames[Any]
}

// What a Schema has where it says nothing, and what no schema can change.
const (
	defaultLimit = 100
	maxLimit     = 1000
	maxSkip      = 10_000
	maxPaths     = 100
	maxSortKeys  = 8
	maxPrefix    = 4 // segments before an argument's name
	maxLists     = 8 // list properties of one request: each is a query for every item
)

func (s *Schema) limits() (initial, most int) {
	most = s.Max
	if most <= 0 {
		most = maxLimit
	}
	initial = s.Default
	if initial <= 0 {
		initial = defaultLimit
	}
	return min(initial, most), most
}

// Visible reports whether a path is a declared property, below one or above
// one, and not hidden. Give it to envelope.Select together with the caller's
// scope.
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
			visible = visible || p.List == nil || p.showsInList(path)
		case covers(path, p.Path):
			visible = visible || !p.Hidden
		}
	}
	return visible
}

func (p *Property) showsInList(path string) bool {
	rest := below(p.Path, path)
	return rest == "" || p.List.Visible(rest)
}

// identity is what each property _id and object is.
var identity = Property{Type: String, Filter: true, Sort: true}

func identifies(path string) bool { return path == "_id" || path == "object" }

// property returns the property of exactly that path, if it can be seen.
func (s *Schema) property(path string) *Property {
	if identifies(path) {
		return &identity
	}
	var found *Property
	for i := range s.Properties {
		p := &s.Properties[i]
		if p.Path == path {
			found = p
		}
		if p.Hidden && covers(p.Path, path) {
			return nil
		}
	}
	return found
}
