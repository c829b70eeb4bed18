// Package listing holds what lists, needs and mechanisms say of themselves to documents about routes. It is for
// packages that must not import each other.
package listing

// List is a list that can describe itself.
type List interface{ Describe() Description }

// Description is what clients may know of a list.
type Description struct {
	Key        any    // equal for all Lists with these Properties
	Object     string // object name of the items
	ExampleID  string // an _id, or ""
	Default    int    // items of a page
	Max        int    // the most items of a page
	Count      bool   // whether clients may ask for the total
	Properties []Property
}

// Property is a property that clients may read.
type Property struct {
	Path   string
	Type   string // any, string, integer, number, boolean or date
	Filter bool
	Sort   bool
	Null   bool
	Values []string // all that it has, or nil
	List   List     // of a list property, else nil
}
